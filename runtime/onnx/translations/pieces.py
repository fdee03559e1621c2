"""Arrays put together, cut, padded and repeated."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from runtime.onnx.call import Call, Translation, ints

_END = np.iinfo(np.int64).max


def _concat(call: Call) -> str:
    return call.add("Concat", *call.inputs, axis=call.values["dim"])


def _stack(call: Call) -> str:
    axis = call.values["axis"]
    parts = [call.add("Unsqueeze", x, ints([axis])) for x in call.inputs]
    return call.add("Concat", *parts, axis=axis)


def _split(call: Call) -> list[str]:
    axis, count = call.axis(), len(call.node.output_names)
    return _squeezed(call, axis, [call.length(axis) // count] * count)


def _split_v2(call: Call) -> list[str]:
    axis = call.axis()
    n = call.length(axis)
    if call.values["sections"]:
        return _squeezed(call, axis, [n // call.values["sections"]] * call.values["sections"])
    bounds = [*call.values["indices"], n]
    bounds = bounds if bounds[0] == 0 else [0, *bounds]
    return _squeezed(call, axis, [b - a for a, b in pairwise(bounds)])


def _squeezed(call: Call, axis: int, lengths: list[int]) -> list[str]:
    parts = call.add_many("Split", len(lengths), call.x, ints(lengths), axis=axis)
    return [call.add("Squeeze", part, ints([axis])) for part in parts] if call.values["squeeze_axis"] else parts


# ---------------------------------------------------------------- slices


def _slice(call: Call) -> str:
    begin, end = call.values["begin"], call.values["end"]
    step = call.values["step"] or (None,) * len(begin)
    steps = [s or 1 for s in step]
    starts = [(0 if s > 0 else _END) if b is None else b for b, s in zip(begin, steps, strict=True)]
    ends = [(_END if s > 0 else -_END) if e is None else e for e, s in zip(end, steps, strict=True)]
    return call.add("Slice", call.x, ints(starts), ints(ends), ints(range(len(begin))), ints(steps))


def _slice_axis(call: Call) -> str:
    end = call.values["end"]
    return call.slice(call.x, call.axis(), call.values["begin"], _END if end is None else end)


def _slice_like(call: Call) -> str:
    axes = [axis % call.rank() for axis in call.values["axes"]] or range(call.rank())
    ends = [call.length(axis, 1) for axis in axes]
    return call.add("Slice", call.x, ints([0] * len(ends)), ints(ends), ints(axes))


def _crop(call: Call) -> str:
    """Pictures of `h_w`, or of the size of the second input, from an offset or from the middle."""
    size = [call.output_length(axis) for axis in (2, 3)]
    offset = call.values["offset"]
    if call.values["center_crop"]:
        offset = [(call.length(2 + i) - n) // 2 for i, n in enumerate(size)]
    ends = [a + n for a, n in zip(offset, size, strict=True)]
    return call.add("Slice", call.x, ints(offset), ints(ends), ints([2, 3]))


def _reverse(call: Call) -> str:
    axes = call.values["axis"]
    count = len(axes)
    return call.add("Slice", call.x, ints([_END] * count), ints([-_END] * count), ints(axes), ints([-1] * count))


# ---------------------------------------------------------------- more elements


def _pad(call: Call) -> str:
    width = call.values["pad_width"]
    value = call.number(call.values["constant_value"])
    return call.add("Pad", call.x, ints((*width[::2], *width[1::2])), value, mode=call.values["mode"])


def _tile(call: Call) -> str:
    reps = call.values["reps"]
    missing = len(reps) - call.rank()
    x = call.add("Unsqueeze", call.x, ints(range(missing))) if missing > 0 else call.x
    return call.add("Tile", x, ints((1,) * -missing + reps))


def _repeat(call: Call) -> str:
    """Each element several times in a row."""
    axis, x = call.values["axis"], call.x
    if axis is None:
        x, axis, n = call.reshape(x, (-1,)), 0, int(np.prod(call.shape()))
    else:
        n = call.length(axis)
    return call.add("Gather", x, ints(np.repeat(np.arange(n), call.values["repeats"]).tolist()), axis=axis)


TRANSLATIONS: dict[str, Translation] = {
    "Concat": _concat,
    "_rnn_param_concat": _concat,
    "stack": _stack,
    "SliceChannel": _split,
    "_split_v2": _split_v2,
    "slice": _slice,
    "slice_axis": _slice_axis,
    "slice_like": _slice_like,
    "Crop": _crop,
    "reverse": _reverse,
    "Pad": _pad,
    "tile": _tile,
    "repeat": _repeat,
}
