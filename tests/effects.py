"""What an import or a step changes in a process, outside of its own objects: docs/process.md.

`CODE` begins a program for a fresh process. Its `changes(code)` runs code, and returns what differs afterwards.
"""

from __future__ import annotations

CODE = '''
import atexit, ctypes, gc, locale, os, resource, signal, sys, threading, warnings
import numpy as np

forks, exits, asked = [], [], []

def noting(function, into):
    """The function, noting which module calls it."""
    def call(*args, **kwargs):
        into.append(sys._getframe(1).f_globals["__name__"])
        return function(*args, **kwargs)
    return call

def note_symbols(real):
    def get(library, name):
        asked.append(name)
        return real(library, name)
    return get

os.register_at_fork = noting(os.register_at_fork, forks)
atexit.register = noting(atexit.register, exits)
ctypes.CDLL.__getattr__ = note_symbols(ctypes.CDLL.__getattr__)

def state():
    return {
        "environment": dict(os.environ),
        "signals": {s: signal.getsignal(s) for s in signal.valid_signals()},
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "warnings": list(warnings.filters),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.gettrace()),
        "interpreter": (sys.getswitchinterval(), sys.getrecursionlimit(), gc.isenabled(), gc.get_threshold()),
        "finders": [type(x).__module__ for x in sys.meta_path],
        "path": list(sys.path),
        "numpy": (np.geterr(), np.get_printoptions()),
        "limits": [resource.getrlimit(getattr(resource, x)) for x in dir(resource) if x.startswith("RLIMIT_")],
        "place": (os.getcwd(), os.sched_getaffinity(0), os.nice(0), locale.setlocale(locale.LC_ALL)),
        "threads": sorted(t.name for t in threading.enumerate()),
        "files": sorted(os.readlink(f"/proc/self/fd/{x}") for x in os.listdir("/proc/self/fd") if x.isdigit() and
                        os.path.exists(f"/proc/self/fd/{x}")),
    }

def changes(code):
    del forks[:], exits[:], asked[:]
    before = state()
    exec(code, globals())
    found = {name: (before[name], now) for name, now in state().items() if now != before[name]}
    ours = ("optgen", "runtime")
    for name, modules in (("forks", forks), ("exits", exits)):
        if of_ours := sorted(m for m in modules if m.partition(".")[0] in ours):
            found[name] = of_ours
    if "mallopt" in asked:
        found["mallopt"] = True
    return found
'''
