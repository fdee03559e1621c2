"""Pieces of tensors: bound and updated without the rest of the tensor. A step's `Layout` says which it has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, TypedDict

import numpy as np

from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import LoadedKernel
from optgen.ir import BLOCK
from optgen.ir.storage import QUANT_BLOCK

Exchange = Callable[[list[int], Array], None]
"""A function that fills in the partial results of the pieces that other processes have. Its arguments are the numbers
of parameters, and the partial results of one sweep over them.

Of instances of `Piece`, the results are float64. They have one row for each block of BLOCK elements of the whole
tensors, tensor by tensor. The rows of the pieces of this process are there.

Of instances of `Box`, the results are int64, the bits of float64 numbers, in one row. Each result has the same place in
all processes. The results of this process are at their places, and all other places are zero. So each process is to
have the sum of the arrays of all processes.
"""

Bounds = tuple[tuple[int, ...], tuple[int, ...]]
"""The offset and the shape of a box: of each axis, where it begins and how long it is."""


@dataclass(frozen=True)
class Piece:
    """The place of a one-dimensional array in a tensor of `shape`: its elements in C order, from number `offset` on."""

    offset: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """The place of an array in a tensor of `shape` that is cut into boxes: it is number `number` of `boxes`.

    `boxes` are those of all processes that update the tensor, each an offset and a shape. They are the same in every
    process, in any order. Those that are not empty make up the tensor, as a grid: every axis is cut into intervals.
    ValueError if they do not.
    """

    shape: tuple[int, ...]
    boxes: tuple[Bounds, ...]
    number: int
    order: list[Bounds] = field(init=False, repr=False, compare=False)
    """The boxes that have elements, by their offsets."""
    starts: list[int] = field(init=False, repr=False, compare=False)
    """Where each box of `order` begins if they stand one after another; at last, the number of all elements."""

    @classmethod
    def of_rows(cls, shape: Sequence[int], cuts: Sequence[int], number: int) -> Box:
        """The rows from `cuts[number]` to `cuts[number + 1]`; the first cut is 0, the last one the number of rows."""
        rest = tuple(shape[1:])
        zeros = (0,) * len(rest)
        return cls(
            tuple(shape),
            tuple(((begin, *zeros), (end - begin, *rest)) for begin, end in itertools.pairwise(cuts)),
            number,
        )

    def __post_init__(self) -> None:
        cells = [bounds for bounds in self.boxes if math.prod(bounds[1])]
        ranks = {len(x) for bounds in self.boxes for x in bounds}
        if not 0 <= self.number < len(self.boxes):
            raise ValueError(f"number: {self.number}, where there are {len(self.boxes)} boxes")
        axes = [sorted({(offset[k], own[k]) for offset, own in cells}) for k in range(len(self.shape))]
        fits = ranks == {len(self.shape)} and all(map(_are_all_of, axes, self.shape))
        if math.prod(self.shape) and not (fits and len(set(cells)) == len(cells) == math.prod(map(len, axes))):
            raise ValueError(
                f"boxes: not a grid over a tensor of shape {self.shape}, each box once (a copy of one is none): "
                f"{sorted(self.boxes)}"
            )
        object.__setattr__(self, "order", sorted(cells))
        starts = [0, *itertools.accumulate(math.prod(own) for _, own in self.order)]
        object.__setattr__(self, "starts", starts)

    @property
    def bounds(self) -> Bounds:
        """The offset and the shape of the array."""
        return self.boxes[self.number]

    @property
    def size(self) -> int:
        """The number of elements of the array."""
        return math.prod(self.bounds[1])

    @property
    def first(self) -> int:
        """Where the array begins in that order; 0 if it is empty."""
        return self.starts[self.order.index(self.bounds)] if self.size else 0

    def divides(self, axes: Sequence[int]) -> bool:
        """Whether some box has a part of these axes only."""
        return any(own[k] != self.shape[k] for _, own in self.boxes for k in axes)

    def runs(self) -> tuple[int, Array]:
        """The runs of elements that lie side by side in the tensor: their length, which is the same for all, and the
        number of the first element of each (int64). An empty array is one run."""
        offset, own = self.bounds
        strides = [math.prod(self.shape[k + 1 :]) for k in range(len(own))]
        if not self.size:
            origin = sum(map(math.prod, zip(offset, strides, strict=True)))
            return max(math.prod(self.shape), 1), np.array([origin], np.int64)
        cut = max((k for k in range(len(own)) if own[k] != self.shape[k]), default=0)
        origins = np.array([sum(map(math.prod, zip(offset[cut:], strides[cut:], strict=True)))], np.int64)
        for k in reversed(range(cut)):
            starts = (offset[k] + np.arange(own[k])) * strides[k]
            origins = (starts[:, None] + origins).reshape(-1)
        return math.prod(own[cut:]), origins

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements of the array lie side by side in the tensor."""
        return len(self.runs()[1]) == 1


AnyPiece = Piece | Box


class LayoutFields(TypedDict, total=False):
    """The fields of a Layout, as `bind` also takes them one by one."""

    pieces: Iterable[AnyPiece | None] | None
    exchange: Exchange | None
    ids: Iterable[int] | None


@dataclass(frozen=True)
class Layout:
    """Where the parameters of a step are among all that are trained.

    `pieces[i]` says of which tensor parameter i is a piece, or None; without `pieces`, all are whole tensors. A piece's
    gradient, inputs and elementwise states are those of the piece. All pieces of a tensor come to the same bits as the
    whole, wherever they are updated. Where `cut` is "blocks", `exchange` brings the partial results of the pieces that
    are not here, and every tensor must be bound, as an empty piece if nothing of it is here. If `exchange` raises, the
    step is left half done. `ids` are the numbers by which the draws of parameters differ: 0, 1, ... unless given.
    TypeError for a field of another type.
    """

    pieces: Iterable[AnyPiece | None] | None = None
    exchange: Exchange | None = None
    ids: Iterable[int] | None = None

    def __post_init__(self) -> None:
        # What is given is read once, as a layout may serve several steps.
        object.__setattr__(self, "pieces", _listed("pieces", self.pieces, Piece | Box | None, "a Piece, a Box or None"))
        object.__setattr__(self, "ids", _listed("ids", self.ids, SupportsIndex, "a whole number"))
        if self.exchange is not None and not callable(self.exchange):
            raise TypeError(f"exchange must be a function, not {self.exchange!r}")


def _listed(name: str, given: Any, types: Any, what: str) -> tuple[Any, ...] | None:
    """A field with one item for each parameter; TypeError for an item of another type."""
    if given is None:
        return None
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list, with {what} for each parameter, not {given!r}")
    items = tuple(given)
    for i, x in enumerate(items):
        if not isinstance(x, types):
            raise TypeError(f"{name}[{i}] must be {what}, not {x!r}")
    return items


WHOLE = Layout()


def laid_out(layout: Layout | None, fields: LayoutFields) -> Layout:
    """The layout that `bind` is given as a value, or as its fields. TypeError if it is given both ways, or if there is
    no such field."""
    if layout is not None and not isinstance(layout, Layout):
        raise TypeError(f"layout must be an optgen.Layout, such as Layout(pieces=[...]), not {layout!r}")
    if not fields:
        return layout or WHOLE
    if unknown := fields.keys() - LayoutFields.__annotations__:
        raise TypeError(f"bind() got an unexpected keyword argument '{min(unknown)}'")
    if layout is not None:
        own = ", ".join(f"{name}=..." for name in fields)
        raise TypeError(f"bind: {' and '.join(fields)} beside a layout, which has the same; write Layout({own})")
    return Layout(**fields)


def _are_all_of(intervals: Sequence[tuple[int, int]], length: int) -> bool:
    """Whether intervals, each given by its beginning and its length, follow one another from 0 to `length`."""
    ends = [0, *(begin + own for begin, own in intervals)]
    return ends[-1] == length and all(end == begin for end, (begin, _) in zip(ends, intervals, strict=False))


def check(piece: AnyPiece, t: Tensor, kernel: LoadedKernel, *, blocks_by_row: bool) -> None:
    """ValueError if the array is no such piece, or if the kernel cannot update pieces."""
    if isinstance(piece, Box):
        _check_box(piece, t, kernel, blocks_by_row)
        return
    size = math.prod(piece.shape)
    end = piece.offset + t.size
    if len(t.shape) != 1 or not 0 <= piece.offset <= end <= size:
        raise ValueError(
            f"{t.name}: a piece is one-dimensional and within its tensor, but {t.shape} from element {piece.offset} of "
            f"{piece.shape} is not"
        )
    if t.size and kernel.native.cut not in ("anywhere", "blocks"):
        raise ValueError(f"{t.name}: {kernel.native.symbol} updates whole tensors only, which come in their own shape")
    if t.size and (piece.offset % BLOCK or (end % BLOCK and end != size)):
        raise ValueError(f"{t.name}: a tensor is cut at multiples of {BLOCK} elements, not at {piece.offset} and {end}")


def _check_box(box: Box, t: Tensor, kernel: LoadedKernel, blocks_by_row: bool) -> None:
    offset, own = box.bounds
    if t.shape != own:
        raise ValueError(f"{t.name}: shape {t.shape}, but its box, at {offset} of {box.shape}, has {own}")
    has_lines = kernel.native.cut not in ("anywhere", "blocks")
    if has_lines and kernel.native.last_two and len(own) > 2 and box.divides(range(len(own) - 2, len(own))):
        raise ValueError(
            f"{t.name}: {kernel.native.symbol} computes with rows and columns of the last two axes, and a tensor of "
            f"shape {box.shape} is cut in other axes only, so that its matrices stay whole"
        )
    if kernel.scales and not blocks_by_row and any(start % QUANT_BLOCK for start in box.starts[:-1]):
        raise ValueError(
            f"{t.name}: the blocks of codes of its states run on from row to row, so it is cut at multiples of "
            f"{QUANT_BLOCK} elements only; make the rule with blocks_by_row=True"
        )


def is_left_out(piece: AnyPiece | None, t: Tensor, kernel: LoadedKernel) -> bool:
    """Whether a step leaves a piece out. It does if the piece is empty and its kernel updates whole tensors only:
    another process then has the tensor."""
    return isinstance(piece, Piece) and not t.size and kernel.native.cut not in ("anywhere", "blocks")
