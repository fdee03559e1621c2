"""Arrays of other lengths: each element is one of the old ones, or lies between two of them along an axis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runtime import symbol as sym
from runtime.onnx.reading.node import Node, Reading
from runtime.symbol import Symbol

_ROUNDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}


def _resize(node: Node) -> Symbol:
    shape, mode = node.closed(), node.get("mode", "nearest")
    sizes, scales = _sizes(node, shape)
    usual = "half_pixel" if _is_late(node) else "asymmetric"
    places = node.get("coordinate_transformation_mode", usual)
    rounding = node.get("nearest_mode", "round_prefer_floor" if _is_late(node) else "floor")
    axes = [axis for axis, (old, new) in enumerate(zip(shape, sizes, strict=True)) if old != new or scales[axis] != 1]
    fewer = any(sizes[axis] < shape[axis] for axis in axes)
    if mode not in ("nearest", "linear") or rounding not in _ROUNDED or node.get("antialias", 0):
        node.fail(f"it is '{mode}', rounded by '{rounding}', with antialias={node.get('antialias', 0)}")
    if mode == "nearest" and fewer and not _is_late(node):
        node.fail(f"which elements it leaves out from {shape} to {sizes}, that version of ONNX does not say")
    pictures = len(shape) == 4 and axes == [2, 3] and scales[2:] == [sizes[2] / shape[2], sizes[3] / shape[3]]
    halves = ("pytorch_half_pixel",) if 1 in sizes[2:] else ("half_pixel", "pytorch_half_pixel")  # of one they differ
    if mode == "linear" and pictures and (places == "align_corners" or places in halves):
        corners = places == "align_corners"
        return sym.contrib.BilinearResize2D(node.x, height=sizes[2], width=sizes[3], align_corners=corners)
    x = node.x
    for axis in axes:
        at = _places(node, places, shape[axis], sizes[axis], scales[axis])
        x = _nearest(node, x, axis, at, rounding, shape) if mode == "nearest" else _between(node, x, axis, at, shape)
    return x


def _is_late(node: Node) -> bool:
    """Whether the node is of the versions that say where elements lie."""
    return node.operator == "Resize" and node.opset > 10


def _sizes(node: Node, shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[float]]:
    """The new shape, and by what each axis is scaled."""
    sizes, at = node.ints("sizes", 3), 2 if _is_late(node) else 1
    axes = [axis % len(shape) for axis in node.ints("axes") or range(len(shape))]
    if sizes is not None:
        given = dict(zip(axes, sizes, strict=True))
        wanted = tuple(given.get(axis, n) for axis, n in enumerate(shape))
        return wanted, [new / old for new, old in zip(wanted, shape, strict=True)]
    if not (node.has(at) or node.get("scales")):
        node.fail("it states no sizes")
    scales = node.array(at, "scales").ravel() if node.has(at) else np.array(node.get("scales"))
    factors = dict(zip(axes, scales.tolist(), strict=True))
    by = [factors.get(axis, 1.0) for axis in range(len(shape))]
    exact = np.array(shape) * by
    whole = np.rint(exact)
    is_whole = np.isclose(exact, whole, 1e-6)  # float32 has no 0.6
    wanted = tuple(int(n) for n in np.where(is_whole, whole, np.floor(exact)))
    if min(wanted) < 1:
        node.fail(f"it brings {shape} to {wanted}")
    return wanted, [n / m if w else f for n, m, w, f in zip(wanted, shape, is_whole, by, strict=True)]


def _places(node: Node, places: str, old: int, new: int, scale: float) -> np.ndarray:
    """Where the new elements lie among the old ones."""
    i = np.arange(new)
    halves = (i + 0.5) * old / new - 0.5 if scale == new / old else (i + 0.5) / scale - 0.5
    if places == "half_pixel" or (places == "pytorch_half_pixel" and new > 1):
        return halves
    if places == "half_pixel_symmetric":
        return halves + old / 2 * (1 - new / (scale * old))
    if places == "asymmetric":
        return i * old / new if scale == new / old else i / scale
    if places == "align_corners" and scale == new / old:  # else evaluators do not agree on where the corners are
        return i * (old - 1) / max(new - 1, 1)
    if places == "pytorch_half_pixel":
        return np.zeros(new)
    node.fail(f"its places are '{places}', from {old} to {new} by {scale}")


def _nearest(node: Node, x: Symbol, axis: int, at: np.ndarray, rounding: str, shape: tuple[int, ...]) -> Symbol:
    old, new = shape[axis], len(at)
    chosen = np.clip(_ROUNDED[rounding](at), 0, old - 1)
    if new % old == 0 and (chosen == np.arange(new) // (new // old)).all():
        return x if new == old else sym.repeat(x, axis=axis, repeats=new // old)
    return _taken(node, x, axis, chosen, "nearest")


def _between(node: Node, x: Symbol, axis: int, at: np.ndarray, shape: tuple[int, ...]) -> Symbol:
    at = np.clip(at, 0, shape[axis] - 1)
    low = np.floor(at)
    part = (at - low).astype(node.dtype())
    below = _taken(node, x, axis, low, "below")
    if not part.any():
        return below
    above = _taken(node, x, axis, np.minimum(low + 1, shape[axis] - 1), "above")
    column = (-1, *(1,) * (len(shape) - axis - 1))
    weights = (
        node.made(w.reshape(column), node.output_names[0], f"{name}{axis}")
        for w, name in ((1 - part, "of_below"), (part, "of_above"))
    )
    return sum(map(sym.broadcast_mul, (below, above), weights))


def _taken(node: Node, x: Symbol, axis: int, places: np.ndarray, name: str) -> Symbol:
    return sym.take(x, node.made(places.astype(np.float32), node.output_names[0], f"{name}{axis}"), axis=axis)


READINGS: dict[str, Reading] = {"Resize": _resize, "Upsample": _resize}
