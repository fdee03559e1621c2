"""Operators that consist of kernel calls: which calls those are, found by watching one call of the operator.

Nothing in an operator says whether it does more than call kernels. So it is called once more, with other numbers, and
the calls that were seen are made again in memory that holds NaN: where the results differ, the operator does something
else between its calls of kernels, and stays a call of Python.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.loops import kernel as loops
from optgen.loops.kernel import LoopKernel
from optgen.loops.writes import written
from runtime.plan.places import Places, root


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel that was seen."""

    kernel: LoopKernel
    tasks: int
    work: int
    arguments: tuple[Any, ...]
    scratch: int

    def results(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that are written to, none of which is an input."""
        names = [name for name, _ in self.kernel.parameters[-len(self.arguments) :]]
        keys, given = written(self.kernel), {id(root(x)) for x in inputs if isinstance(x, np.ndarray)}
        pairs = zip(names, self.arguments, strict=True)
        return [x for name, x in pairs if name in keys and isinstance(x, np.ndarray) and id(root(x)) not in given]

    def run(self, arguments: Sequence[Any]) -> None:
        job = self.kernel.prepared(self.tasks, self.work, *arguments, scratch=self.scratch)
        self.kernel.code_for(arguments[0].dtype).run(job.arguments.buffer_info()[0], self.work)
        if job.arguments[0] < 0:
            self.kernel.no_memory(job.arguments[1])


_watching = threading.RLock()
"""Kernels are called otherwise in all threads while one of them has it, so that a fork waits for it."""
os.register_at_fork(before=_watching.acquire, after_in_parent=_watching.release, after_in_child=_watching.release)
MAX_KNOWN = 10_000
"""With more of them, `_known` is emptied."""
_known: dict[Any, bool] = {}
"""By operator, attributes and inputs: whether an operator consists of calls of kernels."""


def capture(
    forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[KernelCall]] | None:
    """The results of `forward(*inputs, **attrs)`, and the calls of kernels that compute them.

    None if these alone do not. The results, and what the calls write, are arrays of their own.
    """
    key = _key(forward, inputs, attrs)
    if key is not None and _known.get(key) is False:
        return None
    outputs, calls = _watched(forward, inputs, attrs)
    pure = bool(calls) and _all_written(outputs, inputs, calls)
    if pure and (key is None or key not in _known):
        pure = _can_be_repeated(forward, inputs, attrs, outputs, calls)
    if key is not None:
        if len(_known) > MAX_KNOWN:
            _known.clear()
        _known[key] = pure
    return (outputs, calls) if pure else None


def _key(forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    like = tuple((x.shape, x.dtype.char) if isinstance(x, np.ndarray) else x for x in inputs)
    try:
        key = (getattr(forward, "__self__", forward), like, tuple(sorted(attrs.items())))
        hash(key)
    except TypeError:
        return None
    return key


def _watched(
    forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[KernelCall]]:
    calls: list[KernelCall] = []
    thread = threading.get_ident()

    def watch(kernel: LoopKernel, tasks: int, work: int, arguments: tuple[Any, ...], scratch: int) -> None:
        call = KernelCall(kernel, tasks, work, arguments, scratch)
        if threading.get_ident() == thread:
            calls.append(call)
        call.run(arguments)

    with _watching, loops.instead(watch):
        output = forward(*inputs, **attrs)
    return output if type(output) is tuple else (output,), calls


def _all_written(outputs: Sequence[Any], inputs: Sequence[Any], calls: Sequence[KernelCall]) -> bool:
    """Whether each result is in memory that a kernel has written."""
    results = {id(root(x)) for call in calls for x in call.results(inputs)}
    return all(x is None or id(root(x)) in results for x in outputs)


def _can_be_repeated(
    forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any],
    outputs: Sequence[Any], calls: Sequence[KernelCall],
) -> bool:  # fmt: skip
    """Whether the calls, with other inputs and in memory of NaN, give what `forward` gives for these, and leave the
    inputs as they are."""
    others = [_other(x) for x in inputs]
    before = [x.tobytes() if isinstance(x, np.ndarray) else None for x in others]
    try:
        with np.errstate(all="ignore"):
            expected, expected_calls = _watched(forward, others, attrs)
    except Exception:  # of numbers that the operator refuses
        return False
    moved = Places()
    for x, other in zip(inputs, others, strict=True):
        if isinstance(x, np.ndarray):
            moved.add(x, other, 0)
    fresh = {id(root(x)): root(x) for call in calls for x in call.results(inputs)}
    for x in fresh.values():
        moved.add(x, np.full(x.nbytes, 0xFF, np.uint8), 0)  # NaN in every type of floats
    if not _are_alike(calls, expected_calls, moved):
        return False
    for call in calls:
        call.run([_moved(x, moved) for x in call.arguments])
    if any(b is not None and x.tobytes() != b for x, b in zip(others, before, strict=True)):
        return False
    repeated = [None if x is None else _moved(x, moved) for x in outputs]
    pairs = zip(repeated, expected, strict=True)
    return all(a is b if a is None or b is None else _has_bits(a, b) for a, b in pairs)


def _has_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether both are the same array, to the bits: NaN too."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _other(x: Any) -> Any:
    """Other numbers of the kind; integers are those that were there, as they may be indices."""
    if not isinstance(x, np.ndarray):
        return x
    if x.dtype.kind != "f":
        return np.roll(x, 1)
    with np.errstate(all="ignore"):  # factors that change 1, which is frequent, too: to 0.99
        return np.ascontiguousarray(np.roll(x, 1) * x.dtype.type(0.72) + x.dtype.type(0.27))


def _are_alike(calls: Sequence[KernelCall], others: Sequence[KernelCall], places: Places) -> bool:
    """Whether both are the same calls, with the same integers, and the same arrays where those are of no input and no
    kernel has written them: such arrays follow from sizes and attributes alone."""
    if [(x.kernel, x.tasks, x.scratch) for x in calls] != [(x.kernel, x.tasks, x.scratch) for x in others]:
        return False
    for call, other in zip(calls, others, strict=True):
        for x, y in zip(call.arguments, other.arguments, strict=True):
            if isinstance(x, np.ndarray) != isinstance(y, np.ndarray):
                return False
            if not isinstance(x, np.ndarray):
                if x != y:
                    return False
            elif places.find(x) is None and not np.array_equal(x, y):
                return False
    return True


def _moved(x: Any, places: Places) -> Any:
    found = places.find(x) if isinstance(x, np.ndarray) else None
    if found is None:
        return x
    to, offset = found
    return to.reshape(-1).view(np.uint8)[offset : offset + x.nbytes].view(x.dtype).reshape(x.shape)
