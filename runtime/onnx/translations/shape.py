"""Other shapes of the same elements, and elements repeated to fill a shape."""

from __future__ import annotations

import math

import numpy as np

from runtime.onnx.call import Call, Translation, ints


def _reshape(call: Call) -> str:
    """MXNet's codes are resolved by the shapes that follow; a length that stays open must be one that is kept."""
    wanted = list(call.output_lengths())
    if wanted.count(-1) > 1:
        codes = call.values["shape"]
        for i, code in enumerate(codes):
            if code < -1 or call.values["reverse"]:
                break
            if code == 0:
                wanted[i] = 0
    if wanted.count(-1) > 1:
        call.output_shape()
    return call.reshape(call.x, wanted)


def _flatten(call: Call) -> str:
    return call.add("Flatten", call.x)


def _fitted(call: Call) -> str:
    return call.fitted(call.x)


def _transpose(call: Call) -> str:
    return call.transpose(call.x, call.values["axes"] or range(call.rank())[::-1])


def _swap_axis(call: Call) -> str:
    axes = list(range(call.rank()))
    a, b = call.axis("dim1"), call.axis("dim2")
    axes[a], axes[b] = b, a
    return call.transpose(call.x, axes)


def _expand_dims(call: Call) -> str:
    return call.add("Unsqueeze", call.x, ints([call.values["axis"]]))


def _squeeze(call: Call) -> str:
    """Where all axes go away, MXNet keeps one."""
    axis = call.values["axis"]
    lengths = call.lengths()
    axes = [i % len(lengths) for i in axis] if axis else [i for i, n in enumerate(lengths) if n == 1]
    if len(axes) == len(lengths):
        return call.reshape(call.x, (1,))
    return call.add("Squeeze", call.x, ints(axes)) if axes else call.add("Identity", call.x)


def _expand(call: Call) -> str:
    return call.add("Expand", call.x, ints(call.output_shape()))


def _broadcast_like(call: Call) -> str:
    if call.values["lhs_axes"] is None:
        return call.add("Expand", call.x, call.add("Shape", call.inputs[1]))
    return _expand(call)


def _depth_to_space(call: Call) -> str:
    return call.add("DepthToSpace", call.x, blocksize=call.values["block_size"])


def _space_to_depth(call: Call) -> str:
    return call.add("SpaceToDepth", call.x, blocksize=call.values["block_size"])


def _shape_array(call: Call) -> str:
    return call.add("Shape", call.x)


def _size_array(call: Call) -> str:
    return call.reshape(call.add("Size", call.x), (1,))


def _arange_like(call: Call) -> str:
    values = call.values
    if values["repeat"] != 1:
        call.fail("it repeats elements")
    shape = call.shape() if values["axis"] is None else (call.length(call.axis()),)
    count = np.arange(math.prod(shape)).reshape(shape)
    return call.add("Identity", (values["start"] + values["step"] * count).astype(call.dtype_of_output()))


TRANSLATIONS: dict[str, Translation] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "reshape_like": _fitted,
    "transpose": _transpose,
    "SwapAxis": _swap_axis,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "broadcast_to": _expand,
    "broadcast_axis": _expand,
    "broadcast_like": _broadcast_like,
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "shape_array": _shape_array,
    "size_array": _size_array,
    "_contrib_arange_like": _arange_like,
}
