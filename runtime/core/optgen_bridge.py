"""The bridge to optgen: specs in, updates of parameters out. Only this module compiles and runs optimizers."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen import forks
from runtime.core import backend
from runtime.core.generator import generator
from runtime.core.protocols import Context, NDArray

if TYPE_CHECKING:
    from optgen import Piece, State, UpdateRule
    from optgen.arguments import Arguments
    from optgen.expressions import Call
    from optgen.model import Optimizer as Spec

    Gradient = NDArray | list[NDArray]

# optgen is imported where it is first needed, so that `import runtime` does not wait for a compiler.


def _before_fork() -> None:
    """A fork waits for a draw of another thread, for LLVM, and for what is being imported on its first use: the child
    could never finish that.

    The draw comes before LLVM, whose objects may be freed in the middle of a draw. `forks` may have LLVM by now.
    """
    forks.let_go()
    generator.hold()
    forks.before_fork("runtime")


os.register_at_fork(before=_before_fork, after_in_parent=generator.let_go, after_in_child=generator.let_go)


def names() -> tuple[str, ...]:
    """The specs that come with optgen, but those of other libraries."""
    from optgen import specfiles

    return specfiles.without_folder()


def hint(name: str, others: Iterable[str]) -> str:
    """What to write in place of a name of no spec, and of none of these others."""
    from optgen import specfiles

    return specfiles.hint(name, others)


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


def can_be_lazy(spec: Spec) -> bool:
    """Whether, in some variant, rows can be updated without the others: nothing is summed but within a row."""
    return not spec.phases and any(
        all(call.scope == "row" for call in _reductions(spec.program(flags).equations)) for flags in spec.variants()
    )


def joins_parameters(spec: Spec) -> bool:
    """Whether the update of a parameter depends on the others: they share values, as sums over them are."""
    return spec.joins_params


def _reductions(equations: Iterable[Any]) -> Iterator[Call]:
    from optgen.expressions import Call, walk
    from optgen.lang import builtins

    return (e for line in equations for e in walk(line.value) if isinstance(e, Call) and builtins.is_reduction(e))


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

    return optgen.load(spec, dtype, master=master, storage=storage, target="cpu" if gpu is None else "cuda", **values)


def check_donated(dtype: str, ctx: Context) -> None:
    """ValueError if a step cannot use the memory of gradients of that type in a context."""
    from optgen.execute import donation

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
        raise _renamed(error, [name]) from None
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
    found = rule.evaluate(_memory(weights), _state(states, np.array(counts, np.int64)), pieces, flags=flags)
    return [_placed(array, weight.context) for array, weight in zip(found, weights, strict=True)]


# ---------------------------------------------------------------- quantized states


@dataclass(frozen=True)
class Coding:
    """How numbers became codes in blocks: one of optgen's storages, and whether the codes have no sign."""

    storage: str
    nonnegative: bool

    @classmethod
    def of(cls, rule: UpdateRule, state: str, shape: tuple[int, ...]) -> Coding:
        """That of a state of a parameter of this shape."""
        buffer = rule.kernel(shape).states[state]
        return cls(buffer.storage, buffer.nonnegative)

    def part(self, codes: Any, scales: Any, begin: int, end: int) -> tuple[Any, Any]:
        """The codes and scales of elements [begin, end), where `begin` is the first of a block, of those of a whole
        weight in one row."""
        from optgen.ir.storage.packing import CODES_PER_BYTE

        found = self._buffer().format
        each = CODES_PER_BYTE if found.is_packed else 1
        own, of_scales = (slice(begin // n, -(-end // n)) for n in (each, found.block))
        return codes[own], scales[of_scales]

    def encode(self, values: np.ndarray, by_row: bool) -> tuple[np.ndarray, np.ndarray]:
        """Codes and scales of numbers; `by_row`: the blocks restart at every row."""
        from optgen.execute import storage

        return storage.encode(values, self._buffer(), by_row)

    def decode(self, codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The float32 numbers of a state of a weight of this shape."""
        from optgen.execute import storage

        return storage.decode(codes, scales, self._buffer(), shape)

    def check(self, codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...]) -> None:
        """ValueError for arrays that were not made so of a weight of this shape."""
        from optgen.execute import storage
        from optgen.ir.storage import STORAGES

        found = STORAGES.get(self.storage)
        if found is None or found.block is None:
            raise ValueError(f"'{self.storage[:60]}' is no storage in blocks of codes")
        b = self._buffer()
        shapes = [[storage.shape_of(x, shape, by_row) for x in (b, b.scales)] for by_row in (False, True)]
        dtypes = codes.dtype, scales.dtype
        if dtypes != (found.array_dtype, np.float32) or [codes.shape, scales.shape] not in shapes:
            raise ValueError(
                f"codes are {found.array_dtype}, and scales float32, one for each block of them: not {codes.dtype} of "
                f"{codes.shape} and {scales.dtype} of {scales.shape}"
            )

    def _buffer(self) -> Any:
        from optgen.ir import Buffer

        return Buffer("", True, storage=self.storage, nonnegative=self.nonnegative)


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
    copy[...] = x
    return copy


def piece(offset: int, shape: tuple[int, ...]) -> Piece:
    """The part of a parameter of `shape` that begins with its element `offset`."""
    import optgen

    return optgen.Piece(offset, shape)


def block() -> int:
    """How many elements a block has: parameters are cut at multiples of it."""
    from optgen.ir import BLOCK

    return BLOCK


# ---------------------------------------------------------------- updates


def largest_id() -> int:
    """The largest number that a parameter may have in random draws."""
    from optgen.execute.checks import ID_LIMIT

    return ID_LIMIT - 1


class Binding:
    """A rule bound to several parameters; calling it updates all of them in one native call.

    `states[i]` holds the state arrays of parameter i by name, its master as "w", and `given[i]` is the object, never to
    be changed, that they were taken from; `names[i]` is what errors call the parameter. In place of gradients there may
    be lists of several dense ones, as many for each, which are summed; lists that were bound must not be changed. With
    `donate_grads`, every call uses their memory. Other arguments go to the rule's `bind`.
    """

    def __init__(
        self,
        rule: UpdateRule,
        names: Sequence[str],
        weights: Sequence[NDArray],
        grads: Sequence[Gradient],
        states: Sequence[Mapping[str, NDArray]],
        seed: int,
        given: Sequence[Any],
        donate_grads: bool = False,
        **arguments: Any,
    ) -> None:
        self._names, self._donates = names, donate_grads
        self._weights = _memory(weights)
        self._given, self._held = list(given), [array for state in states for array in state.values()]
        self._states = _memory(self._held)
        self._grads, self._is_sparse, self._summed = grads, _any_sparse(grads), _summed(grads)
        self._counts = np.zeros(len(weights), np.int64)
        self._expected: list[int] = []  # what the counts will be after the next update, if none is made elsewhere
        self.sent: Any = None  # what the values follow from that were sent last; the caller's
        try:
            state = _state(states, self._counts)
            self._step = rule.bind(self._weights, _gradients(grads), state, donate_grads=donate_grads, **arguments)
        except (TypeError, ValueError) as error:
            raise _renamed(error, names) from None
        self._step.seed = seed

    def fits(
        self, weights: Sequence[NDArray], given: Sequence[Any], grads: Sequence[Gradient], donate_grads: bool = False
    ) -> bool:
        """Whether these are the very weights and states that are bound, and as many gradients of each."""
        return (
            donate_grads == self._donates
            and len(weights) == len(self._weights)
            and _summed(grads) == self._summed
            and all(map(operator.is_, map(_DATA, weights), self._weights))
            and all(map(operator.is_, given, self._given))
            and all(map(operator.is_, map(_DATA, self._held), self._states))
        )

    def __call__(
        self, grads: Sequence[Gradient], counts: list[int], values: Mapping[str, Any], phase: str | None = None
    ) -> None:
        """One update, or one phase of it. An ArithmeticError names a parameter without a factorization; nothing has
        changed then.

        `counts[i]` is how many there are of parameter i, this one included; `values` are those that may have changed:
        numbers, or lists of one for each parameter.
        """
        self._take(grads)
        if phase is not None and phase != self._step.phases[0]:
            self._counts[:] = counts
        elif counts != self._expected:
            self._counts[:] = counts
            self._counts -= 1
        try:
            if phase is None:
                self._step(**values)
            else:
                self._step.resume(phase, range(len(counts)))
                self._step.prepare(phase, **values)
                self._step.run()
        except ArithmeticError as error:
            raise _renamed(error, self._names) from None
        self._expected = [count + 1 for count in counts]

    def _take(self, grads: Sequence[Gradient]) -> None:
        """Read the gradients from these; those of row-sparse ones are elsewhere at each step."""
        same = operator.is_ if self._summed == 1 else _same
        if not (self._is_sparse or self._donates) and all(map(same, self._grads, grads)):
            return
        try:
            self._step.rebind(_gradients(grads))
        except (TypeError, ValueError) as error:
            raise _renamed(error, self._names) from None
        self._grads, self._is_sparse = grads, _any_sparse(grads)


_DATA = operator.attrgetter("_data")


def _memory(arrays: Iterable[NDArray]) -> list[np.ndarray]:
    return list(map(_DATA, arrays))


def _same(a: list[NDArray], b: list[NDArray]) -> bool:
    return all(map(operator.is_, a, b))


def _any_sparse(grads: Iterable[Gradient]) -> bool:
    return any(not isinstance(g, list) and g.stype == "row_sparse" for g in grads)


def _summed(grads: Sequence[Gradient]) -> int:
    """How many gradients there are of each parameter."""
    return len(grads[0]) if isinstance(grads[0], list) else 1


def _gradients(grads: Iterable[Gradient]) -> list[Any]:
    import optgen

    def memory(g: Gradient) -> Any:
        if isinstance(g, list):
            return _memory(g)
        return optgen.RowSparse(g._indices, g._rows) if g.stype == "row_sparse" else g._data

    return list(map(memory, grads))


def _state(states: Sequence[Mapping[str, NDArray]], counts: np.ndarray) -> State:
    from optgen import State

    names = dict.fromkeys(name for state in states for name in state)
    return State({n: [state[n]._data if n in state else None for state in states] for n in names}, counts)


_PLACE = re.compile(r"\b(params|grads|state|inputs)(?:\['([\w.]+)'\])?\[(\d+)\](?:\.(indices|values))?")
_WORDS = {"params": "weight", "grads": "gradient", "state": "state", "inputs": "input"}


def _renamed(error: Exception, names: Sequence[str]) -> Exception:
    """The error with `state['m'][1]` and its like put as "state 'm' of parameter 'dense0_bias'"."""

    def place(match: re.Match[str]) -> str:
        what, name, position, part = match.groups()
        words = [
            part and f"{part} of the",
            _WORDS[what],
            name and f"'{name}'",
            f"of parameter '{names[int(position)]}'",
        ]
        return " ".join(filter(None, words))

    return type(error)(_PLACE.sub(place, str(error)))
