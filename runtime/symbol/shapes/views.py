"""Shapes of operators that move, join, cut, reduce and multiply arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.ndarray.shape.reshape import reshaped
from runtime.symbol.attributes import reshape_target
from runtime.symbol.shapes.common import Shape, Shapes, Values, merged, place, product
from runtime.symbol.shapes.elementwise import first
from runtime.util import is_np_shape


def concat(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    ranks = {len(x) for x in (*inputs, *outputs) if x is not None}
    if not ranks:
        return inputs, outputs
    rank = ranks.pop()
    axis = place(values["dim"], rank)
    filled = [x or (-1,) * rank for x in inputs]
    total = sum(x[axis] for x in filled) if all(x[axis] != -1 for x in filled) else -1
    common: Shape | None = None
    for x in (*filled, *(y for y in outputs if y is not None)):
        common = merged(common, (*x[:axis], -1, *x[axis + 1 :]))
    assert common is not None
    found: Shapes = [(*common[:axis], x[axis], *common[axis + 1 :]) for x in filled]
    y = merged(outputs[0], (*common[:axis], total, *common[axis + 1 :]))
    unknown = [i for i, x in enumerate(found) if x is not None and x[axis] == -1]
    if y is not None and y[axis] != -1 and len(unknown) == 1:
        rest = y[axis] - sum(x[axis] for i, x in enumerate(filled) if i != unknown[0])
        found[unknown[0]] = (*common[:axis], rest, *common[axis + 1 :])
    return found, [y]


def slice_channel(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, n = inputs[0], values["num_outputs"]
    known: Shape | None = None
    for y in outputs:
        known = merged(known, y)
    rank = len(data) if data is not None else None if known is None else len(known) + bool(values["squeeze_axis"])
    if rank is None:
        return inputs, outputs
    axis = place(values["axis"], rank)
    data = data or (-1,) * rank
    if data[axis] % n and data[axis] != -1:
        raise ValueError(f"a length of {data[axis]} is not divisible into {n} parts")
    part = -1 if data[axis] == -1 else data[axis] // n
    if values["squeeze_axis"]:
        known = merged(known, (*data[:axis], *data[axis + 1 :]))
        assert known is not None
        data = (*known[:axis], n, *known[axis:])
    else:
        known = merged(known, (*data[:axis], part, *data[axis + 1 :]))
        assert known is not None
        data = (*known[:axis], -1 if known[axis] == -1 else known[axis] * n, *known[axis + 1 :])
    return [data], [known] * n


def flatten(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    y = merged(outputs[0], (data[0], product(data[1:])))
    assert y is not None
    return [(y[0], *data[1:])], [y]


def transpose(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, y = inputs[0], outputs[0]
    if data is None and y is None:
        return inputs, outputs
    rank = len(data if data is not None else y or ())
    axes = [place(a, rank) for a in values["axes"]] if values["axes"] else list(range(rank))[::-1]
    if sorted(axes) != list(range(rank)):
        raise ValueError(f"axes {values['axes']} are no order of {rank} axes")
    return _moved(axes, data, y)


def swap(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, y = inputs[0], outputs[0]
    if data is None and y is None:
        return inputs, outputs
    axes = list(range(len(data if data is not None else y or ())))
    i, j = (place(values[key], len(axes)) for key in ("dim1", "dim2"))
    axes[i], axes[j] = axes[j], axes[i]
    return _moved(axes, data, y)


def _moved(axes: Sequence[int], data: Shape | None, y: Shape | None) -> tuple[Shapes, Shapes]:
    """Axis `axes[i]` of the data is axis i of the output."""
    if data is not None:
        y = merged(y, tuple(data[a] for a in axes))
    assert y is not None
    return [merged(data, tuple(y[axes.index(i)] for i in range(len(axes))))], [y]


def expand(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, y = inputs[0], outputs[0]
    if data is not None:
        axis = place(values["axis"], len(data) + 1)
        return inputs, [(*data[:axis], 1, *data[axis:])]
    if y is not None:
        axis = place(values["axis"], len(y))
        return [(*y[:axis], *y[axis + 1 :])], outputs
    return inputs, outputs


def reduction(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, axis = inputs[0], values["axis"]
    if data is None:
        return inputs, outputs
    given = (axis,) if isinstance(axis, int) else axis
    axes = {place(a, len(data)) for a in given} if given else set(range(len(data)))
    if given and values.get("exclude"):
        axes = set(range(len(data))) - axes
    if values["keepdims"]:
        return inputs, [tuple(1 if i in axes else n for i, n in enumerate(data))] * len(outputs)
    return inputs, [tuple(n for i, n in enumerate(data) if i not in axes) or (1,)] * len(outputs)


def dot(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    if values["transpose_a"]:
        a = (*a[1:], a[0])
    if values["transpose_b"]:
        b = (b[-1], *b[:-1])
    if a[-1] != b[0] and -1 not in (a[-1], b[0]):
        raise ValueError(f"{a[-1]} values meet {b[0]}")
    return inputs, [(*a[:-1], *b[1:]) or (1,)]


def batch_dot(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    m, k = (a[-1], a[-2]) if values["transpose_a"] else (a[-2], a[-1])
    other, n = (b[-1], b[-2]) if values["transpose_b"] else (b[-2], b[-1])
    if -1 in (k, other):
        return inputs, outputs
    if k != other:
        raise ValueError(f"{k} values meet {other}")
    batch = merged(a[:-2], b[:-2])
    assert batch is not None
    return inputs, [(*batch, m, n)]


def pick(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None or values["axis"] is None:
        return inputs, outputs
    axis = place(values["axis"], len(data))
    without, kept = (*data[:axis], *data[axis + 1 :]), (*data[:axis], 1, *data[axis + 1 :])
    index = inputs[1] if inputs[1] is not None else without
    return [data, index], [kept if values["keepdims"] else without]


def take(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, indices = inputs
    if data is None or indices is None:
        return inputs, outputs
    axis = place(values["axis"], len(data))
    return inputs, [(*data[:axis], *indices, *data[axis + 1 :])]


def one_hot(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    return inputs, [outputs[0] if inputs[0] is None else (*inputs[0], values["depth"])]


def where(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    y = merged(merged(inputs[1], inputs[2]), outputs[0])
    condition = inputs[0] if inputs[0] is not None else y
    return [condition, y, y], [y]


def sequence_last(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A step of sequences, and a length for each of the batch."""
    data = inputs[0]
    if data is None or len(data) < 2:
        return inputs, outputs
    axis = place(values["axis"], len(data))
    return [data, *[(data[1 - axis],)] * (len(inputs) - 1)], [(*data[:axis], *data[axis + 1 :])]


def stack(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    shape = None
    for x in inputs:
        shape = merged(shape, x)
    if shape is None:
        return inputs, outputs
    axis = place(values["axis"], len(shape) + 1)
    return [shape] * len(inputs), [(*shape[:axis], len(inputs), *shape[axis:])]


def like(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The output is of the first input's shape, which is that of the second."""
    shape = merged(merged(inputs[0], inputs[1]), outputs[0])
    return [shape, shape], [shape]


def stated(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A shape that is an attribute; its zeros, and -1, are unknown, and follow from what reads it."""
    shape = values["shape"]
    return inputs, [outputs[0] if not shape else merged(outputs[0], tuple(n or -1 for n in shape))]


def samples(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """Numbers drawn for each of the parameters, which are arrays of one shape."""
    shape = inputs[0]
    for other in inputs[1:]:
        shape = merged(shape, other)
    drawn = outputs if shape is None else [merged(outputs[0], (*shape, *(values["shape"] or ())))]
    return [shape] * len(inputs), drawn


def chosen(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """Indices drawn from each row of probabilities, and their logarithms."""
    if inputs[0] is None:
        return inputs, outputs
    return inputs, [(*inputs[0][:-1], *(values["shape"] or ())) or (1,)] * len(outputs)


def reshape(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, wanted = inputs[0], values["shape"]
    if data is None:
        return inputs, outputs
    if not wanted and values["target_shape"]:
        wanted = reshape_target(values)
    if not wanted:
        return inputs, outputs
    found = _reshaped(data, wanted, values["reverse"])
    y = merged(outputs[0], found)
    missing = [i for i, n in enumerate(data) if n == -1]
    if y is not None and -1 not in y and len(missing) == 1:
        i = missing[0]
        rest = product([*data[:i], *data[i + 1 :]])
        data = (*data[:i], product(y) // rest if rest else -1, *data[i + 1 :])
    return [data], [y]


def _reshaped(data: Shape, wanted: Shape, reverse: bool) -> Shape | None:
    """The shape with the codes replaced, -1 for lengths that do not follow."""
    if -1 not in data:
        return reshaped(data, wanted, reverse)
    if all(n > 0 for n in wanted):
        return wanted
    try:  # a length that nothing else divides stands for each that is unknown
        found = reshaped(tuple(_PRIME if n == -1 else n for n in data), wanted, reverse)
    except ValueError:
        return None
    return tuple(-1 if n % _PRIME == 0 else n for n in found)


_PRIME = 2_147_483_647


def arange(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """Its length follows from what reads it where `infer_range` says so."""
    if values["infer_range"]:
        return inputs, outputs
    start, stop = (0, values["start"]) if values["stop"] is None else (values["start"], values["stop"])
    return inputs, [(math.ceil((stop - start) / values["step"]) * values["repeat"],)]


def sort(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The shape of the data, or one axis where all are sorted as one."""
    if values["axis"] is not None:
        return first(values, inputs, outputs)
    return inputs, [None if inputs[0] is None else (product(inputs[0]),)]


def cut(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    begin, end = values["begin"], values["end"]
    if not 0 < len(begin) == len(end) <= len(data) or len(values["step"] or begin) != len(begin):
        raise ValueError(f"slice from {begin} to {end} by {values['step']} of {len(data)} axes")
    steps = values["step"] or (None,) * len(begin)
    parts = [_length(n, *part) for n, part in zip(data, zip(begin, end, steps, strict=True), strict=False)]
    return inputs, [(*parts, *data[len(parts) :])]


def cut_axis(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    axis = place(values["axis"], len(data))
    part = _length(data[axis], values["begin"], values["end"], None)
    return inputs, [(*data[:axis], part, *data[axis + 1 :])]


def _length(n: int, begin: int | None, end: int | None, step: int | None) -> int:
    """The length of a slice of n; -1 if n is."""
    if n == -1:
        return -1
    found = len(range(*slice(begin, end, step or None).indices(n)))
    if not (found or is_np_shape()):
        raise ValueError(f"the slice from {begin} to {end} of a length of {n} is empty")
    return found


def second(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The output is of the second input's shape."""
    shape = merged(inputs[1], outputs[0])
    return [inputs[0], shape], [shape]


def tile(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, reps = inputs[0], values["reps"]
    if data is None:
        return inputs, outputs
    rank = max(len(data), len(reps))
    lengths = zip((1,) * (rank - len(data)) + data, (1,) * (rank - len(reps)) + tuple(reps), strict=True)
    return inputs, [tuple(-1 if n == -1 else n * times for n, times in lengths)]


def repeat(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, times = inputs[0], values["repeats"]
    if data is None:
        return inputs, outputs
    if values["axis"] is None:
        size = product(data)
        return inputs, [(-1 if size == -1 else size * times,)]
    axis = place(values["axis"], len(data))
    return inputs, [tuple(n * times if i == axis and n != -1 else n for i, n in enumerate(data))]


def broadcast_to(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A length of 0 stays that of the data."""
    data, shape = inputs[0], values["shape"]
    if data is None or len(data) != len(shape):
        return inputs, outputs
    return inputs, [tuple(n or own for own, n in zip(data, shape, strict=True))]


def pad(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, width = inputs[0], values["pad_width"]
    if data is None or len(width) != 2 * len(data):
        return inputs, outputs
    return inputs, [tuple(-1 if n == -1 else n + sum(width[2 * i : 2 * i + 2]) for i, n in enumerate(data))]
