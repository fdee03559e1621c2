"""How the buffers of a kernel lie in memory: their dtypes, their shapes, and codes in blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optgen import groups
from optgen.axes import Kind, length_of, shown
from optgen.execute import buffers
from optgen.execute.buffers import Array
from optgen.ir import Buffer
from optgen.ir.storage import packing
from optgen.shapes import matrix_view

_SLAB = 4096
"""Blocks that are encoded at once: what is between their numbers and their codes takes some 50 times their memory."""


def dtype_of(buffer: Buffer) -> str:
    """The dtype of a buffer's array."""
    return buffer.format.array_dtype


def shape_of(buffer: Buffer, shape: Sequence[int], by_row: bool, last_two: bool = False) -> tuple[int, ...]:
    """The shape of a buffer's array, for a parameter of this shape; `by_row`: its blocks of codes restart at each row.

    `last_two`: the parameter is a batch of matrices. Their rows, or columns, are one array. Codes that share bytes lie
    as scales do: in one row, or in one for each row where blocks restart. The entries of a history are along a first
    axis.
    """
    if buffer.entries:
        return (int(buffer.entries), *shape_of(replace(buffer, entries=0), shape, by_row, last_two))
    if buffer.is_scale or buffer.format.is_packed:
        rows, cols = code_rows(shape, by_row, last_two)
        items = -(-cols // (buffer.block or packing.CODES_PER_BYTE))
        return (rows, items) if by_row else (items,)
    if buffer.kind is Kind.ELEM:
        return tuple(shape)
    if buffer.kind is Kind.MATRIX:
        return _matrix_shape(buffer, shape, last_two)
    if buffer.kind is Kind.ROW or buffer.kind is Kind.COL:
        matrices, rows, cols = matrix_view(shape, last_two)
        return (matrices * (rows if buffer.kind is Kind.ROW else cols),)
    return ()


LARGEST_STATE = 1 << 33
"""Bytes of a state of dimensions of its own that are refused: it is square, and its parameter an embedding."""


def _matrix_shape(buffer: Buffer, shape: Sequence[int], last_two: bool) -> tuple[int, ...]:
    """The shape of a state of kind matrix. ValueError if it takes more than LARGEST_STATE bytes, or if the parameter
    has no such groups."""
    matrices, rows, cols = matrix_view(shape, last_two)
    lengths = {"rows": rows, "cols": cols}
    lengths |= groups.sizes([buffer.group] if buffer.group is not None else [], shape, {})
    own = tuple(length_of(axis, lengths) for axis in buffer.axes)
    nbytes = matrices * math.prod(own) * buffer.format.bits // 8
    if nbytes > LARGEST_STATE:
        dims = shown(buffer.axes)
        raise ValueError(
            f"state '{buffer.name}' is {dims}, which is {' x '.join(map(str, own))} and takes {nbytes:,} bytes; guard "
            f"it and its equations by a flag, as in 'flag small = {buffer.axes[0]} <= 8192', and write what large "
            "parameters have instead"
        )
    return (matrices, *own) if last_two and len(shape) > 2 else own


def code_rows(shape: Sequence[int], by_row: bool, last_two: bool = False) -> tuple[int, int]:
    """The rows at which blocks of codes restart, one unless `by_row`: how many there are, and how long they are."""
    matrices, rows, cols = matrix_view(shape, last_two)
    return (matrices * rows, cols) if by_row else (1, matrices * rows * cols)


def row_length(shape: Sequence[int], last_two: bool) -> int:
    """How many elements a row has."""
    return matrix_view(shape, last_two)[2]


def encode(values: Array, buffer: Buffer, by_row: bool, last_two: bool = False) -> tuple[Array, Array]:
    """The codes of float32 numbers, and the float32 scales of their blocks, as a quantized state holds them."""
    from optgen.ir import codec
    from optgen.ir.interp import call
    from optgen.ir.storage.tools import flushed

    own_rows, block = code_rows(values.shape, by_row, last_two), _block_of(buffer)
    blocks = _blocks(call(flushed, np.asarray(values, np.float32)), own_rows, block)
    scales = np.abs(blocks).max(axis=1, initial=0)
    codes = np.empty(blocks.shape, dtype_of(buffer))
    for begin in range(0, len(blocks), _SLAB):
        slab = slice(begin, begin + _SLAB)
        factor = call(codec.encode_scale(buffer), scales[slab])[:, None]
        codes[slab] = call(codec.encoder(buffer), blocks[slab], factor)
    found, shape = _rows(codes, own_rows), shape_of(buffer, values.shape, by_row, last_two)
    stored = packing.pack(found) if buffer.format.is_packed else found
    return _aligned(stored, shape), scales.reshape(shape_of(buffer.scales, values.shape, by_row, last_two))


def encode_equal(value: float, buffer: Buffer) -> tuple[int, float]:
    """An item of the array of codes, and a scale, of a quantized state whose numbers are all this one."""
    many = 2 if buffer.format.is_packed else 1
    codes, (scale,) = encode(np.full(many, value, np.float32), buffer, by_row=False)
    return int(codes[0]), float(scale)


def decode(codes: Array, scales: Array, buffer: Buffer, shape: Sequence[int]) -> Array:
    """The float32 numbers of a quantized state of a parameter of this shape."""
    from optgen.ir import codec
    from optgen.ir.interp import call

    count = len(scales) if scales.ndim == 2 else 1
    own_rows = count, math.prod(shape) // max(count, 1)
    if buffer.format.is_packed:
        codes = packing.unpack(codes.reshape(count, -1), own_rows[1])
    blocks = _blocks(codes, own_rows, _block_of(buffer))
    values = np.empty(blocks.shape, np.float32)
    for begin in range(0, len(blocks), _SLAB):
        slab = slice(begin, begin + _SLAB)
        scale = call(codec.decode_scale(buffer), scales.reshape(-1, 1)[slab])
        values[slab] = call(codec.decoder(buffer), blocks[slab], scale)
    return _aligned(_rows(values, own_rows), shape)


def _block_of(buffer: Buffer) -> int:
    assert buffer.format.block is not None, f"{buffer.storage} has no blocks"
    return buffer.format.block


def _blocks(array: Array, own_rows: tuple[int, int], block: int) -> Array:
    """The elements with one block a row; the last block of each row of codes is filled up with zeros."""
    count, length = own_rows
    filled = np.zeros((count, -(-length // block) * block), array.dtype)
    filled[:, :length] = array.reshape(own_rows)
    return filled.reshape(-1, block)


def _rows(blocks: Array, own_rows: tuple[int, int]) -> Array:
    """The inverse of `_blocks`: rows of codes, or of numbers."""
    count, length = own_rows
    filled = blocks.size // max(count, 1)
    return blocks.reshape(count, filled)[:, :length]


def _aligned(array: Array, shape: Sequence[int]) -> Array:
    whole = buffers.aligned(tuple(shape), array.dtype.name)
    whole[...] = array.reshape(shape)
    return whole
