"""Boxes of tensors in a step on the CPU: their places in the area of the kernel, and the exchange of what is there.

An exchange lays the numbers of all tensors side by side in one buffer. Each number has one writer, and its place
follows from the shapes and boxes alone, so that it is the same in all processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from optgen.backends.step_struct import BOX_FIELD_INDEX, BOX_FIELDS
from optgen.execute import buffers
from optgen.execute.buffers import Array
from optgen.execute.cpu.fold import fold_blocks, fold_rows
from optgen.execute.piece import Box, Exchange
from optgen.ir import BLOCK, IDENTITY, ROW_BLOCK, ReductionLevel
from optgen.ir.ops import ReduceOp
from optgen.shapes import matrix_view


def _blocks(count: int, block: int = BLOCK) -> int:
    return -(-count // block)


class Areas:
    """The area of a kernel: `numbers`. `records` is what the kernel reads of each tensor (BOX_FIELDS).

    A tensor that was not cut counts as a grid of one box. With `last_two`, tensors are batches of matrices of their
    last two axes, which boxes do not cut if there are several.
    """

    def __init__(self, boxes: Sequence[Box], levels: Sequence[ReductionLevel], last_two: bool) -> None:
        self.boxes, self.last_two = boxes, last_two
        sweeps = [x for x in levels if x.kind == "sweep"]
        self.totals, self.rows, self.columns = (
            max((len(getattr(x, scope)) for x in sweeps), default=0) for scope in ("all", "row", "col")
        )
        self.values = max((len(x.all + x.matrix) for x in levels if x.kind != "sweep"), default=0)
        self.stride = max(self.totals, self.rows)
        self._runs = [box.runs() for box in boxes]
        self.records = np.zeros((len(boxes), len(BOX_FIELDS)), np.int64)
        end = 0
        for record, box, (run, origins) in zip(self.records, boxes, self._runs, strict=True):
            known = self._known(box) | {"run": run, "origins": origins.ctypes.data}
            for name, x in known.items():
                record[BOX_FIELD_INDEX[name]] = x
            for name, size in self._sizes(box, known).items():
                record[BOX_FIELD_INDEX[name]] = end
                end += size
        self.numbers = buffers.aligned((end,), "float64")

    def _known(self, box: Box) -> dict[str, int]:
        offset, own = box.bounds
        whole = box.starts[-1]
        matrices, height, width = matrix_view(box.shape, self.last_two)
        own_matrices, rows, cols = matrix_view(own, self.last_two)
        if not whole:  # rows without elements are not updated
            height, rows = 0, 0
        return {
            "first": box.first,
            "whole": whole,
            "first_row": offset[0] if offset and box.size and not self.is_batch(box) else 0,
            "own_rows": own_matrices * rows,
            "own_cols": cols,
            "own_matrices": own_matrices,
            "rows": matrices * height,
            "cols": matrices * width,
            "height": height,
            "width": width,
        }

    def is_batch(self, box: Box) -> bool:
        """Whether a box has matrices that are whole, as the last two of more axes."""
        return self.last_two and len(box.shape) > 2

    def row_axes(self, box: Box) -> tuple[int, ...]:
        """The axes that number rows."""
        return tuple(range(len(box.shape)))[: -1 if self.is_batch(box) else 1]

    def column_axes(self, box: Box) -> tuple[int, ...]:
        """The axes that number columns; those of different matrices are different ones."""
        axes = tuple(range(len(box.shape)))
        return (*axes[:-2], axes[-1]) if self.is_batch(box) else axes[1:]

    def _sizes(self, box: Box, known: dict[str, int]) -> dict[str, int]:
        rows, cols = known["own_rows"], known["own_cols"]
        terms, lines = self.totals * BLOCK, self.columns * cols
        return {
            "partials": _blocks(known["whole"]) * self.stride,
            "head": terms if known["first"] % BLOCK else 0,
            "tail": terms if (known["first"] + rows * cols) % BLOCK else 0,
            "lines": known["own_matrices"] * _blocks(known["height"], ROW_BLOCK) * lines,
            "head_rows": ROW_BLOCK * lines if known["first_row"] % ROW_BLOCK else 0,
            "tail_rows": ROW_BLOCK * lines if (known["first_row"] + rows) % ROW_BLOCK else 0,
            "row_sums": self.rows * rows,
            "values": self.values * max(known["rows"], known["cols"]),
            "scratch": _blocks(known["rows"]) + _blocks(known["cols"]) if self.values else 0,
        }

    def number(self, i: int, name: str) -> int:
        """What the record of tensor i has."""
        return int(self.records[i, BOX_FIELD_INDEX[name]])

    def view(self, i: int, name: str, begin: int, count: int, step: int = 1) -> Array:
        """`count` numbers of a place of tensor i, from `begin` on, every `step`-th one."""
        start = self.number(i, name) + begin
        return self.numbers[start : start + count * step : step]


@dataclass
class _Traffic:
    """The exchange of a level: `size` numbers in a buffer.

    Numbers are copied to the buffer and back: `out` and `into` are pairs of a part of the buffer, by its beginning, and
    of a part of the area. The rest is folded from parts of the buffer: `blocks` from the terms of blocks, by operation,
    `lines` along their first axis.
    """

    size: int = 0
    out: list[tuple[_Part, Array]] = field(default_factory=list)
    into: list[tuple[_Part, Array]] = field(default_factory=list)
    blocks: dict[ReduceOp, list[tuple[_Part, Array]]] = field(default_factory=dict)
    lines: list[tuple[ReduceOp, _Part, Array]] = field(default_factory=list)

    def take(self, *shape: int) -> _Part:
        """A new part of the buffer."""
        part = _Part(self.size, shape)
        self.size += math.prod(shape)
        return part


@dataclass(frozen=True)
class _Part:
    """A part of a buffer: the elements `where` of the array that begins at number `begin`."""

    begin: int
    shape: tuple[int, ...]
    where: tuple[slice | int, ...] = ()

    def __getitem__(self, where: tuple[slice | int, ...]) -> _Part:
        return _Part(self.begin, self.shape, where)

    def of(self, buffer: Array) -> Array:
        return buffer[self.begin : self.begin + math.prod(self.shape)].reshape(self.shape)[self.where]


class BoxExchange:
    """The exchanges of a step, in order: those of a kernel's levels over the tensors `members`.

    `exchange` is the caller's. It is not called where nothing is to be exchanged.
    """

    def __init__(
        self, areas: Areas, levels: Sequence[ReductionLevel], members: Sequence[int], exchange: Exchange | None
    ) -> None:
        self._members, self._exchange = members, exchange
        self._levels = [_traffic(areas, level) for level in levels]
        self._buffer = np.zeros(max((x.size for x in self._levels), default=0))

    @property
    def is_needed(self) -> bool:
        """Whether boxes are elsewhere whose results are needed."""
        return bool(self._buffer.size)

    def run(self, level: int) -> None:
        """Exchange the results of a level, and fold what is folded from several boxes."""
        traffic = self._levels[level]
        if not traffic.size or self._exchange is None:
            return
        buffer = self._buffer[: traffic.size]
        buffer.fill(0)
        for part, source in traffic.out:
            part.of(buffer)[...] = source
        self._exchange(list(self._members), buffer.view(np.int64))
        for part, to in traffic.into:
            to[...] = part.of(buffer)
        with np.errstate(all="ignore"):
            for op, blocks in traffic.blocks.items():
                terms = np.full((len(blocks), BLOCK), IDENTITY[op])
                for row, (part, _) in zip(terms, blocks, strict=True):
                    row[: part.shape[0]] = part.of(buffer)
                for total, (_, to) in zip(fold_blocks(op, terms), blocks, strict=True):
                    to[...] = total
            for op, part, to in traffic.lines:
                to[...] = fold_rows(op, part.of(buffer))


def _traffic(areas: Areas, level: ReductionLevel) -> _Traffic:
    """What a level exchanges, of the tensors whose boxes need it."""
    traffic = _Traffic()
    for i, box in enumerate(areas.boxes):
        if len(box.boxes) < 2 or not box.starts[-1]:
            continue
        if level.kind != "sweep":
            _values(traffic, areas, i, box, level)
            continue
        for r, op in enumerate(level.all):
            _blocks_of(traffic, areas, i, box, r, op)
        if areas.is_batch(box):
            continue  # its rows and columns are whole
        for r, op in enumerate(level.row):
            _row_sums(traffic, areas, i, box, r, op)
        for r, op in enumerate(level.col):
            _column_sums(traffic, areas, i, box, r, op)
    return traffic


def _divided(cuts: Sequence[int], length: int, block: int) -> Iterator[tuple[int, int, int]]:
    """The blocks that cuts divide: their numbers, where they begin, and where they end."""
    for k in sorted({cut // block for cut in cuts if cut % block and cut != length}):
        yield k, k * block, min((k + 1) * block, length)


def _whole_blocks(begin: int, end: int, length: int, block: int) -> slice:
    """The blocks that lie between two cuts."""
    first = _blocks(begin, block)
    return slice(first, max(first, _blocks(end, block) if end == length else end // block))


def _blocks_of(traffic: _Traffic, areas: Areas, i: int, box: Box, r: int, op: ReduceOp) -> None:
    """A reduction over tensor i: the partial results of its blocks, and the terms of those that boxes divide."""
    whole, begin = areas.number(i, "whole"), box.first
    end, count, stride = begin + box.size, _blocks(whole), areas.stride
    partials = traffic.take(count)
    results = areas.view(i, "partials", r, count, stride)
    traffic.into.append((partials, results))
    if begin < end:
        own = _whole_blocks(begin, end, whole, BLOCK)
        traffic.out.append((partials[own,], results[own]))
    for k, low, high in _divided(box.starts, whole, BLOCK):
        terms = traffic.take(high - low)
        traffic.blocks.setdefault(op, []).append((terms, results[k : k + 1]))
        first, last = max(begin, low), min(end, high)
        if first < last:
            place = "head" if low < begin else "tail"
            source = areas.view(i, place, r * BLOCK + first - low, last - first)
            traffic.out.append((terms[first - low : last - low,], source))


def _column_sums(traffic: _Traffic, areas: Areas, i: int, box: Box, r: int, op: ReduceOp) -> None:
    """A reduction of columns: the results of ROW_BLOCK rows each, and the terms of those that boxes divide."""
    if not box.divides(areas.row_axes(box)):
        return
    offset, own = box.bounds
    rest, rows, columns = box.shape[1:], box.shape[0], math.prod(own[1:])
    begin, end = offset[0], offset[0] + own[0]
    axes = tuple(slice(start, start + length) for start, length in zip(offset[1:], own[1:], strict=True))
    count = _blocks(rows, ROW_BLOCK)
    lines = traffic.take(count, *rest)
    results = areas.view(i, "lines", r * count * columns, count * columns).reshape(count, *own[1:])
    traffic.into.append((lines[:, *axes], results))
    if box.size:
        whole = _whole_blocks(begin, end, rows, ROW_BLOCK)
        traffic.out.append((lines[whole, *axes], results[whole]))
    for k, low, high in _divided([start[0] for start, _ in box.order], rows, ROW_BLOCK):
        terms = traffic.take(high - low, *rest)
        traffic.lines.append((op, terms[:, *axes], results[k : k + 1]))
        first, last = max(begin, low), min(end, high)
        if first < last and box.size:
            place = "head_rows" if low < begin else "tail_rows"
            source = areas.view(i, place, (r * ROW_BLOCK + first - low) * columns, (last - first) * columns)
            traffic.out.append((terms[first - low : last - low, *axes], source.reshape(last - first, *own[1:])))


def _row_sums(traffic: _Traffic, areas: Areas, i: int, box: Box, r: int, op: ReduceOp) -> None:
    """A reduction of rows of which boxes have parts: the results of the parts, folded in the order of the boxes."""
    if not box.divides(areas.column_axes(box)):
        return
    offset, own = box.bounds
    results = areas.view(i, "row_sums", r * own[0], own[0])
    for begin, length in sorted({(o[0], x[0]) for o, x in box.order}):
        cells = [bounds for bounds in box.order if bounds[0][0] == begin]
        parts = traffic.take(len(cells), length)
        if box.bounds in cells:
            k = cells.index(box.bounds)
            traffic.out.append((parts[k,], results))
        if (begin, length) == (offset[0], own[0]):
            traffic.lines.append((op, parts, results))


def _values(traffic: _Traffic, areas: Areas, i: int, box: Box, level: ReductionLevel) -> None:
    """Row or column values of all boxes, to be reduced; boxes that have the same ones leave it to the first. Those of
    a matrix are reduced where it is, if it is whole."""
    offset, own = box.bounds
    axes = areas.row_axes(box) if level.kind == "row" else areas.column_axes(box)
    if not box.divides(axes):
        return
    is_first = not any(begin for k, begin in enumerate(offset) if k not in axes)
    shape, own_shape = (tuple(lengths[k] for k in axes) for lengths in (box.shape, own))
    where = tuple(slice(offset[k], offset[k] + own[k]) for k in axes)
    length, own_length = math.prod(shape), math.prod(own_shape)
    for k in range(len(level.all if areas.is_batch(box) else level.all + level.matrix)):
        values = traffic.take(*shape)
        results = areas.view(i, "values", k * length, length)
        if box.size and is_first:
            traffic.out.append((values[where], results[:own_length].reshape(own_shape)))
        traffic.into.append((values, results.reshape(shape)))
