"""Parts of arrays along one axis as steps: what is cut out, and what is put into zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.native import gather
from runtime.ndarray.shape import subscript
from runtime.ndarray.shape.subscript import part_of
from runtime.plan.steps import Array, KernelStep, Step, new


def _part(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Any:
    [x] = inputs
    part = part_of(attrs["key"], x.shape)
    if part is None or x.dtype.char not in "fd":
        return None
    y = new(results[0].shape, x.dtype)
    _append(steps, gather.copy_rows, x, y, part.taken())
    return [y]


def _place(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Any:
    [g] = inputs
    part = part_of(attrs["key"], attrs["shape"])
    if part is None or g.dtype.char not in "fd":
        return None
    x = new(attrs["shape"], g.dtype)
    _append(steps, gather.put_rows, g, x, part.put())
    return [x]


def _append(steps: list[Step], kernel: Any, x: Array, to: Array, sizes: tuple[int, ...]) -> None:
    tasks = -(-to.size // gather.ELEMENTS_PER_TASK)
    steps.append(KernelStep(kernel, tasks, to.size, [x, to, *sizes], [x.buffer], [to.buffer], x.dtype))


RULES: dict[Any, Callable[..., Any]] = {subscript.part: _part, subscript._place: _place}
"""As in `products`."""
