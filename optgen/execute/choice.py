"""The kernels of an optimizer: chosen for each parameter, and compiled when one is needed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, get_args

from optgen import arguments, groups, pipeline
from optgen.arguments import Arguments
from optgen.axes import Kind
from optgen.cache_folder import VariableError
from optgen.execute import piece
from optgen.execute.buffers import Tensor
from optgen.execute.cpu.device import Cpu
from optgen.execute.kernel import LoadedKernel, kept
from optgen.execute.piece import AnyPiece, Box
from optgen.execute.protocols import Platform
from optgen.execute.storage import row_length
from optgen.ir import Buffer, Kernel, Reduce, ReduceOverParams, ShardGranularity, Variant
from optgen.ir.cost import Cost, cost
from optgen.ir.storage import QUANT_BLOCK, STORAGES
from optgen.model import PHASE, FlagValue, Optimizer, StateDecl
from optgen.precision import Precision
from optgen.shapes import sizes

SMALLEST_QUANTIZED = 4096
"""Quantized states of parameters with fewer elements are float32 instead, as users of such optimizers know it, unless
the spec sums over parameters."""
SHORTEST_RESTARTED = 16
"""Where the blocks of codes restart at every row, a row of fewer elements would be mostly its scale: its states are
float32."""
Restarts = bool | Literal["long"]
"""At which rows the blocks of codes restart: at all, at none, or at those of 256 elements and more."""
FLOPS_OF_AN_ELEMENT = 256
"""So many operations of products take the time in which an elementwise update reads and writes one element: 28 bytes
for adam, of the tens of gigabytes in a second that memory has where products have some hundred GFLOP/s."""
EXAMPLE_SHAPE = (4096, 4096)
"""The parameter that a rule's properties are about: a large matrix."""


class KernelChoice:
    """The variants of an optimizer for parameters of one dtype, and their kernels.

    `storages` are those of the precision by the names of states. `target` is the platform that they are compiled for,
    by default the CPU. With `scales_gradient`, steps multiply
    every gradient by `step.gradient_factor` as they read it. With `blocks_by_row`, the blocks of quantized states
    restart at each row, so that a matrix can be cut between any two rows; those of parameters with rows of less than
    SHORTEST_RESTARTED elements are float32 instead, unless the spec sums over parameters. With "long" they restart at
    rows of 256 elements and more, and run on from one shorter row to the next. A variant is compiled once, when a
    parameter needs it.
    """

    def __init__(
        self,
        spec: Optimizer,
        args: Arguments,
        precision: Precision,
        storages: Mapping[str, str],
        *,
        target: Platform | None = None,
        blocks_by_row: Restarts = False,
        scales_gradient: bool = False,
    ) -> None:
        self.spec = spec
        self.values = args.values
        self.each = args.each
        self.flags = args.flags
        self.dtype = precision.dtype
        self.master = precision.master
        self.weights = precision.weights
        self.storage = dict(storages)
        self.blocks_by_row = blocks_by_row
        self.scales_gradient = scales_gradient
        self.matmul = precision.matmul
        self._chosen = args.chosen
        self._joins_params = spec.joins_params
        self._reads_sizes, self._has_stages, self._groups = spec.reads_sizes, spec.has_stages, spec.groups
        self.target: Platform = target or Cpu()
        self._kernels: dict[tuple[Any, ...], LoadedKernel] = {}  # by what chooses a variant
        self._of_variants: dict[str, LoadedKernel] = {}
        self._checked: set[tuple[Any, ...]] = set()  # shapes and flags whose matrices are as functions take them
        self._irs: dict[tuple[Any, ...], Kernel] = {}
        self._flops: dict[tuple[Any, ...], float] = {}
        self.target.check_dtypes({self.dtype, *self.storage.values()})

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles are without loaded kernels, whose addresses belong to this process: they load anew."""
        return self.__dict__ | {"_kernels": {}, "_of_variants": {}}

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

    def evaluates_pieces(self, shape: Sequence[int], flags: Mapping[str, FlagValue]) -> bool:
        """Whether the weights to evaluate with of a piece of a parameter of this shape follow from that piece alone."""
        kernel = self._built(shape, flags, evaluate=True)
        reduces = any(isinstance(i.op, Reduce | ReduceOverParams) for i in kernel.instrs())
        return not (reduces or kernel.kinds & {Kind.ROW, Kind.COL})

    def flops(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> float:
        """The floating-point operations of products and factorizations in an update of a parameter of this shape, the
        mean of many updates; 0 where there are none."""
        key = (tuple(shape), *sorted((flags or {}).items()))
        if key not in self._flops:
            staged = self._is_staged(shape, flags or {})
            self._flops[key] = pipeline.stage_flops(*self._sized(shape, flags)) if staged else 0.0
        return self._flops[key]

    def work(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> float:
        """The work of an update of a parameter of this shape, counted in elements: an elementwise update of so many
        takes as long."""
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

    @property
    def lazy(self) -> bool:
        """Whether a row-sparse gradient of a matrix updates only its rows, as no value depends on several rows."""
        if self.spec.phases or self.spec.refuses_sparse:
            return False
        return self.kernel(EXAMPLE_SHAPE, sparse=True).native.lazy

    def restarts_at_rows(self, shape: Sequence[int]) -> bool:
        """Whether the blocks of codes in the states of a parameter of this shape restart at each row."""
        if self.blocks_by_row == "long":
            return row_length(shape, self.spec.last_two) >= QUANT_BLOCK
        return self.blocks_by_row

    def states_of(self, shape: Sequence[int]) -> tuple[StateDecl, ...]:
        """The states of a parameter of this shape."""
        return self.spec.states_of(self.decide(shape, {}))

    def kept(self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None = None) -> list[Buffer]:
        """The buffers that are kept between updates of a parameter of this shape. No kernel is compiled for it."""
        from optgen.ir.buffers import buffers  # which a kernel in the cache does not need

        variant = self.variant(shape, flags)
        return kept(buffers(self.spec, variant, self.spec.program(variant.flags)), variant)

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
        storage = arguments.stored(self.spec, decided, self.storage, small=self._is_small(shape))
        scaled = self.scales_gradient and not evaluate
        whole = (x for x in self.spec.fixed if x in self.values and self.spec.all_params[x].is_int)
        own_sizes = {x: int(self.values[x] or 0) for x in whole}
        own_sizes |= arguments.lengths(self.spec, decided, self.values, shape) if self.spec.dims else {}
        how = (evaluate, gradients, scaled, by_row, boxes, donated)
        return Variant(decided, self.dtype, self.master, storage, *how, own_sizes, self.matmul, self.weights)

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
        apart: bool = False,
    ) -> LoadedKernel:
        """The kernel for a parameter of this shape, or for a piece of it; with `boxes`, one that updates these.

        With `donated`, it may write to gradients. `apart`: it shares values with parameters of other variants.
        """
        own = flags or {}
        if self._groups and not evaluate:
            self._check_groups(shape, own)
        by_row = self._restarts(shape, own, piece, sparse=sparse, evaluate=evaluate)
        how: dict[str, Any] = {"sparse": sparse, "evaluate": evaluate, "gradients": gradients}
        how |= {"by_row": by_row, "boxes": boxes, "donated": donated}
        key = (self._flag_key(shape), self._is_small(shape), *sorted(own.items()), *how.values(), apart)
        found = self._kernels.get(key)
        if found is None:
            variant = self.variant(shape, own, **how)
            name = json.dumps([asdict(variant), apart], sort_keys=True)
            found = self._of_variants.get(name)
            if found is None:
                # Of threads that load it at once, all take that of the first: parameters that share values, and the
                # owners of boxes, are grouped by their kernel.
                found = self._of_variants.setdefault(name, self.target.kernel(self.spec, variant, apart=apart))
            self._kernels[key] = found
        if self.spec.has_products and not (sparse or evaluate):
            self._check_matrices(found, tuple(shape), own)
        return found

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
        given = params, sparse, flags, pieces, gradients
        found = self._chosen_kernels(*given, donated=donated)
        if self._joins_params and len(set(found)) > 1 and not self.spec.joins_apart:
            return self._chosen_kernels(*given, donated=donated, apart=True)
        return found

    def _chosen_kernels(
        self,
        params: Sequence[Tensor],
        sparse: Sequence[bool],
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        gradients: int,
        *,
        donated: bool,
        apart: bool = False,
    ) -> list[LoadedKernel]:
        found = []
        has_boxes = any(isinstance(x, Box) for x in pieces)
        for param, is_sparse, own_flags, own_piece in zip(params, sparse, flags, pieces, strict=True):
            shape = param.shape if own_piece is None else own_piece.shape
            how: dict[str, Any] = {"gradients": gradients, "piece": own_piece, "donated": donated, "apart": apart}
            try:
                boxes = has_boxes and self._needs_boxes(shape, own_flags, own_piece)
                kernel = self.kernel(shape, own_flags, sparse=is_sparse and not boxes, boxes=boxes, **how)
            except VariableError:
                raise
            except ValueError as error:
                raise ValueError(f"{param.name}, of shape {shape}: {error}") from error
            found.append(kernel if kernel.native.lazy else self.kernel(shape, own_flags, boxes=boxes, **how))
            if own_piece is not None:
                piece.check(own_piece, param, found[-1], blocks_by_row=self.restarts_at_rows(shape))
        return found

    def _sized(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue] | None
    ) -> tuple[Optimizer, Variant, Mapping[str, float | None]]:
        """The spec, its variant for a shape, and its params and sizes."""
        variant = self.variant(shape, flags)
        own = groups.sizes(self.spec.program(variant.flags).groups, shape, self.values)
        return self.spec, variant, {**self.values, **sizes(shape, self.spec.last_two), **own, **variant.sizes}

    def _built(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue], *, sparse: bool = False, evaluate: bool = False
    ) -> Kernel:
        """The kernel IR for whole parameters of this shape."""
        key = (self._flag_key(shape), self._is_small(shape), *sorted(flags.items()), sparse, evaluate)
        if key not in self._irs:
            variant = self.variant(shape, flags, sparse=sparse, evaluate=evaluate)
            self._irs[key] = pipeline.build(self.spec, variant)
        return self._irs[key]

    def _needs_boxes(self, shape: Sequence[int], flags: Mapping[str, FlagValue], piece: AnyPiece | None) -> bool:
        """Whether a parameter needs a kernel for boxes, where some parameters of the step are boxes. An elementwise
        update needs none, unless it draws random numbers and the elements of the box do not lie side by side."""
        if self._is_staged(shape, flags):
            what = "products take whole matrices" if self.spec.has_products else "groups are of whole tensors"
            raise ValueError(f"{self.spec.name}: {what}; keep such a parameter unsharded")
        kernel = self._built(shape, flags)
        return kernel.shard_granularity != "anywhere" or (
            isinstance(piece, Box) and not piece.is_contiguous and kernel.draws
        )

    def _check_matrices(self, kernel: LoadedKernel, shape: tuple[int, ...], flags: Mapping[str, FlagValue]) -> None:
        """ValueError for a parameter whose size gives a function of matrices one that it does not take."""
        key = (shape, *sorted(flags.items()))
        if key not in self._checked:
            kernel.check(self._sized(shape, flags)[2])
            self._checked.add(key)

    def _check_groups(self, shape: Sequence[int], flags: Mapping[str, FlagValue]) -> None:
        """ValueError if a parameter cannot be divided into the groups of rows or columns that its equations name."""
        groups.sizes(self.spec.program(self.decide(shape, flags)).groups, shape, self.values)

    def _flag_key(self, shape: Sequence[int]) -> int | tuple[int, ...]:
        """What the flags of a parameter are decided by: its shape where conditions read sizes, else its rank alone."""
        return tuple(shape) if self._reads_sizes else len(shape)

    def without_codes(self, shape: Sequence[int]) -> str:
        """Why states that were to be codes are float32 for this shape; empty if they are codes. Parameters that share
        values have one kernel for all."""
        if self._joins_params:
            return ""
        if math.prod(shape) < SMALLEST_QUANTIZED:
            return f"less than {SMALLEST_QUANTIZED} elements"
        short = self.blocks_by_row is True and row_length(shape, self.spec.last_two) < SHORTEST_RESTARTED
        return f"rows of less than {SHORTEST_RESTARTED} elements" if short else ""

    def _is_small(self, shape: Sequence[int]) -> bool:
        """Whether quantized states are float32 for this shape."""
        return bool(self.without_codes(shape))

    def _restarts(
        self,
        shape: Sequence[int],
        flags: Mapping[str, FlagValue],
        piece: AnyPiece | None,
        *,
        sparse: bool,
        evaluate: bool,
    ) -> bool:
        """Whether the kernel has to be told where rows begin. It has to where blocks of codes restart at each row, if a
        row is no whole number of blocks, or if parameters of several shapes share values and so have one kernel. A
        kernel that can update some rows alone is told anyway."""
        if not (self.restarts_at_rows(shape) or (self.blocks_by_row and self._joins_params)) or self._is_small(shape):
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
