"""The bridge to optgen: specs in, rules and states out. `Binding` of `binding.py` is a rule at work on parameters."""

from __future__ import annotations

import logging  # noqa: F401 (its hooks are to be registered before a fork can be under way)
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen import forks
from runtime.core import backend
from runtime.core.binding import memory, renamed, state_of
from runtime.core.generator import generator
from runtime.core.protocols import Context, NDArray
from runtime.core.threaded import copy_into

if TYPE_CHECKING:
    from optgen import Layout, Piece, UpdateRule
    from optgen.arguments import Arguments
    from optgen.execute.piece import Exchange
    from optgen.execute.planned import PlannedParam, UpdatePlan
    from optgen.expressions import Call
    from optgen.model import Optimizer as Spec

# optgen is imported where it is first needed, so that `import runtime` does not wait for a compiler.


forks.packages.add("runtime")
# A fork waits for a draw of another thread: the child could never finish it. What is registered last is called first:
# the draw comes before LLVM, whose objects may be freed in the middle of a draw.
os.register_at_fork(before=generator.hold, after_in_parent=generator.let_go, after_in_child=generator.let_go)


def names() -> tuple[str, ...]:
    """The specs that come with optgen, but those of other libraries."""
    from optgen import specfiles

    return specfiles.without_folder()


def hint(name: str, others: Iterable[str]) -> str:
    """What to write in place of a name of no spec, and of none of these others."""
    from optgen import names_elsewhere, specfiles

    there = names_elsewhere.find(name)
    of_folder = there is not None and "torch/" in there.spec
    return specfiles.hint(name, others) + ("; mx.optimizer has only specs of no folder" if of_folder else "")


def is_chain(name: str) -> bool:
    """Whether a name says what transforms a spec: `adam with lookahead(k = 5)`."""
    from optgen import pipeline

    return pipeline.is_chain(name)


def read(spec: str | os.PathLike[str]) -> Spec:
    """The checked spec of a name, of the path of a `.opt` file, or of a spec's text (what has several lines)."""
    from optgen import Source, api, pipeline

    return pipeline.checked(Source("<text>", spec) if isinstance(spec, str) and "\n" in spec else api.read(spec))


def resolve(spec: Spec, values: Mapping[str, Any]) -> Arguments:
    """Constructor arguments, checked, with defaults filled in: `.values` of params and `.flags`, by name."""
    from optgen import arguments

    return arguments.resolve(spec, values)


def checked(spec: Spec, name: str, value: Any) -> Any:
    """A new value for the param `name`; TypeError or ValueError naming its interval if it cannot have it."""
    from optgen import arguments

    return arguments.check(spec, arguments.find(spec, name), value)


def either(method: Callable[..., Any]) -> Any:
    """A method of objects and of their class."""
    from optgen import facts

    return facts.either(method)


def bundle(spec: Spec, settings: Mapping[str, Any]) -> dict[str, str]:
    """What notebooks show of a spec with these params and flags; with none, of the spec itself."""
    from optgen.symbolic import notebook

    return notebook.bundle(spec, [settings] if settings else [])


def can_be_lazy(spec: Spec) -> bool:
    """Whether, in some variant, rows can be updated without the others: nothing is summed but within a row."""
    return not spec.phases and any(
        all(call.scope == "row" for call in _reductions(spec.program(flags).equations)) for flags in spec.variants()
    )


def joins_parameters(spec: Spec) -> bool:
    """Whether the update of a parameter depends on the others: they share values, as sums over them are."""
    return spec.joins_params


def outer_step(spec: Spec) -> Any:
    """The outer step of a spec that has a mean over workers, as a phase of its own."""
    from optgen.outer import outer_step

    return outer_step(spec)


def is_due(timing: Any, count: int, optimizer: Any) -> bool:
    """Whether what has a timing of the spec is computed in an update of a parameter, of this number."""
    from optgen.execute.stages.staged_table import is_due

    return is_due(timing, count, {name: getattr(optimizer, name) for name in optimizer.param_names})


def _reductions(equations: Iterable[Any]) -> Iterator[Call]:
    from optgen.expressions import Call, walk
    from optgen.functions.table import is_reduction

    return (e for line in equations for e in walk(line.value) if isinstance(e, Call) and is_reduction(e))


def load(
    spec: Spec,
    dtype: str,
    master: bool,
    storage: str | Mapping[str, str] | None,
    values: Mapping[str, Any],
    gpu: int | None = None,
) -> UpdateRule:
    """The spec compiled for arrays of `dtype`, in the variant that `values` choose; for those of one GPU alone, unless
    it is None."""
    import optgen

    precision = optgen.Precision(dtype, master, storage=storage)
    return optgen.load(spec, precision, target="cpu" if gpu is None else "cuda", **values)


def planned_param(name: str, shape: tuple[int, ...], dtype: str, ctx: str) -> PlannedParam:
    """The row of a parameter in a plan, before it is said how it is updated."""
    from optgen.execute.planned import PlannedParam

    return PlannedParam(name, tuple(shape), dtype, ctx)


def planned(
    rule: UpdateRule, row: PlannedParam, values: Mapping[str, Any], shown: Iterable[str], flags: Mapping[str, bool]
) -> PlannedParam:
    """The row of a parameter that a rule updates, with these params, those `shown` among them, and flags."""
    from optgen.execute.planned import planned

    return planned(rule, row, row.shape, values, shown, flags)


def plan(spec: Spec, rows: Iterable[PlannedParam]) -> UpdatePlan:
    """The plan that rows make."""
    from optgen.execute.planned import finished

    return finished(spec, rows)


def check_donated(dtype: str, ctx: Context) -> None:
    """ValueError if a step cannot use the memory of gradients of that type in a context."""
    from optgen.execute.tensors import donation

    donation.check_donated(dtype, "cpu" if ctx.on_cpu else "cuda")


def gpu_of(ctx: Context) -> int | None:
    """The number of the GPU that arrays of a context are on; None for the CPU."""
    return None if ctx.on_cpu else ctx.device_id


def checked_storage(spec: Spec, storage: str | Mapping[str, str] | None) -> str | Mapping[str, str] | None:
    """`storage` itself; TypeError or ValueError if it names what is no state or no storage."""
    from optgen import arguments

    arguments.storages(spec, "float32", storage)
    return storage


def initial(
    rule: UpdateRule, name: str, weight: NDArray, row_sparse: bool, flags: Mapping[str, list[bool]], piece: Piece | None
) -> dict[str, Any]:
    """The states of one parameter, which errors call `name`, or of a piece of one, before its first update, by name;
    "w" is the master, if the rule has one. Those that the host computes are in the memory of the CPU, wherever the
    weight is."""
    try:
        arrays = rule.init([weight._data], [row_sparse], flags, [piece]).arrays
    except (TypeError, ValueError) as error:
        raise renamed(error, [name]) from None
    return {name: _placed(column[0], weight.context) for name, column in arrays.items() if column[0] is not None}


def _placed(array: Any, ctx: Context) -> Any:
    """An array that optgen has made for a weight in this context, as one of its library, in the memory of its pool."""
    if ctx.on_cpu or type(array) is np.ndarray:
        return array
    with backend.device_scope(ctx):
        return backend.xp_for(ctx).asarray(_Bits(array)).view(array.dtype).copy()


class _Bits:
    """An array of a GPU as one of unsigned integers: that interface has no word for bfloat16."""

    def __init__(self, array: Any) -> None:
        described = array.__cuda_array_interface__
        self.__cuda_array_interface__ = described | {"typestr": f"<u{array.dtype.itemsize}"}
        self._array = array


def evaluate(
    rule: UpdateRule,
    weights: Sequence[NDArray],
    states: Sequence[Mapping[str, NDArray]],
    counts: Sequence[int],
    pieces: Sequence[Piece | None],
    flags: Mapping[str, Sequence[bool]],
) -> list[Any]:
    """The weights to evaluate a network with, by the spec's `eval:` section."""
    found = rule.evaluate(memory(weights), state_of(states, np.array(counts, np.int64)), pieces, flags=flags)
    return [_placed(array, weight.context) for array, weight in zip(found, weights, strict=True)]


# ---------------------------------------------------------------- pieces

MIN_ALIGNED_BYTES = 1 << 12
"""Smaller arrays are where NumPy puts them: finding them another place takes longer than it saves."""


def aligned(shape: tuple[int, ...], dtype: np.dtype, value: float | None = 0.0) -> np.ndarray:
    """A new NumPy array, filled with `value` (None: anything), that begins with a cache line, or if it is large with a
    page.

    States lie in lines as their weight does. Updates are fastest where the gradient does so too.
    """
    from optgen.execute import buffers

    return buffers.aligned(shape, dtype.name, value)


def copied(x: Any) -> Any:
    """A copy of an array of NumPy or CuPy in C order; a large one of NumPy begins as an `aligned` one does."""
    if type(x) is not np.ndarray or x.nbytes < MIN_ALIGNED_BYTES:
        return x.copy()
    copy = aligned(x.shape, x.dtype, None)
    copy_into(copy, x)
    return copy


def piece(offset: int, shape: tuple[int, ...]) -> Piece:
    """The part of a parameter of `shape` that begins with its element `offset`."""
    import optgen

    return optgen.Piece(offset, shape)


def layout(pieces: Sequence[Piece | None], exchange: Exchange | None, ids: Sequence[int]) -> Layout:
    """Where the weights of a step are among all that are trained: the pieces that they are, and the numbers by which
    their draws differ."""
    import optgen

    return optgen.Layout(pieces, exchange, ids)


def block() -> int:
    """How many elements a block has: parameters are cut at multiples of it."""
    from optgen.ir import BLOCK

    return BLOCK


def largest_id() -> int:
    """The largest number that a parameter may have in random draws."""
    from optgen.execute.tensors.checks import ID_LIMIT

    return ID_LIMIT - 1
