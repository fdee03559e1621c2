"""`python -m optgen.tune.process MODULE FUNCTION`: makes the cases of a constant, and times them once for each line of
the standard input. A line of the standard output has the seconds of each case, as JSON; the first one, that they are
there.

The value of the constant is that of the process: see `optgen.backends.machine`.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys

from optgen.tune.case import calls_per_turn, timed


def main(module: str, function: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started the process ends it
    cases = getattr(importlib.import_module(module), function)()
    counts = [calls_per_turn(case) for case in cases]
    print(json.dumps([]), flush=True)
    for _ in sys.stdin:
        print(json.dumps([timed(case, count) for case, count in zip(cases, counts, strict=True)]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
