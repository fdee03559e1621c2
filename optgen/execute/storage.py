"""How the buffers of a kernel lie in memory: their dtypes, their shapes, and codes in blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array
from optgen.ir import Buffer
from optgen.ir.storage import QUANT_BLOCK
from optgen.model import Kind

_SLAB = 4096
"""Blocks that are encoded at once: what is between their numbers and their codes takes some 50 times their memory."""


def dtype_of(buffer: Buffer) -> str:
    """The dtype of a buffer's array."""
    return buffer.format.array_dtype


def shape_of(buffer: Buffer, shape: Sequence[int], by_row: bool, last_two: bool = False) -> tuple[int, ...]:
    """The shape of a buffer's array, for a parameter of this shape; `by_row`: its 8-bit blocks restart at each row.

    `last_two`: the parameter is a batch of matrices. Their rows, or columns, are one array.
    """
    if buffer.is_scale:
        _, rows, cols = matrix_view(shape)
        return (rows, -(-cols // QUANT_BLOCK)) if by_row else (-(-rows * cols // QUANT_BLOCK),)
    if buffer.kind is Kind.ELEM:
        return tuple(shape)
    if buffer.kind is Kind.ROW or buffer.kind is Kind.COL:
        matrices, rows, cols = matrix_view(shape, last_two)
        return (matrices * (rows if buffer.kind is Kind.ROW else cols),)
    return ()


def matrix_view(shape: Sequence[int], last_two: bool = False) -> tuple[int, int, int]:
    """Matrices, rows and columns: one matrix of the first dimension by the product of the others, or as many as there
    are of the last two."""
    if last_two and len(shape) >= 2:
        return math.prod(shape[:-2]), shape[-2], shape[-1]
    return 1, (shape[0] if shape else 1), math.prod(shape[1:])


def encode(values: Array, buffer: Buffer, by_row: bool) -> tuple[Array, Array]:
    """The codes of float32 numbers, and the float32 scales of their blocks, as a quantized state holds them."""
    from optgen.ir import codec
    from optgen.ir.interp import call

    blocks = _blocks(np.asarray(values, np.float32), by_row)
    scales = np.abs(blocks).max(axis=1, initial=0)
    codes = np.empty(blocks.shape, dtype_of(buffer))
    for begin in range(0, len(blocks), _SLAB):
        slab = slice(begin, begin + _SLAB)
        factor = call(codec.encode_scale(buffer), scales[slab])[:, None]
        with np.errstate(all="ignore"):
            scaled = blocks[slab] * factor
        codes[slab] = call(codec.encoder(buffer), scaled)
    return _whole(codes, values.shape, by_row), scales.reshape(_scale_shape(values.shape, by_row))


def decode(codes: Array, scales: Array, buffer: Buffer) -> Array:
    """The float32 numbers of a quantized state, of the shape of `codes`."""
    from optgen.ir import codec
    from optgen.ir.interp import call

    by_row = scales.ndim == 2
    blocks = _blocks(codes, by_row)
    values = np.empty(blocks.shape, np.float32)
    for begin in range(0, len(blocks), _SLAB):
        slab = slice(begin, begin + _SLAB)
        scale = call(codec.decode_scale(buffer), scales.reshape(-1, 1)[slab])
        values[slab] = call(codec.decoder(buffer), blocks[slab], scale)
    return _whole(values, codes.shape, by_row)


def _scale_shape(shape: Sequence[int], by_row: bool) -> tuple[int, ...]:
    return shape_of(Buffer("", True, storage="scale"), shape, by_row)


def _blocks(array: Array, by_row: bool) -> Array:
    """The elements with one block a row, the last one of a row or of the tensor filled up with zeros."""
    lines = array.reshape(matrix_view(array.shape)[1:] if by_row else (1, array.size))
    filled = np.zeros((len(lines), -(-lines.shape[1] // QUANT_BLOCK) * QUANT_BLOCK), array.dtype)
    filled[:, : lines.shape[1]] = lines
    return filled.reshape(-1, QUANT_BLOCK)


def _whole(blocks: Array, shape: Sequence[int], by_row: bool) -> Array:
    rows, cols = matrix_view(shape)[1:] if by_row else (1, math.prod(shape))
    per_row = -(-cols // QUANT_BLOCK) * QUANT_BLOCK
    whole = buffers.aligned(tuple(shape), blocks.dtype.name)
    whole[...] = blocks.reshape(rows, per_row)[:, :cols].reshape(shape)
    return whole
