"""The calls of kernels that an operator consists of, which are seen while it is called once.

Operators say of themselves, by `repeats`, that they consist of such calls, and that these follow from shapes, types and
attributes. So no kernel needs to run: which arrays it is given is all there is to see. `tests/ndarray/test_repeats.py`
has each of these operators called with other numbers.
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
from runtime.core.kept import is_of_sizes, root


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel that was seen."""

    kernel: LoopKernel
    tasks: int
    work: int
    arguments: tuple[Any, ...]
    scratch: int

    def arrays(self) -> list[np.ndarray]:
        return [x for x in self.arguments if isinstance(x, np.ndarray)]

    def results(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that it may write to, none of which is an input."""
        names = [name for name, _ in self.kernel.parameters[-len(self.arguments) :]]
        keys, given = written(self.kernel), roots(inputs)
        pairs = zip(names, self.arguments, strict=True)
        return [x for name, x in pairs if name in keys and isinstance(x, np.ndarray) and id(root(x)) not in given]

    def run(self) -> None:
        job = self.kernel.prepared(self.tasks, self.work, *self.arguments, scratch=self.scratch)
        self.kernel.code_for(self.arguments[0].dtype).run(job.arguments.buffer_info()[0], self.work)
        if job.arguments[0] < 0:
            self.kernel.no_memory(job.arguments[1])


_watching = threading.RLock()
"""Kernels are called otherwise in all threads while one of them has it, so that a fork waits for it."""
os.register_at_fork(before=_watching.acquire, after_in_parent=_watching.release, after_in_child=_watching.release)


def capture(
    forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[KernelCall]] | None:
    """The results of `forward(*inputs, **attrs)`, of an operator that `repeats`, and the calls that compute them.

    None where kernels compute no result, or take what something else has computed of the inputs. The results, and what
    the calls write, are arrays of their own, to which nothing was written.
    """
    outputs, calls = watched(forward, inputs, attrs, runs=False)
    known, made = roots(inputs), set()
    for call in calls:
        made |= roots(call.results(inputs))
        if not all(id(root(x)) in known | made or is_of_sizes(x) for x in call.arrays()):
            return None
    are_made = all(x is None or id(root(x)) in made for x in outputs)
    return (outputs, calls) if calls and are_made else None


def roots(arrays: Sequence[Any]) -> set[int]:
    """What tells the memory of the arrays from other memory, as long as they are alive."""
    return {id(root(x)) for x in arrays if isinstance(x, np.ndarray)}


def watched(
    forward: Callable[..., Any], inputs: Sequence[Any], attrs: dict[str, Any], runs: bool = True
) -> tuple[tuple[Any, ...], list[KernelCall]]:
    """The results of `forward(*inputs, **attrs)`, and the calls of kernels that it has made on this thread.

    Unless it `runs`, these are only noted, and what NumPy computes of their results are numbers of no meaning.
    """
    calls: list[KernelCall] = []
    thread = threading.get_ident()

    def watch(kernel: LoopKernel, tasks: int, work: int, arguments: tuple[Any, ...], scratch: int) -> None:
        call = KernelCall(kernel, tasks, work, arguments, scratch)
        own = threading.get_ident() == thread
        if own:
            calls.append(call)
        if runs or not own:
            call.run()

    with _watching, loops.instead(watch), np.errstate(**({} if runs else {"all": "ignore"})):
        output = forward(*inputs, **attrs)
    return output if type(output) is tuple else (output,), calls
