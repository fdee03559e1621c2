"""Normalizations: gradients, statistics, running statistics, types, errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
IMAGE, GAMMA, BETA = RNG.normal(size=(2, 4, 3)), RNG.normal(size=4), RNG.normal(size=4)
PAIR = RNG.normal(size=(2, 2))
LONG = RNG.normal(size=(2, 2, 9))  # what the kernels are for


def batch_norm(**attrs: object) -> Callable:
    def call(x: nd.NDArray, gamma: nd.NDArray, beta: nd.NDArray) -> nd.NDArray:
        mean, var = nd.zeros(4, dtype="float64"), nd.ones(4, dtype="float64") * 2
        return nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, **attrs)

    return call


GRADIENTS = {
    "BatchNorm": Case(batch_norm(), [IMAGE, GAMMA, BETA]),
    "BatchNorm compiled": Case(
        lambda x, g, b: nd.BatchNorm(x, g, b, nd.zeros(2, dtype="float64"), nd.ones(2, dtype="float64"),
                                     fix_gamma=False), [LONG, GAMMA[:2], BETA[:2]]),
    "LayerNorm compiled": Case(nd.LayerNorm, [LONG, RNG.normal(size=9), RNG.normal(size=9)]),
    "InstanceNorm compiled": Case(nd.InstanceNorm, [LONG, GAMMA[:2], BETA[:2]]),
    "BatchNorm last": Case(batch_norm(axis=-1), [IMAGE.swapaxes(1, 2), GAMMA, BETA]),
    "BatchNorm global": Case(batch_norm(use_global_stats=True), [IMAGE, GAMMA, BETA]),
    "LayerNorm": Case(nd.LayerNorm, [IMAGE.swapaxes(1, 2), GAMMA, BETA]),
    "LayerNorm axis": Case(lambda x, g, b: nd.LayerNorm(x, g, b, axis=1, eps=0.1), [IMAGE, GAMMA, BETA]),
    "InstanceNorm": Case(nd.InstanceNorm, [IMAGE, GAMMA, BETA]),
    "GroupNorm": Case(lambda x, g, b: nd.GroupNorm(x, g, b, num_groups=2), [IMAGE, GAMMA[:2], BETA[:2]]),
    **{f"L2Normalization {mode}": Case(lambda x, mode=mode: nd.L2Normalization(x, mode=mode), [IMAGE])
       for mode in ("instance", "channel", "spatial")},
    "LRN": Case(lambda x: nd.LRN(x, nsize=3, alpha=0.5), [IMAGE]),
}  # fmt: skip
NO_GRADIENT: set[str] = set()


def running() -> tuple[nd.NDArray, nd.NDArray]:
    return nd.zeros(4), nd.ones(4)


def test_running_statistics_move_when_the_gradient_comes_back() -> None:
    x, (mean, var) = nd.array(IMAGE), running()
    gamma, beta = nd.full((4,), 3.0), nd.zeros(4)
    x.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, var, momentum=0.75)
    assert gamma.asnumpy().tolist() == [1] * 4  # fix_gamma
    assert mean.asnumpy().tolist() == [0] * 4
    y.backward()
    np.testing.assert_allclose(mean.asnumpy(), 0.25 * IMAGE.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), 0.75 + 0.25 * IMAGE.var((0, 2)), rtol=1e-5)
    before = mean.asnumpy()
    predicted = nd.BatchNorm(x, gamma, beta, mean, var)
    with autograd.record():
        nd.BatchNorm(x, gamma, beta, mean, var, use_global_stats=True).backward()
    assert (mean.asnumpy() == before).all()
    column = np.s_[None, :, None]
    expected = (IMAGE - before[column]) / np.sqrt(var.asnumpy()[column] + 1e-3)
    np.testing.assert_allclose(predicted.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def test_statistics_as_outputs() -> None:
    x = nd.array(IMAGE)
    with autograd.train_mode():
        _, mean, rate = nd.BatchNorm(x, nd.ones(4), nd.zeros(4), *running(), output_mean_var=True)
    np.testing.assert_allclose(mean.asnumpy(), IMAGE.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(rate.asnumpy(), 1 / np.sqrt(IMAGE.var((0, 2)) + 1e-3), rtol=1e-5)
    moving_mean, moving_var = running()
    _, mean, rate = nd.BatchNorm(x, nd.ones(4), nd.zeros(4), moving_mean, moving_var, output_mean_var=True)
    np.testing.assert_array_equal(mean.asnumpy(), moving_mean.asnumpy())
    np.testing.assert_allclose(rate.asnumpy(), 1 / np.sqrt(moving_var.asnumpy() + 1e-3), rtol=1e-6)
    _, mean, std = nd.LayerNorm(x, nd.ones(3), nd.zeros(3), output_mean_var=True)
    np.testing.assert_allclose(mean.asnumpy(), IMAGE.mean(2, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(std.asnumpy(), IMAGE.std(2, keepdims=True), rtol=1e-3)
    _, mean, _ = nd.GroupNorm(x, nd.ones(2), nd.zeros(2), num_groups=2, output_mean_var=True)
    np.testing.assert_allclose(mean.asnumpy(), IMAGE.reshape(2, 2, -1).mean(2), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(dtype: str) -> None:
    """Data of 16 bits with float32 parameters and statistics, as a network that was cast has them; and all 16 bits."""
    x = nd.array(IMAGE, dtype=dtype)
    x.attach_grad()
    for kind in ("float32", dtype):
        gamma, beta = nd.ones(4, dtype=kind), nd.zeros(4, dtype=kind)
        gamma.attach_grad()
        with autograd.record():
            y = nd.BatchNorm(x, gamma, beta, *running(), fix_gamma=False)
            (y * y).sum().backward()
        assert y._data.dtype == x.grad._data.dtype == x._data.dtype
        assert gamma.grad._data.dtype == gamma._data.dtype
        np.testing.assert_allclose(y.astype("float32").asnumpy().mean((0, 2)), 0, atol=1e-2)
        np.testing.assert_allclose(gamma.grad.astype("float32").asnumpy(), 12, rtol=2e-2)


def test_a_large_mean_does_not_swallow_the_variance() -> None:
    x = nd.array(IMAGE + 1000)
    y = nd.LayerNorm(x, nd.ones(3), nd.zeros(3)).asnumpy()
    np.testing.assert_allclose(y, nd.LayerNorm(x - 1000, nd.ones(3), nd.zeros(3)).asnumpy(), rtol=2e-3, atol=2e-3)


def test_errors() -> None:
    x, ones = nd.array(IMAGE), nd.ones(4)
    for call, words in (
        (lambda: nd.BatchNorm(x, nd.ones(3), ones, *running()), r"BatchNorm: .*\(2, 4, 3\).* must have shape \(4,\)"),
        (lambda: nd.BatchNorm(x, ones, ones, nd.ones(3), ones), r"moving_mean and moving_var must have shape \(4,\)"),
        (
            lambda: nd.BatchNorm(x, ones, ones, ones, ones, axis=3),
            r"no axis 3 in an array of shape \(2, 4, 3\)",
        ),
        (lambda: nd.LayerNorm(x, ones, ones), r"LayerNorm: .*\(3,\), the length of axis 2"),
        (lambda: nd.LayerNorm(x.astype("float64"), nd.ones(3), nd.ones(3)), "data is float64, but gamma is float32"),
        (lambda: nd.InstanceNorm(nd.array(PAIR), ones, ones), r"\(batch, channels, ...\), not of shape \(2, 2\)"),
        (lambda: nd.GroupNorm(x, ones, ones, num_groups=3), "channels in 3 groups"),
        (lambda: nd.GroupNorm(x, ones, ones, num_groups=2), r"must have shape \(2,\), num_groups"),
        (lambda: nd.L2Normalization(x, mode="sample"), "'instance', 'channel' or 'spatial'"),
        (lambda: nd.L2Normalization(nd.array(PAIR), mode="spatial"), "too few axes"),
        (lambda: nd.LRN(x, nsize=4), "nsize must be odd"),
        (lambda: nd.LRN(nd.ones(3), nsize=3), r"not 3 and \(3,\)"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()


@pytest.mark.parametrize(
    "axes, shape",
    [
        ((0, 2), (5, 3, 2100)),
        ((0, 2), (50, 3, 30)),
        ((0, 2), (1300, 3, 1)),
        ((2,), (5, 3, 2100)),
        ((1,), (70, 2100, 1)),
        ((1,), (70, 5, 1)),
    ],
)
def test_kernels_are_as_exact_as_numpy(axes: tuple[int, ...], shape: tuple[int, int, int]) -> None:
    """Far from 0, in blocks and what is left over; beside NumPy's way, in float64."""
    from runtime.ndarray.nn import normalization

    assert normalization._kernels(shape, axes)
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=shape) + 100).astype(np.float32), rng.normal(size=shape).astype(np.float32)
    gamma, beta = rng.normal(size=(2, shape[1])).astype(np.float32)

    def compiled(*inputs: np.ndarray) -> list[np.ndarray]:
        y = normalization.normalize(*inputs[1:], view=shape, axes=axes, eps=1e-3)
        back = normalization.normalize_back((inputs[0],), y, *inputs[1:], view=shape, axes=axes, eps=1e-3)
        return [v.reshape(-1) for v in (*y, *back)]

    def in_numpy(*inputs: np.ndarray) -> list[np.ndarray]:
        y = normalization._normalize_in_numpy(*inputs[1:], axes, 1e-3)
        return [v.reshape(-1) for v in (*y, *normalization._flow_in_numpy(*inputs[:3], *y[1:], axes, 1e-3))]

    narrow, wide = (g, x, gamma, beta), [v.astype(np.float64) for v in (g, x, gamma, beta)]
    for found, other, double, exact in zip(
        compiled(*narrow), in_numpy(*narrow), compiled(*wide), in_numpy(*wide), strict=True
    ):
        scale = abs(exact).max()
        np.testing.assert_allclose(double, exact, 1e-9, 1e-11 * scale)
        assert abs(found - exact).max() < 2 * abs(other - exact).max() + 1e-6 * scale
