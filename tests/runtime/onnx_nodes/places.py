"""Shapes, and places of elements."""

from __future__ import annotations

import numpy as np

from tests.runtime.onnx_nodes.drawn import Draw, Drawn, beside, floats, one_of, shape_of, some, whole


def reshape(draw: Draw) -> Drawn:
    shape = shape_of(draw, 2)
    order = draw.permutation(len(shape))
    new = [shape[i] for i in order]
    if order[0] == 0 and draw.random() < 0.5:
        new[0] = 0
    if draw.random() < 0.5:
        new[-1] = -1
    return Drawn([floats(draw, shape), whole(new)], fixed=(1,))


def flatten(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    return Drawn([floats(draw, shape)], some(draw, axis=int(draw.integers(-len(shape), len(shape) + 1))))


def transpose(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    return Drawn([floats(draw, shape)], some(draw, perm=draw.permutation(len(shape)).tolist()))


def squeeze(draw: Draw) -> Drawn:
    shape = (2, 1, 3, 1)
    return Drawn([floats(draw, shape), whole(one_of(draw, [[1], [3], [1, 3], [-1], [-1, 1]]))], fixed=(1,))


def unsqueeze(draw: Draw) -> Drawn:
    return Drawn(
        [floats(draw, (2, 3)), whole(one_of(draw, [[0], [1], [2], [-1], [0, 3], [-1, 1], [3, 2]]))], fixed=(1,)
    )


def concat(draw: Draw) -> Drawn:
    shape = list(shape_of(draw))
    axis = int(draw.integers(-len(shape), len(shape)))
    parts = []
    for _ in range(draw.integers(1, 4)):
        shape[axis] = int(draw.integers(1, 4))
        parts.append(floats(draw, shape))
    return Drawn(parts, {"axis": axis})


def split(draw: Draw) -> Drawn:
    shape = list(shape_of(draw))
    axis, parts = int(draw.integers(-len(shape), len(shape))), int(draw.integers(1, 4))
    lengths = draw.integers(1, 4, parts).tolist()
    shape[axis] = sum(lengths)
    x, given = floats(draw, shape), some(draw, axis=axis) if axis in (0, -len(shape)) else {"axis": axis}
    if draw.random() < 0.5 and shape[axis] > (parts - 1) * -(-shape[axis] // parts):
        return Drawn([x], given | {"num_outputs": parts}, outputs=parts)
    return Drawn([x, whole(lengths)], given, fixed=(1,), outputs=parts)


def slice_(draw: Draw) -> Drawn:
    shape = tuple(draw.integers(2, 6, draw.integers(1, 5)).tolist())
    axes = draw.permutation(len(shape))[: draw.integers(1, len(shape) + 1)]
    starts, ends, steps = [], [], []
    for axis in axes:
        n, step = shape[axis], int(one_of(draw, (1, 1, 1, 2, -1, -2)))
        low = int(draw.integers(0, n))
        high = int(draw.integers(low + 1, n + 1))
        start, end = (low, high) if step > 0 else (high - 1, low - 1)
        if step > 0:
            starts.append(start if draw.random() < 0.6 else start - n)
            ends.append(one_of(draw, [end, end - n if end < n else 1 << 40]))
        else:
            starts.append(start if draw.random() < 0.6 else start - n)
            ends.append(end if end >= 0 else one_of(draw, [-n - 1, -(1 << 40)]))
        steps.append(step)
    places = [int(a) if draw.random() < 0.5 else int(a) - len(shape) for a in axes]
    return Drawn([floats(draw, shape), *map(whole, (starts, ends, places, steps))], fixed=(1, 2, 3, 4))


def pad(draw: Draw) -> Drawn:
    rank = int(draw.integers(1, 6))
    shape = tuple(draw.integers(3, 5, rank).tolist())
    axes = list(range(max(0, rank - 3), rank))
    widths = draw.integers(0, 3, 2 * len(axes)).tolist()
    mode = one_of(draw, ("constant", "edge", "reflect"))
    value = np.float32(1.5) if mode == "constant" and draw.random() < 0.6 else None
    if draw.random() < 0.5:
        return Drawn([floats(draw, shape), whole(widths), value, whole(axes)], {"mode": mode}, fixed=(1, 2, 3))
    zeros = [0] * (rank - len(axes))
    pads = [*zeros, *widths[: len(axes)], *zeros, *widths[len(axes) :]]
    return Drawn([floats(draw, shape), whole(pads), value], {"mode": mode}, fixed=(1, 2))


def expand(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    return Drawn([floats(draw, beside(draw, shape)), whole(one_of(draw, [shape, beside(draw, shape)]))], fixed=(1,))


def tile(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    return Drawn([floats(draw, shape), whole(draw.integers(1, 4, len(shape)).tolist())], fixed=(1,))


def gather(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    axis = int(draw.integers(-len(shape), len(shape)))
    n = shape[axis]
    places = draw.integers(-n, n, shape_of(draw, 0, 2))
    return Drawn(
        [floats(draw, shape), places.astype(np.int64)], some(draw, axis=axis) if axis == 0 else {"axis": axis}, (1,)
    )


def gather_nd(draw: Draw) -> Drawn:
    shape = shape_of(draw, 2, 3)
    depth = int(draw.integers(1, len(shape) + 1))
    lead = shape_of(draw, 1, 2)
    places = np.stack([draw.integers(0, n, lead) for n in shape[:depth]], -1)
    return Drawn([floats(draw, shape), places.astype(np.int64)], fixed=(1,))


def one_hot(draw: Draw) -> Drawn:
    depth, shape = int(draw.integers(2, 5)), shape_of(draw, 1, 3)
    places = draw.integers(-depth, depth, shape).astype(np.float32)
    axis = some(draw, axis=one_of(draw, (-1, len(shape))))
    return Drawn([places, np.array([depth], np.float32), np.array([0.5, 2], np.float32)], axis, fixed=(1, 2))


def depth_to_space(draw: Draw) -> Drawn:
    b = int(draw.integers(1, 3))
    return Drawn([floats(draw, (2, 2 * b * b, 3, 2))], {"blocksize": b} | some(draw, mode=one_of(draw, ("DCR", "CRD"))))


def space_to_depth(draw: Draw) -> Drawn:
    b = int(draw.integers(1, 3))
    return Drawn([floats(draw, (2, 3, 2 * b, 3 * b))], {"blocksize": b})


def shape(draw: Draw) -> Drawn:
    bounds = some(draw, start=int(draw.integers(-2, 2)), end=int(draw.integers(2, 4)))
    return Drawn([floats(draw, tuple(draw.integers(1, 4, 3).tolist()))], bounds, fixed=())
