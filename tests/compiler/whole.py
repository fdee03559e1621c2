"""Updates by the kernel before it is cut, and by its stages, with the same products: both must have the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import optgen
from optgen import pipeline
from optgen.execute.stages import calls
from optgen.execute.stages.staged_table import is_due
from optgen.ir import Value, Variant, interp
from optgen.ir.expand import Emitter
from optgen.ir.interp import TensorUpdate
from optgen.model import Timing
from optgen.stages.interp import CallFunction, interpret_plan
from optgen.stages.interp_whole import interpret_whole
from optgen.stages.plan import GROUPED, CallStage, Operand
from tests.compiler.harness import same_bits

Array = np.ndarray[Any, Any]


def multiplied(a: Array, b: Array) -> Array:
    """A product whose bits do not depend on how its operands are stored: one term after the other, in double."""
    total: Array = np.zeros((*a.shape[:-1], b.shape[-1]))
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None].astype(np.float64) * b[..., None, k, :]
    return total.astype(a.dtype)


def matrix_call(function: str, operands: Sequence[Array], numbers: Sequence[float], shape: tuple[int, ...]) -> Array:
    """A product or a function of matrices, of operands as the equations have them."""
    if function == "product":
        a, b = operands
        left, right = a.ndim < b.ndim, b.ndim < a.ndim
        found = multiplied(a[..., None, :] if left else a, b[..., None] if right else b)
        return found.reshape(shape)
    like = operands[0].dtype if operands else np.dtype(np.float32)
    out = np.zeros(shape, np.float64 if function == "trace" else like)
    name = "diagonal" if function == "diag" and len(shape) < operands[0].ndim else function
    arrays = tuple(np.ascontiguousarray(x) for x in operands)
    calls.call(CallStage(name, tuple(map(Operand, "ab"[: len(arrays)])), ""), arrays, numbers, out)
    return out


def weighted(factors: Sequence[float], x: Array, y: Array) -> Array:
    """alpha*x + beta*y, as a kernel computes it that reads both arrays: the factors are rounded to their dtype."""

    def terms(b: Emitter, alpha: Value, beta: Value, x: Value, y: Value) -> Value:
        if x.type.dtype == "f32":
            alpha, beta = b.convert(alpha), b.convert(beta)
        return b.add(b.mul(alpha, x), b.mul(beta, y))

    found: Array = interp.call(terms, *map(np.float64, factors), interp.flushed(x), interp.flushed(y))
    return found


def stage_call(stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    """The same of a stage, whose operands and result are as they are stored."""
    if stage.function in GROUPED:
        calls.call(stage, operands, numbers, out)
        return
    arrays = [x.swapaxes(-1, -2) if of.transposed else x for of, x in zip(stage.operands, operands, strict=True)]
    if stage.function == "product" and len(arrays) > 2:
        *factors, added = arrays
        out[...] = weighted(numbers, matrix_call("product", factors, (), out.shape), added)
        return
    if stage.function == "transpose":
        out[...] = arrays[0].swapaxes(-1, -2)
        return
    target = out.swapaxes(-1, -2) if stage.turned else out
    target[...] = matrix_call(stage.function.replace("diagonal", "diag"), arrays, numbers, target.shape)


def update(
    spec: optgen.Optimizer, variant: Variant, tensors: Sequence[TensorUpdate], count: int, values: Mapping[str, Any],
    seed: int,
) -> None:  # fmt: skip
    """An update by the whole kernel, in place."""
    kernel = pipeline.build_whole(spec, variant, _due(spec, count, values), first=count == 1)
    interpret_whole(kernel, tensors, matrix_call, seed)


def update_by_stages(
    spec: optgen.Optimizer, variant: Variant, tensors: Sequence[TensorUpdate], count: int, values: Mapping[str, Any],
    seed: int, call: CallFunction = stage_call,
) -> None:  # fmt: skip
    """An update by the stages, in place."""
    plan = pipeline.stages(spec, variant, _due(spec, count, values), first=count == 1)
    interpret_plan(plan, tensors, call, last_two=spec.last_two, seed=seed)


def difference(
    spec: optgen.Optimizer, variant: Variant, tensors: Sequence[TensorUpdate], count: int, values: Mapping[str, Any],
    seed: int = 0,
) -> str | None:  # fmt: skip
    """What an update by the whole kernel has other bits of than one by its stages, which is done in place; None if
    there is nothing."""
    by_whole = copies(tensors)
    update(spec, variant, by_whole, count, values, seed)
    update_by_stages(spec, variant, tensors, count, values, seed)
    return other_bits(by_whole, tensors)


def other_bits(these: Sequence[TensorUpdate], those: Sequence[TensorUpdate]) -> str | None:
    """The first array of which tensors have other bits; None if there is none."""
    for i, (a, b) in enumerate(zip(these, those, strict=True)):
        for name, x in a.buffers.items():
            if not same_bits(x, b.buffers[name]):
                return f"{name}[{i}]: {x} and {b.buffers[name]}"
    return None


def copies(tensors: Sequence[TensorUpdate]) -> list[TensorUpdate]:
    """Tensors with arrays of their own; an array that several have, as a state of kind shared, stays one."""
    made: dict[int, Array] = {}
    return [
        replace(x, buffers={k: made.setdefault(id(array), array.copy()) for k, array in x.buffers.items()})
        for x in tensors
    ]


def _due(spec: optgen.Optimizer, count: int, values: Mapping[str, Any]) -> list[Timing]:
    return [timing for timing in spec.timings if is_due(timing, count, values)]
