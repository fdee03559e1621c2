"""An update rule: the kernels of an optimizer, chosen for each parameter and compiled when one needs them."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from optgen import arguments, pipeline
from optgen.arguments import Arguments
from optgen.backends import target
from optgen.execute import buffers, piece, state
from optgen.execute.buffers import Tensor
from optgen.execute.device import Cpu, Target
from optgen.execute.evaluate import evaluate
from optgen.execute.kernel import Kernel
from optgen.execute.piece import Exchange, Piece
from optgen.execute.state import State
from optgen.execute.step import BoundStep
from optgen.ir import ShardGranularity, Variant
from optgen.ir.cost import Cost, cost
from optgen.ir.storage import STORAGES
from optgen.model import Call, FlagValue, Kind, Optimizer, walk

SMALLEST_QUANTIZED = 4096
"""8-bit states of parameters with fewer elements are float32 instead, as users of such optimizers know it, unless the
spec sums over parameters."""
MATRIX = (4096, 4096)
"""A parameter to speak of when there is none yet."""


class UpdateRule:
    """An optimizer for parameters of one dtype: makes state, and binds it to parameters and gradients.

    `target` is where: the CPU, unless given. A variant is compiled once, when a parameter needs it.
    """

    def __init__(
        self,
        spec: Optimizer,
        args: Arguments,
        dtype: str,
        *,
        master: bool = False,
        storage: Mapping[str, str] | None = None,
        target: Target | None = None,
    ) -> None:
        self.spec = spec
        self.values = args.values
        self.flags = args.flags
        self.dtype = dtype
        self.master = master
        self.storage = dict(storage or {})
        self._chosen = args.chosen
        values = [e for line in spec.update for e in walk(line.value)]
        self._joins = any(isinstance(e, Call) and e.scope == "params" for e in values)
        self.target: Target = Cpu() if target is None else target
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._cuts: dict[tuple[Any, ...], ShardGranularity] = {}
        if isinstance(self.target, Cpu) and any(STORAGES[x].is_half for x in (dtype, *self.storage.values())):
            _check_float16()

    def __repr__(self) -> str:
        words = [self.spec.name, self.dtype, *([self.target.name] if self.target.name != "cpu" else [])]
        words += [*(["master=True"] if self.master else [])]
        words += [f"{name}={value!r}" for name, value in (*self.flags.items(), *self.storage.items())]
        return f"<optgen {', '.join(words)}>"

    def _repr_markdown_(self) -> str:
        """A line of what it is and the equations, as notebooks show them."""
        return f"`{self!r}`\n\n{self.spec._repr_latex_()}"

    @property
    def cost(self) -> Cost:
        """Streams, bytes and operations per element of a large matrix and step, and the number of sweeps."""
        return cost(pipeline.plan(pipeline.build(self.spec, self.variant(MATRIX))))

    def cut(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> ShardGranularity:
        """Where a parameter of this shape can be cut into pieces, as `optgen.ir.ShardGranularity` says."""
        like = (len(shape), self._is_small(shape), *sorted((flags or {}).items()))
        if like not in self._cuts:
            self._cuts[like] = pipeline.build(self.spec, self.variant(shape, flags)).shard_granularity
        return self._cuts[like]

    @property
    def lazy(self) -> bool:
        """Whether a row-sparse gradient of a matrix updates its rows only: no value depends on several rows."""
        return self.kernel(MATRIX, sparse=True).native.lazy

    def init(
        self,
        params: Iterable[Any],
        row_sparse: Iterable[bool] | None = None,
        flags: Mapping[str, Iterable[Any]] | None = None,
        pieces: Iterable[Piece | None] | None = None,
    ) -> State:
        """The state before the first update, for parameters of any shapes and the rule's dtype.

        `row_sparse`: which of them will get row-sparse gradients. `flags`: those that are set for each parameter.
        `pieces`: of which tensors which are pieces.
        """
        tensors = self.tensors(params, "params")
        wanted = [False] * len(tensors) if row_sparse is None else [bool(x) for x in row_sparse]
        if len(wanted) != len(tensors):
            raise ValueError(f"row_sparse: {len(wanted)} values for {len(tensors)} parameters")
        own = arguments.per_param(self.spec, flags, len(tensors))
        kernels = self.kernels(tensors, wanted, own, self.pieces(pieces, len(tensors)))
        by_row = [x and kernel.native.lazy for x, kernel in zip(wanted, kernels, strict=True)]
        return state.start(kernels, tensors, by_row, self.values, self.target.device(tensors))

    def bind(
        self,
        params: Iterable[Any],
        grads: Iterable[Any] | None = None,
        state: State | None = None,
        inputs: Mapping[str, Iterable[Any]] | None = None,
        *,
        lazy: bool = True,
        flags: Mapping[str, Iterable[Any]] | None = None,
        ids: Iterable[int] | None = None,
        pieces: Iterable[Piece | None] | None = None,
        exchange: Exchange | None = None,
    ) -> BoundStep:
        """Resolve all pointers once, and compile what is not compiled yet.

        `params`, and wherever there is one tensor for each of them, can be any iterable, such as `net.parameters()`.
        Without `grads`, each call reads `p.grad` of every parameter anew and leaves out those where it is None, counts
        included; without `state` the step starts from `init`, and holds it as `step.state`. `inputs` are the further
        tensors that the spec reads, by name. `flags` are those that are set for each parameter; `ids`, by which draws
        of parameters differ, are 0, 1, ... unless given. In place of a gradient there may be a list of several, as many
        for every parameter: they are summed, in that order, as they are read.

        `pieces[i]` says of which tensor parameter i is a piece; gradients, inputs and elementwise states then are of
        that piece. All pieces of a tensor come to the same bits as the whole, wherever they are updated. Where `cut`
        says "blocks", `exchange` brings the partial results of the pieces that are not here, and every tensor must be
        bound, those of which nothing is here as empty pieces. What `exchange` raises leaves the step half done.

        Parameters, gradients, inputs and states must be C-contiguous tensors where the rule computes (states of kind
        host, and counts: NumPy arrays), gradients, inputs and elementwise states of their parameter's shape; what is
        written must be writable and share memory with nothing else. A gradient may be `RowSparse`: with `lazy`, if the
        rule is `lazy`, the other rows are left as they are; else they have a gradient of zero. TypeError and ValueError
        name the tensor. The step keeps all of them alive.

        A tensor of PyTorch that has got other memory, another shape or dtype since (`p.data = ...`, `module.to(...)`,
        `resize_`) is refused at the next call. What a call writes counts as changed in place for `backward`. While one
        thread calls a step, other threads, and its own exchange, get a RuntimeError.
        """
        params = buffers.listed(params, "params")
        where = self.pieces(pieces, len(params))
        with _without_collections():
            return self.target.step(
                self, params, grads, state, inputs, lazy=lazy, flags=flags, ids=ids, pieces=where, exchange=exchange
            )

    def evaluate(
        self,
        params: Iterable[Any],
        state: State,
        pieces: Iterable[Piece | None] | None = None,
        *,
        flags: Mapping[str, Iterable[Any]] | None = None,
    ) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none.

        `flags`: those that are set for each parameter, as `bind` took them.
        """
        tensors = self.tensors(params, "params")
        own = arguments.per_param(self.spec, flags, len(tensors))
        return evaluate(self, tensors, own, state, self.values, self.pieces(pieces, len(tensors)))

    # ------------------------------------------------------------ what a bound step asks

    def tensors(self, objects: Iterable[Any], what: str) -> list[Tensor]:
        """The memory of parameters, of the rule's dtype."""
        found = [self.target.param(x, f"{what}[{i}]") for i, x in enumerate(buffers.listed(objects, what))]
        for t in found:
            buffers.check_dtype(t, self.dtype)
        return found

    def pieces(self, pieces: Iterable[Piece | None] | None, n: int) -> list[Piece | None]:
        """Of each of n parameters, what it is a piece of, if it is one."""
        return [None] * n if pieces is None else buffers.listed(pieces, "pieces", n)

    def decide(
        self,
        rank: int,
        flags: Mapping[str, FlagValue],
        values: Mapping[str, float | None] | None = None,
        *,
        sparse: bool = False,
    ) -> dict[str, FlagValue]:
        """All flags of a parameter, given those that are set for it."""
        return arguments.resolve_flags(self.spec, values or self.values, {**self._chosen, **flags}, rank, sparse=sparse)

    def variant(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue] | None = None,
        *,
        sparse: bool = False,
        evaluate: bool = False,
        gradients: int = 1,
    ) -> Variant:
        """What is compiled for a parameter of this shape."""
        decided = self.decide(len(shape), flags or {}, sparse=sparse)
        small = self._is_small(shape)
        storage: dict[str, str] = {}
        for s in self.spec.program(decided).states:
            if s.kind is Kind.ELEM and s.name in self.storage:
                wanted = self.storage[s.name]
                storage[s.name] = "float32" if small and STORAGES[wanted].block else wanted
        return Variant(decided, self.dtype, self.master, storage, evaluate, gradients)

    def kernel(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue] | None = None,
        *,
        sparse: bool = False,
        evaluate: bool = False,
        gradients: int = 1,
    ) -> Kernel:
        """The kernel for a parameter of this shape."""
        like = (len(shape), self._is_small(shape), *sorted((flags or {}).items()), sparse, evaluate, gradients)
        if like not in self._kernels:
            variant = self.variant(shape, flags, sparse=sparse, evaluate=evaluate, gradients=gradients)
            same = next((k for k in self._kernels.values() if k.variant == variant), None)
            self._kernels[like] = same or self.target.kernel(self.spec, variant)
        return self._kernels[like]

    def kernels(
        self,
        params: Sequence[Tensor],
        sparse: Sequence[bool],
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[Piece | None],
        gradients: int = 1,
    ) -> list[Kernel]:
        """The kernel of each parameter; `sparse`: those that are to be updated row by row, where that is possible."""
        found = []
        for param, wanted, own, part in zip(params, sparse, flags, pieces, strict=True):
            shape = param.shape if part is None else part.shape
            try:
                kernel = self.kernel(shape, own, sparse=wanted, gradients=gradients)
            except ValueError as error:
                raise ValueError(f"{param.name}, of shape {shape}: {error}") from error
            found.append(kernel if kernel.native.lazy else self.kernel(shape, own, gradients=gradients))
            if part is not None:
                piece.check(part, param, found[-1])
        return found

    def _is_small(self, shape: Sequence[int]) -> bool:
        """Whether 8-bit states are not worth it; never where sums over parameters want one kernel for all."""
        return math.prod(shape) < SMALLEST_QUANTIZED and not self._joins


def _check_float16() -> None:
    host = target.host()
    if host.triple.startswith("x86_64") and "f16c" not in host.required():
        raise ValueError("float16 needs a CPU with the F16C instructions, which this one does not have; use bfloat16")


@contextmanager
def _without_collections() -> Iterator[None]:
    """Have Python look for no cyclic garbage meanwhile: among 100,000 tensors that are all kept, each look takes longer
    than the one before, and finds none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
