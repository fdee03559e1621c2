"""Shapes and places of elements."""

from __future__ import annotations

import math

import numpy as np

from runtime import symbol as sym
from runtime.onnx.reading.layers import padded
from runtime.onnx.reading.node import Node, Reading
from runtime.symbol import Symbol

_FAR = 1 << 31
"""Ends of slices from here on mean the end of the axis."""


def _reshape(node: Node) -> Symbol:
    shape = node.ints("shape", 1) or ()
    if node.get("allowzero", 0) and 0 in shape:
        node.fail("it has no elements")
    return sym.reshape(node.x, shape=shape or (1,))


def _flatten(node: Node) -> Symbol:
    axis = node.axis(1)
    if axis == 1:
        return sym.Flatten(node.x)
    if axis == 0:
        return sym.reshape(node.x, shape=(1, -1))
    return sym.reshape(node.x, shape=(math.prod(node.closed()[:axis]), -1))


def _transpose(node: Node) -> Symbol:
    return sym.transpose(node.x, axes=node.ints("perm") or ())


def _squeeze(node: Node) -> Symbol:
    axes = node.ints("axes", 1)
    return sym.squeeze(node.x) if axes is None else sym.squeeze(node.x, axis=axes)


def _unsqueeze(node: Node) -> Symbol:
    axes = node.ints("axes", 1) or ()
    if any(axis < 0 for axis in axes):
        axes = tuple(axis % (node.rank() + len(axes)) for axis in axes)
    x = node.x
    for axis in sorted(axes):
        x = sym.expand_dims(x, axis=axis)
    return x


def _concat(node: Node) -> Symbol:
    return sym.concat(*node.symbols(), dim=node.get("axis", 1))


def _split(node: Node) -> list[Symbol]:
    axis, parts = node.get("axis", 0), len(node.output_names)
    lengths = node.ints("split", 1)
    if lengths is None:
        n = node.closed()[axis]
        size = -(-n // parts)
        lengths = tuple(min(size, n - i * size) for i in range(parts))
    ends = np.cumsum(lengths).tolist()
    return [sym.slice_axis(node.x, axis=axis, begin=end - n, end=end) for n, end in zip(lengths, ends, strict=True)]


def _slice(node: Node) -> Symbol:
    starts, ends = node.ints("starts", 1) or (), node.ints("ends", 2) or ()
    axes = node.ints("axes", 3) or tuple(range(len(starts)))
    steps = node.ints("steps", 4) or (1,) * len(starts)
    x = node.x
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 1:
            shape = node.shape()
            length = _FAR if shape is None or shape[axis] == -1 else shape[axis]
            end = None if end >= min(length, _FAR) else end
            x = sym.slice_axis(x, axis=axis, begin=max(start, -length), end=end)
        else:
            place = axis % node.rank() if axis < 0 else axis
            others = (None,) * place
            begin = None if abs(start) >= _FAR else start
            stop = None if abs(end) >= _FAR or (step < 0 and end < -node.closed()[axis]) else end
            x = sym.slice(x, begin=(*others, begin), end=(*others, stop), step=(*others, step))
    return x


def _pad(node: Node) -> Symbol:
    rank, mode = node.rank(), node.get("mode", "constant")
    pads = node.ints("pads", 1) or ()
    axes = [axis % rank for axis in node.ints("axes", 3) or range(rank)]
    begin, end = [0] * rank, [0] * rank
    for axis, b, e in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        begin[axis], end[axis] = b, e
    value = float(node.array(2, "its value").ravel()[0]) if node.has(2) else node.get("value", 0.0)
    first = next((i for i in range(rank) if begin[i] or end[i]), rank)
    if first == rank:
        return sym.identity(node.x)
    if min(begin + end) < 0 or rank - first > 3:
        node.fail("it cuts off, or pads more than three axes")
    return padded(node.x, rank, begin[first:], end[first:], value, mode)


def _expand(node: Node) -> Symbol:
    ones = np.ones(node.ints("shape", 1) or (1,), node.dtype())
    return sym.broadcast_mul(node.x, node.made(ones, node.output_names[0], "ones"))


def _gather(node: Node) -> Symbol:
    axis, places = node.get("axis", 0), node.constant(1)
    if places is None or places.ndim:
        return sym.take(node.x, node.symbol(1), axis=axis, mode="wrap")
    place = int(places)
    part = sym.slice_axis(node.x, axis=axis, begin=place, end=None if place == -1 else place + 1)
    return sym.squeeze(part, axis=axis)


def _gather_nd(node: Node) -> Symbol:
    if node.get("batch_dims", 0):
        node.fail("it has axes of batches")
    last = node.rank(1) - 1
    return sym.gather_nd(node.x, sym.transpose(node.symbol(1), axes=(last, *range(last))))


def _one_hot(node: Node) -> Symbol:
    if node.get("axis", -1) not in (-1, node.rank()):
        node.fail("its classes are not the last axis")
    off, on = node.array(2, "values").ravel().tolist()
    depth = int(node.array(1, "depth").ravel()[0])
    dtype = node.dtype(2).name
    places = node.x + (node.x < 0) * depth  # negative ones count from the end
    return sym.one_hot(places, depth=depth, on_value=on, off_value=off, dtype=dtype)


def _depth_to_space(node: Node) -> Symbol:
    block = node.get("blocksize")
    if node.get("mode", "DCR") == "DCR":
        return sym.depth_to_space(node.x, block_size=block)
    x = sym.reshape(node.x, shape=(0, -4, -1, block * block, 0, 0))
    x = sym.reshape(x, shape=(0, 0, -4, block, block, 0, 0))
    return sym.reshape(sym.transpose(x, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


def _space_to_depth(node: Node) -> Symbol:
    if node.get("mode", "DCR") != "DCR":
        node.fail("its mode is CRD")
    return sym.space_to_depth(node.x, block_size=node.get("blocksize"))


def _shape(node: Node) -> Symbol:
    found, start, end = sym.shape_array(node.x), node.get("start", 0), node.get("end")
    if start == 0 and end is None:
        return found
    begin, stop, _ = slice(start, end).indices(node.rank())
    if begin >= stop:
        node.fail("it asks for no lengths")
    return sym.slice_axis(found, axis=0, begin=begin, end=stop)


READINGS: dict[str, Reading] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    "Expand": _expand,
    "Tile": lambda node: sym.tile(node.x, reps=node.ints("repeats", 1)),
    "Gather": _gather,
    "GatherND": _gather_nd,
    "OneHot": _one_hot,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Shape": _shape,
    "Size": lambda node: sym.size_array(node.x),
}
