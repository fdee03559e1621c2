"""Values of a constant, compared: a process for each, all of which are timed in turns.

Constants are read once per process and enter compiled code, so a process has one value. What else differs between
processes, as where their memory lies, is noise; a second process with the default tells how much that is.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from optgen.backends import machine
from optgen.tune import SUBJECTS

SECONDS = 4.0
"""How long the processes of a constant are timed."""
LEAST_TURNS, MOST_TURNS = 5, 200
CLEAR_GAIN = 0.05
"""The least gain for which a default is given up, beyond the noise."""
FACTORS = (0.25, 0.5, 2, 4)
"""The values that are tried, as multiples of the default."""

Times: TypeAlias = Callable[[], Sequence[float]]
"""Times all cases once; the seconds of each."""


class Measurement(NamedTuple):
    """What was measured of a constant. `gain`: by what share a step is shorter with the `best` value than with the
    default; negative if it is longer. `noise`: how far two measurements of the default are apart, in the same unit."""

    name: str
    best: int
    gain: float
    noise: float

    @property
    def is_clear(self) -> bool:
        return self.gain > CLEAR_GAIN + self.noise


def candidates(constant: machine.Constant) -> list[int]:
    """The values that are compared with the default."""
    unit = constant.multiple
    rounded = (round(constant.default * factor / unit) * unit for factor in FACTORS)
    return sorted({min(max(x, constant.least), constant.most) for x in rounded} - {constant.default})


def tuned(name: str) -> Measurement:
    """Measure a constant. A clear gain is measured a second time, in new processes, and is the less of both."""
    first = measured(name, candidates(machine.CONSTANTS[name]))
    if not first.is_clear:
        return first
    second = measured(name, [first.best])
    return second._replace(gain=min(first.gain, second.gain), noise=max(first.noise, second.noise))


def measured(name: str, values: Sequence[int]) -> Measurement:
    """Compare values of a constant with its default."""
    with processes(name, [None, None, *values]) as (default, same, *others):
        turns = list(in_turns([default, same, *others]))
    noise, *gains = (gain_of([(x[0], x[k]) for x in turns]) for k in range(1, len(values) + 2))
    best = max(range(len(values)), key=gains.__getitem__)
    return Measurement(name, values[best], gains[best], abs(noise))


def in_turns(processes: Sequence[Times]) -> Iterator[list[Sequence[float]]]:
    """The times of all processes, turn by turn. Every other turn goes backwards, so that none has an advantage."""
    begin = time.perf_counter()
    for turn in range(MOST_TURNS):
        if turn >= LEAST_TURNS and time.perf_counter() - begin > SECONDS:
            return
        order = range(len(processes))
        times = {k: processes[k]() for k in (order if turn % 2 == 0 else reversed(order))}
        yield [times[k] for k in order]


def gain_of(turns: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """By what share the second of each two times is shorter than the first: of each case the median, of these the
    geometric mean."""
    cases = zip(*([math.log(new / old) for old, new in zip(*x, strict=True)] for x in turns), strict=True)
    return 1 - math.exp(statistics.mean(map(statistics.median, cases)))


# ---------------------------------------------------------------- processes


@contextmanager
def processes(name: str, values: Sequence[int | None]) -> Iterator[list[Times]]:
    """A process for each value of a constant, or with defaults for None, ready to be timed; ended with the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="optgen-tune-")))
        started = []
        for k, x in enumerate(values):
            file = folder / f"{k}.json"
            if x is not None:
                file.write_text(machine.text({name: x}))
            started.append(TimedProcess(name, {} if x is None else {"OPTGEN_MACHINE": str(file)}))
            stack.callback(started[-1].end)
        for process in started:
            process.answer()  # it is ready
        yield [process.times for process in started]


class TimedProcess:
    """A process with a value of a constant. `times` times its cases once."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        subject, _, function = name.partition(".")
        self._name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # `end` closes it
        self._process = subprocess.Popen(
            [sys.executable, "-m", "optgen.tune.process", SUBJECTS[subject], function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OPTGEN_MACHINE": "", **environment},
        )

    def times(self) -> Sequence[float]:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Sequence[float]:
        """The next line of the process. OSError, with the last line of its errors, if it ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines() or ["nothing was said"]
            raise ChildProcessError(f"the measurement of {self._name} failed: {said[-1]}")
        found: list[float] = json.loads(line)
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
