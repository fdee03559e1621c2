"""Parts of arrays along one axis as steps: what is cut out, and what is put into zeros."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.native import gather
from runtime.plan.steps import Array, KernelStep, Shape, Step, new

ELEMENTS_PER_TASK = 1 << 14


class Part(NamedTuple):
    """`count` of `length` positions along an axis, from `first` on, with `before` and `n` elements on both sides."""

    before: int
    first: int
    count: int
    length: int
    n: int


def part_of(key: Any, shape: Shape) -> Part | None:
    """What a key takes from an array of a shape; None if that is not a part along one axis."""
    key = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(k, slice) and k.step in (None, 1) for k in key) or len(key) > len(shape):
        return None
    cuts = [(axis, *k.indices(shape[axis])[:2]) for axis, k in enumerate(key)]
    cuts = [(axis, first, last) for axis, first, last in cuts if last - first != shape[axis]] or cuts[:1]
    if len(cuts) != 1 or cuts[0][2] <= cuts[0][1]:
        return None
    [(axis, first, last)] = cuts
    return Part(math.prod(shape[:axis]), first, last - first, shape[axis], math.prod(shape[axis + 1 :]))


def _part(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Any:
    [x] = inputs
    part = part_of(attrs["key"], x.shape)
    if part is None or x.dtype.char not in "fd":
        return None
    y = new(results[0].shape, x.dtype)
    _append(steps, gather.take_part, x, y, part)
    return [y]


def _place(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Any:
    [g] = inputs
    part = part_of(attrs["key"], attrs["shape"])
    if part is None or g.dtype.char not in "fd":
        return None
    x = new(attrs["shape"], g.dtype)
    _append(steps, gather.put_part, g, x, part)
    return [x]


def _append(steps: list[Step], kernel: Any, x: Array, to: Array, part: Part) -> None:
    rows, each = to.size // part.n, max(1, ELEMENTS_PER_TASK // part.n)
    arguments = [x, to, rows, part.first, part.count, part.length, part.n, each]
    steps.append(KernelStep(kernel, -(-rows // each), to.size, arguments, [x.buffer], [to.buffer], x.dtype))


RULES: dict[str, Callable[..., Any]] = {"part": _part, "place": _place}
"""As in `products`."""
