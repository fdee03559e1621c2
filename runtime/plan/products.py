"""Products of matrices, with a bias, and sums with their gradients as steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optgen.linalg.blocks import multiply
from optgen.linalg.matrices import FLOPS
from optgen.loops.language import NO_TRANS, TRANS
from runtime.core.blas import block_shape, is_of_gemm
from runtime.native.sums import summing
from runtime.ndarray.linalg import products
from runtime.ndarray.reduce import reductions
from runtime.ndarray.two_gradients import BackwardCall
from runtime.plan.broadcast import groups_of
from runtime.plan.expressions import ADD, COPY, RELU, RELU_GRADIENT
from runtime.plan.steps import Array, ElementStep, KernelStep, PythonStep, Step, new

Result = list[Array | None] | None


def _are_matrices(*arrays: Array) -> bool:
    return all(x.dtype.char in "fd" and len(x.shape) >= 2 for x in arrays)


def _matmul(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Result:
    a, b = inputs
    if not _are_matrices(a, b):
        return None
    return [_product(steps, a, b, bool(attrs.get("ta")), bool(attrs.get("tb")))]


def _product(steps: list[Step], a: Array, b: Array, ta: bool, tb: bool) -> Array:
    """The product of two matrices, or of the matrices in two stacks, transposed if asked."""
    m, k = a.shape[-2:][::-1] if ta else a.shape[-2:]
    n = b.shape[-2] if tb else b.shape[-1]
    y, batch = new((*a.shape[:-2], m, n), a.dtype), math.prod(a.shape[:-2])
    if not is_of_gemm(m, n, k, batch):
        steps.append(PythonStep(products._product, [a, b, ta, tb], {}, [y]))
        return y
    rows, columns = block_shape(m, n, k, tb)
    tasks = batch * -(-m // rows) * -(-n // columns)
    flags = [TRANS if t else NO_TRANS for t in (ta, tb)]
    arguments = [a, b, y, *flags, m, n, k, rows, columns, 0]
    work = 2 * batch * m * n * k // FLOPS
    steps.append(KernelStep(multiply, tasks, work, arguments, [a.buffer, b.buffer], [y.buffer], a.dtype))
    return y


def _linear(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Result:
    x, w, b = inputs
    if not _are_matrices(x, w):
        return None
    product = _product(steps, x, w, False, True)
    y = new(product.shape, product.dtype)
    text = RELU.replace("{0}", ADD) if attrs.get("relu") else ADD
    steps.append(ElementStep(y, [product, b], text))
    return [y]


def _linear_backward(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Result:
    g, y, x, w, _ = inputs
    if not _are_matrices(g, x, w):
        return None
    if attrs.get("relu"):
        flow = new(g.shape, g.dtype)
        steps.append(ElementStep(flow, [g, y], RELU_GRADIENT))
        g = flow
    dx = _product(steps, g, w, False, False) if results[0] is not None else None
    return [dx, _product(steps, g, x, True, False), _sum_of_rows(steps, g)]


def _spread(steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> Result:
    """The gradient of a sum: each element of it, wherever it was summed from."""
    [g] = inputs
    y = new(attrs["shape"], g.dtype)
    each = g.reshaped(tuple(1 if axis in attrs["axes"] else n for axis, n in enumerate(y.shape)))
    if g.dtype.char not in "fd" or groups_of(y.shape, [each.shape]) is None:
        return None
    steps.append(ElementStep(y, [each], COPY))
    return [y]


def _sum_of_rows(steps: list[Step], x: Array) -> Array:
    y = new(x.shape[1:], x.dtype)
    run, tasks, numbers, scratch = summing(*x.shape, 1)
    steps.append(KernelStep(run, tasks, x.size, [x, y, *numbers], [x.buffer], [y.buffer], x.dtype, scratch))
    return y


RULES: dict[Any, Callable[..., Result]] = {
    products._matmul: _matmul,
    products._linear: _linear,
    BackwardCall(products._linear): _linear_backward,
    reductions._spread: _spread,
}
"""By operators: functions that append the steps of a call and return its results, or None."""
