"""An update rule: an optimizer's kernels, chosen for each parameter, and compiled when one is needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from optgen import arguments, pipeline
from optgen.arguments import Arguments
from optgen.execute import buffers, evaluation, piece
from optgen.execute import state as states
from optgen.execute.buffers import Tensor
from optgen.execute.cpu.device import Cpu
from optgen.execute.donation import check_donated
from optgen.execute.garbage import without_collections
from optgen.execute.gradients import gradients_per_param
from optgen.execute.kernel import LoadedKernel
from optgen.execute.phased import PhasedStep
from optgen.execute.piece import AnyPiece, Box, Exchange
from optgen.execute.protocols import Device, Platform
from optgen.execute.sparse import RowSparse
from optgen.execute.state import State
from optgen.execute.step import BoundStep
from optgen.execute.storage import row_length
from optgen.ir import Kernel, ShardGranularity, Variant
from optgen.ir.cost import Cost, cost
from optgen.ir.storage import QUANT_BLOCK, STORAGES
from optgen.model import PHASE, FlagValue, Kind, Optimizer
from optgen.shapes import sizes

SMALLEST_QUANTIZED = 4096
"""Quantized states of parameters with fewer elements are float32 instead, as users of such optimizers know it, unless
the spec sums over parameters."""
FLOPS_OF_AN_ELEMENT = 256
"""So many operations of products take the time in which an elementwise update reads and writes one element: 28 bytes
for adam, of the tens of gigabytes in a second that memory has where products have some hundred GFLOP/s."""
EXAMPLE_SHAPE = (4096, 4096)
"""The parameter that a rule's properties are about: a large matrix."""


class UpdateRule:
    """An optimizer for parameters of one dtype: makes state, and binds it to parameters and gradients.

    `target` is the platform that it is compiled for, by default the CPU. With `scales_gradient`, steps multiply every
    gradient by `step.gradient_factor` as they read it. With `blocks_by_row`, the blocks of quantized states restart at
    each row, so that a matrix can be cut between any two rows; those of parameters with rows of less than 256 elements
    are float32 instead, unless the spec sums over parameters. `matmul` is as for `load`. A variant is compiled once,
    when a parameter needs it.
    """

    def __init__(
        self,
        spec: Optimizer,
        args: Arguments,
        dtype: str,
        *,
        master: bool = False,
        storage: Mapping[str, str] | None = None,
        target: Platform | None = None,
        blocks_by_row: bool = False,
        scales_gradient: bool = False,
        matmul: str = "float32",
    ) -> None:
        self.spec = spec
        self.values = args.values
        self.each = args.each
        self.flags = args.flags
        self.dtype = dtype
        self.master = master
        self.storage = dict(storage or {})
        self.blocks_by_row = blocks_by_row
        self.scales_gradient = scales_gradient
        self.matmul = matmul
        self._chosen = args.chosen
        self._joins_params = spec.joins_params
        self._reads_sizes, self._has_stages = spec.reads_sizes, spec.has_stages
        self.target: Platform = target or Cpu()
        self._kernels: dict[tuple[Any, ...], LoadedKernel] = {}
        self._planned: dict[tuple[Any, ...], Kernel] = {}
        self._flops: dict[tuple[Any, ...], float] = {}
        self.target.check_dtypes({dtype, *self.storage.values()})

    def __repr__(self) -> str:
        words = [self.spec.name, self.dtype, *([self.target.name] if self.target.name != "cpu" else [])]
        words += [*(["master=True"] if self.master else [])]
        words += [*(["scales_gradient=True"] if self.scales_gradient else [])]
        defaults = {p.name: p.default for p in self.spec.all_params().values()}
        values = {**self.values, **self.each}
        words += [f"{name}={value!r}" for name, value in values.items() if value != defaults[name]]
        chosen = {f.name: self.flags[f.name] for f in self.spec.flags if f.name in self.flags and not f.per_param}
        words += [f"{name}={value!r}" for name, value in (*chosen.items(), *self.storage.items())]
        return f"<optgen {', '.join(words)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles are without loaded kernels, whose addresses belong to this process: they load anew."""
        return self.__dict__ | {"_kernels": {}}

    def _repr_markdown_(self) -> str:
        """A line of what it is and the equations, as notebooks show them."""
        return f"`{self!r}`\n\n{self.spec._repr_latex_()}"

    @property
    def cost(self) -> Cost:
        """Streams, bytes and operations per element of a large matrix in a step, and the number of sweeps. ValueError
        if there are products of matrices, whose cost is not one per element."""
        if self._is_staged(EXAMPLE_SHAPE, {}):
            raise ValueError(f"{self.spec.name}: the larger matrices are, the more their products cost")
        return cost(pipeline.plan(pipeline.build(self.spec, self.variant(EXAMPLE_SHAPE))))

    def cut(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> ShardGranularity:
        """Where a parameter of this shape can be cut into pieces, as `optgen.ir.ShardGranularity` says."""
        if self._is_staged(shape, flags or {}):
            return "never" if self._joins_params else "tensors"
        phases = [{PHASE: phase} for phase in self.spec.phases] or [{}]
        found = [self._built(shape, {**(flags or {}), **phase}).shard_granularity for phase in phases]
        return max(found, key=get_args(ShardGranularity).index)

    def flops(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> float:
        """The floating-point operations of products and factorizations in an update of a parameter of this shape, the
        mean of many updates; 0 where there are none."""
        key = (tuple(shape), *sorted((flags or {}).items()))
        if key not in self._flops:
            staged = self._is_staged(shape, flags or {})
            self._flops[key] = pipeline.stage_flops(*self._sized(shape, flags)) if staged else 0.0
        return self._flops[key]

    def work(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> float:
        """The work of an update of a parameter of this shape: how many elements an elementwise update has in its
        time."""
        return math.prod(shape) + self.flops(shape, flags) / FLOPS_OF_AN_ELEMENT

    def takes_whole(self, shape: Sequence[int]) -> bool:
        """Whether the update of a parameter of this shape takes it whole, as products do, and not in boxes."""
        return self._is_staged(shape, {})

    def bytes_moved(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> float:
        """The bytes that the sweeps of an update of a matrix of this shape read and write, as `flops`; ValueError if it
        has no products."""
        if not self._is_staged(shape, flags or {}):
            raise ValueError(f"{self.spec.name}: no products of matrices; see cost")
        return pipeline.stage_bytes(*self._sized(shape, flags))

    def _sized(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None
    ) -> tuple[Optimizer, Variant, Mapping[str, float | None]]:
        """The spec, its variant for a shape, and its params and sizes."""
        return self.spec, self.variant(shape, flags), {**self.values, **sizes(shape, self.spec.last_two)}

    def _built(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue], *, sparse: bool = False, evaluate: bool = False
    ) -> Kernel:
        """The kernel IR for whole parameters of this shape."""
        key = (self._sort(shape), self._is_small(shape), *sorted(flags.items()), sparse, evaluate)
        if key not in self._planned:
            variant = self.variant(shape, flags, sparse=sparse, evaluate=evaluate)
            self._planned[key] = pipeline.build(self.spec, variant)
        return self._planned[key]

    @property
    def lazy(self) -> bool:
        """Whether a row-sparse gradient of a matrix updates only its rows, as no value depends on several rows."""
        return not self.spec.phases and self.kernel(EXAMPLE_SHAPE, sparse=True).native.lazy

    def init(
        self,
        params: Iterable[Any],
        row_sparse: Iterable[bool] | None = None,
        flags: Mapping[str, Iterable[Any]] | None = None,
        pieces: Iterable[AnyPiece | None] | None = None,
        *,
        capturable: bool = False,
    ) -> State:
        """The state before the first update, for parameters of any shapes and the rule's dtype.

        `row_sparse` says which of them will get row-sparse gradients. `flags` are those that are set for each
        parameter. `pieces` says of which tensors parameters are pieces. `capturable` is as for `bind`.
        """
        tensors = self.tensors(params, "params")
        sparse = [False] * len(tensors) if row_sparse is None else [bool(x) for x in row_sparse]
        if len(sparse) != len(tensors):
            raise ValueError(f"row_sparse: {len(sparse)} values for {len(tensors)} parameters")
        own_flags = arguments.per_param(self.spec, flags, len(tensors))
        device = self.target.device(tensors, capturable=capturable)
        return self._initial_state(tensors, sparse, own_flags, self.pieces(pieces, len(tensors)), device)

    def _initial_state(
        self,
        params: Sequence[Tensor],
        sparse: Sequence[bool],
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        device: Device,
    ) -> State:
        kernels = self.kernels(params, sparse, flags, pieces)
        by_row = [self.blocks_by_row or (x and kernel.native.lazy) for x, kernel in zip(sparse, kernels, strict=True)]
        return states.initial(kernels, params, by_row, self.values, device)

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
        pieces: Iterable[AnyPiece | None] | None = None,
        exchange: Exchange | None = None,
        capturable: bool = False,
        donate_grads: bool = False,
    ) -> BoundStep | PhasedStep:
        """Resolve all pointers once, and compile the kernels that are not compiled yet.

        `params`, and every other sequence with an entry for each of them, can be any iterable, as `net.parameters()`.
        Without `grads`, each call reads `p.grad` of every parameter anew, and leaves out parameters where it is None:
        their counts do not advance. Without `state` the step starts from `init`; it holds its state as `step.state`.
        `inputs` are the further tensors that the spec reads, by name. `flags` are those that are set for each
        parameter. `ids` are the numbers by which the draws of parameters differ: 0, 1, ... unless given. In place of a
        gradient there may be a list of several, as many for every parameter: they are summed in that order.

        `pieces[i]` says of which tensor parameter i is a piece; its gradient, inputs and elementwise states are then
        those of the piece. All pieces of a tensor come to the same bits as the whole, wherever they are updated. Where
        `cut` is "blocks", `exchange` brings the partial results of the pieces that are not here, and every tensor must
        be bound, as an empty piece if nothing of it is here. If `exchange` raises, the step is left half done.

        With `capturable`, which is for GPUs, the step can be called while a graph is captured, and each replay of the
        graph is a step. Counts and states of kind host are then arrays on the GPU, and a hyper-parameter may be a
        tensor there with one float32 or float64, which every step reads; others are in a graph as they were. There is
        no row-sparse gradient and no `exchange`.

        With `donate_grads`, which is for the CPU, the gradients are given away: the step may keep in their memory what
        it would otherwise compute twice, as lamb and cautious_adamw do. Their values are undefined after it, and each
        step needs others: call `rebind`, or compute `p.grad` anew. The step raises RuntimeError if that was forgotten.
        They are dense, and of the dtype in which the step computes: float32 or float64.

        Of a spec with phases, the result is a `PhasedStep`, which has a method for each. Such a spec takes a row-sparse
        gradient as a dense one, and its steps are not capturable.

        Parameters, gradients, inputs and states must be C-contiguous tensors on the rule's platform (states of kind
        host, and counts: NumPy arrays). Gradients, inputs and elementwise states have their parameter's shape. Tensors
        that are written must be writable and share memory with no other. A gradient may be `RowSparse`: with `lazy`, if
        the rule is `lazy`, the other rows are left as they are; else they have a gradient of zero. TypeError and
        ValueError name the tensor. The step keeps all tensors alive, on the CPU but the gradients that a call found.

        A tensor of PyTorch that gets other memory, another shape or dtype later (`p.data = ...`, `module.to(...)`,
        `resize_`) is refused at the next call. For `backward`, a call changes tensors in place. While one thread calls
        a step, other threads, and its own exchange, get a RuntimeError.
        """
        objects = buffers.as_list(params, "params")
        own_pieces = self.pieces(pieces, len(objects))
        if donate_grads:
            check_donated(self.dtype, self.target.name)
        if self.spec.phases and capturable:
            raise ValueError(
                f"{self.spec.name}: a step has phases, and code of the caller between them: not capturable"
            )
        with without_collections():
            tensors = self.tensors(objects, "params")
            device = self.target.device(tensors, capturable=capturable)
            own_flags = arguments.per_param(self.spec, flags, len(objects))
            listed = None if grads is None else buffers.as_list(grads, "grads", len(objects))
            sparse = [isinstance(g, RowSparse) for g in listed or [None] * len(objects)]
            if state is None:
                state = self._initial_state(tensors, sparse, own_flags, own_pieces, device)
            lazy = lazy and not self.spec.phases
            by_row = [lazy and x for x in sparse]
            count = gradients_per_param(listed or [])
            own_ids = None if ids is None else list(ids)
            own_inputs = {name: buffers.as_list(x, f"inputs[{name!r}]") for name, x in (inputs or {}).items()}
            initial = state

            def bound(flags: list[dict[str, FlagValue]]) -> BoundStep:
                kernels = self.kernels(tensors, by_row, flags, own_pieces, count, donated=donate_grads)
                return BoundStep(
                    self,
                    device,
                    tensors,
                    kernels,
                    initial,
                    own_inputs,
                    grads=listed,
                    grad_sources=objects,
                    lazy=lazy,
                    flags=flags,
                    ids=own_ids,
                    pieces=own_pieces,
                    exchange=exchange,
                    donate_grads=donate_grads,
                )

            if not self.spec.phases:
                return bound(own_flags)
            return PhasedStep({p: bound([{**own, PHASE: p} for own in own_flags]) for p in self.spec.phases})

    def evaluate(
        self,
        params: Iterable[Any],
        state: State,
        pieces: Iterable[AnyPiece | None] | None = None,
        *,
        flags: Mapping[str, Iterable[Any]] | None = None,
    ) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none.

        `flags` are those that are set for each parameter, as for `bind`.
        """
        tensors = self.tensors(params, "params")
        own_flags = arguments.per_param(self.spec, flags, len(tensors))
        own_pieces = self.pieces(pieces, len(tensors))
        values = {**self.values, **arguments.check_lengths(self.spec, self.each, len(tensors))}
        return evaluation.evaluate(self, tensors, state, own_flags, own_pieces, values)

    # ------------------------------------------------------------ what parameters are bound with

    def tensors(self, objects: Iterable[Any], what: str) -> list[Tensor]:
        """The memory of parameters, which must have the rule's dtype."""
        found = [self.target.param(x, f"{what}[{i}]") for i, x in enumerate(buffers.as_list(objects, what))]
        for t in found:
            buffers.check_dtype(t, self.dtype)
        return found

    def pieces(self, pieces: Iterable[AnyPiece | None] | None, n: int) -> list[AnyPiece | None]:
        """The piece that each of n parameters is, None for a whole tensor."""
        found = [None] * n if pieces is None else buffers.as_list(pieces, "pieces", n)
        if len({type(x) for x in found if x is not None}) > 1:
            raise ValueError("pieces: some are a Piece and some a Box, whose partial results are exchanged differently")
        return found

    def decide(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue],
        values: Mapping[str, float | None] | None = None,
        *,
        sparse: bool = False,
    ) -> dict[str, FlagValue]:
        """All flags of a parameter, given those that are set for it."""
        chosen, own = {**self._chosen, **flags}, sizes(shape, self.spec.last_two)
        return arguments.resolve_flags(self.spec, values or self.values, chosen, own, sparse=sparse)

    def variant(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue] | None = None,
        *,
        sparse: bool = False,
        evaluate: bool = False,
        gradients: int = 1,
        by_row: bool = False,
        boxes: bool = False,
        donated: bool = False,
    ) -> Variant:
        """The variant that is compiled for a parameter of this shape."""
        decided = self.decide(shape, flags or {}, sparse=sparse)
        small = self._is_small(shape)
        storage: dict[str, str] = {}
        for s in self.spec.program(decided).states:
            if s.kind is Kind.ELEM and s.name in self.storage:
                wanted = self.storage[s.name]
                storage[s.name] = "float32" if (small or s.entries) and STORAGES[wanted].block else wanted
        scaled = self.scales_gradient and not evaluate
        own_sizes = {x: int(self.values[x] or 0) for s in self.spec.states for x in s.fixed if x in self.values}
        how = (evaluate, gradients, scaled, by_row, boxes, donated)
        return Variant(decided, self.dtype, self.master, storage, *how, own_sizes, self.matmul)

    def kernel(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue] | None = None,
        *,
        sparse: bool = False,
        evaluate: bool = False,
        gradients: int = 1,
        piece: AnyPiece | None = None,
        boxes: bool = False,
        donated: bool = False,
    ) -> LoadedKernel:
        """The kernel for a parameter of this shape, or for a piece of it; with `boxes`, one that updates these.

        With `donated`, it may write to gradients.
        """
        own = flags or {}
        by_row = self._restarts(shape, own, piece, sparse=sparse, evaluate=evaluate)
        how: dict[str, Any] = {"sparse": sparse, "evaluate": evaluate, "gradients": gradients}
        how |= {"by_row": by_row, "boxes": boxes, "donated": donated}
        key = (self._sort(shape), self._is_small(shape), *sorted(own.items()), *how.values())
        if key not in self._kernels:
            variant = self.variant(shape, own, **how)
            same = next((k for k in self._kernels.values() if k.variant == variant), None)
            self._kernels[key] = same or self.target.kernel(self.spec, variant)
        return self._kernels[key]

    def kernels(
        self,
        params: Sequence[Tensor],
        sparse: Sequence[bool],
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        gradients: int = 1,
        *,
        donated: bool = False,
    ) -> list[LoadedKernel]:
        """The kernel of each parameter; `sparse` are those that are updated row by row, if the rule can."""
        found = []
        has_boxes = any(isinstance(x, Box) for x in pieces)
        for param, is_sparse, own_flags, own_piece in zip(params, sparse, flags, pieces, strict=True):
            shape = param.shape if own_piece is None else own_piece.shape
            how: dict[str, Any] = {"gradients": gradients, "piece": own_piece, "donated": donated}
            try:
                boxes = has_boxes and self._needs_boxes(shape, own_flags, own_piece)
                kernel = self.kernel(shape, own_flags, sparse=is_sparse and not boxes, boxes=boxes, **how)
            except ValueError as error:
                raise ValueError(f"{param.name}, of shape {shape}: {error}") from error
            found.append(kernel if kernel.native.lazy else self.kernel(shape, own_flags, boxes=boxes, **how))
            if own_piece is not None:
                piece.check(own_piece, param, found[-1], blocks_by_row=self.blocks_by_row)
        return found

    def _needs_boxes(self, shape: Sequence[int], flags: Mapping[str, FlagValue], piece: AnyPiece | None) -> bool:
        """Whether a parameter, beside boxes, needs a kernel for these: an elementwise update needs none, unless it
        draws for elements that do not lie side by side."""
        if self._is_staged(shape, flags):
            raise ValueError(f"{self.spec.name}: products take whole matrices; keep such a parameter unsharded")
        kernel = self._built(shape, flags)
        return kernel.shard_granularity != "anywhere" or (
            isinstance(piece, Box) and not piece.is_contiguous and kernel.draws
        )

    def _sort(self, shape: Sequence[int]) -> int | tuple[int, ...]:
        """What of a shape chooses between flags."""
        return tuple(shape) if self._reads_sizes else len(shape)

    def _is_small(self, shape: Sequence[int]) -> bool:
        """Whether quantized states are float32 for this shape. Parameters that share values have one kernel for all."""
        if self._joins_params:
            return False
        short = self.blocks_by_row and row_length(shape, self.spec.last_two) < QUANT_BLOCK
        return short or math.prod(shape) < SMALLEST_QUANTIZED

    def _restarts(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue],
        piece: AnyPiece | None,
        *,
        sparse: bool,
        evaluate: bool,
    ) -> bool:
        """Whether the kernel has to know where rows begin because blocks of codes restart there, as they do not by
        themselves. One that can update some rows alone knows it anyway."""
        if not self.blocks_by_row or self._is_small(shape):
            return False
        if not any(STORAGES[x].block for x in self.storage.values()):
            return False
        shapes = [own for _, own in piece.order] if isinstance(piece, Box) else [shape]
        aligned = not any(row_length(x, self.spec.last_two) % QUANT_BLOCK for x in shapes)
        if aligned and not self._joins_params:
            return False
        staged = not evaluate and self._is_staged(shape, flags)
        return staged or not self._built(shape, flags, sparse=sparse, evaluate=evaluate).rows_independent

    def _is_staged(self, shape: Sequence[int], flags: Mapping[str, FlagValue]) -> bool:
        """Whether the update of a parameter of this shape is several kernels with calls between them."""
        return self._has_stages and self.spec.is_staged(self.decide(shape, flags))
