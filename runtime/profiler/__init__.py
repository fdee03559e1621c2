"""What takes time: a trace of operators, and of parts of a program that it names, for Chrome's viewer or as a table.

    profiler.set_config(filename="trace.json")
    profiler.start()
    ...
    profiler.stop()
    print(profiler.dumps())
    profiler.dump()  # or the end of the program writes it; open trace.json in chrome://tracing, or in ui.perfetto.dev

While it runs, each call of an operator, each gradient in `backward` and each update of an optimizer is timed; on GPUs a
call is waited for. Hybridized blocks and executors then call their operators one by one, and not what was compiled of
them. Otherwise operators are called as if there were no profiler. Operators have MXNet's names where it has them, such
as `_plus_scalar`. What users' operators do is in a category of its own, 'Custom Operator'.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from runtime.profiler.control import pause, resume, set_config, set_state, start, stop
from runtime.profiler.parts import Counter, Domain, Event, Frame, Marker, Task
from runtime.profiler.results import dump, dumps

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_state",
    "start",
    "stop",
]


def _renamed(old: str, function: Callable[..., None]) -> Callable[..., None]:
    def call(*args: Any, **kwargs: Any) -> None:
        warnings.warn(f"profiler.{old} is deprecated", DeprecationWarning, stacklevel=2)
        function(*args, **kwargs)

    return call


profiler_set_state = _renamed("profiler_set_state", set_state)
dump_profile = _renamed("dump_profile", dump)
profiler_set_config = _renamed(
    "profiler_set_config",
    lambda mode="symbolic", filename="profile.json": set_config(**{f"profile_{mode}": True, "filename": filename}),
)
