"""Pooling against its definition, window by window."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import autograd, nd, sym
from runtime.base import MXNetError
from tests.ndarray import gradients

FLOATS = np.random.default_rng(0)


def definition(x, kernel, stride, pad, convention, kind, with_padding):
    rounded = math.ceil if convention == "full" else math.floor
    sizes = list(zip(x.shape[2:], kernel, stride, pad, strict=True))
    outputs = [rounded((n + 2 * p - k) / s) + 1 for n, k, s, p in sizes]
    y = np.zeros((*x.shape[:2], *outputs))
    for place in itertools.product(*map(range, outputs)):
        starts = [o * s - p for o, (_, _, s, p) in zip(place, sizes, strict=True)]
        inside = [slice(max(a, 0), max(min(a + k, n), 0)) for a, (n, k, _, _) in zip(starts, sizes, strict=True)]
        padded = [min(a + k, n + p) - a for a, (n, k, _, p) in zip(starts, sizes, strict=True)]
        window = x[(slice(None), slice(None), *inside)].reshape(*x.shape[:2], -1)
        if window.shape[-1] == 0:
            value = np.finfo(np.float32).min if kind == "max" else 0
        elif kind == "max":
            value = window.max(axis=-1)
        elif kind == "lp":
            value = np.sqrt((window**2).sum(axis=-1))
        else:
            count = math.prod(padded) if with_padding else window.shape[-1]
            value = window.sum(axis=-1) / (count if kind == "avg" else 1)
        y[(slice(None), slice(None), *place)] = value
    return y


@st.composite
def cases(draw):
    axes = draw(st.integers(1, 3))
    kernel, stride = (draw(st.tuples(*[st.integers(1, 4)] * axes)) for _ in range(2))
    pad = tuple(draw(st.integers(0, k - 1)) for k in kernel)
    sizes = tuple(draw(st.integers(max(1, k - 2 * p), 9)) for k, p in zip(kernel, pad, strict=True))
    x = FLOATS.normal(size=(draw(st.integers(1, 2)), 3, *sizes)).astype(np.float32)
    return x, kernel, stride, pad


@settings(deadline=None, max_examples=100)
@given(
    cases(),
    st.sampled_from(["valid", "full"]),
    st.sampled_from(["max", "avg", "sum", "lp"]),
    st.sampled_from([None, False]),
)
def test_is_its_definition(case, convention: str, kind: str, with_padding: bool | None) -> None:
    x, kernel, stride, pad = case
    expected = definition(x.astype(np.float64), kernel, stride, pad, convention, kind, with_padding is None)
    y = nd.Pooling(
        nd.array(x), kernel, kind, pooling_convention=convention, stride=stride, pad=pad, p_value=2,
        count_include_pad=with_padding,
    )  # fmt: skip
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["max", "avg", "sum", "lp"])
def test_global(kind: str) -> None:
    x = FLOATS.normal(size=(2, 3, 4, 5)).astype(np.float32)
    y = nd.Pooling(nd.array(x), pool_type=kind, global_pool=True, p_value=2)
    expected = definition(x, (4, 5), (1, 1), (0, 0), "valid", kind, True)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_channels_last() -> None:
    x = nd.array(FLOATS.normal(size=(2, 6, 5, 3)))
    y = nd.Pooling(x, (2, 2), layout="NHWC")
    expected = nd.Pooling(x.transpose((0, 3, 1, 2)), (2, 2)).transpose((0, 2, 3, 1))
    assert y.shape == (2, 5, 4, 3) and (y.asnumpy() == expected.asnumpy()).all()


def test_more_pads_and_strides_than_axes() -> None:
    """As in MXNet, also in graphs."""
    arguments = dict(kernel=(2,), stride=(2, 3), pad=(1, 0, 0))
    assert nd.Pooling(nd.arange(6).reshape((1, 1, 6)), **arguments).asnumpy().tolist() == [[[0, 2, 4, 5]]]
    assert sym.Pooling(sym.Variable("x"), **arguments).infer_shape(x=(1, 1, 6))[1] == [(1, 1, 4)]


@pytest.mark.parametrize("stride", [1, 2])
def test_the_first_of_several_maxima_gets_the_gradient(stride: int) -> None:
    """Also where the windows are squares side by side, which is other code."""
    x = nd.array([[[[1, 1, 3], [1, 1, 1], [0, 2, 2]]]])
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, (2, 2), stride=(stride, stride))
    y.backward()
    expected = [[1, 0, 1], [0, 0, 0], [0, 2, 0]] if stride == 1 else [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert x.grad.asnumpy()[0, 0].tolist() == expected


@pytest.mark.cpu_only("which of NaN and a number is larger is the kernel's choice")
@pytest.mark.parametrize(
    "size,stride,pad", [((5, 5), (1, 1), (2, 2)), ((4, 3), (1, 2), (0, 1)), ((3, 5), (2, 3), (1, 2))]
)
def test_the_first_largest_among_ties_and_nan_gets_the_gradient(size, stride, pad) -> None:
    """NaN only where a window begins with it."""
    values = FLOATS.choice([0, 1, 2, -np.inf, np.nan], (2, 3, 8, 9)).astype(np.float32)
    x = nd.array(values)
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, size, stride=stride, pad=pad)
    flow = FLOATS.integers(1, 1000, y.shape).astype(np.float32)
    y.backward(nd.array(flow))
    expected = np.zeros_like(values)
    for *plane, oh, ow in np.ndindex(*y.shape):
        h, w = (o * s - p for o, s, p in zip((oh, ow), stride, pad, strict=True))
        inside = slice(max(h, 0), h + size[0]), slice(max(w, 0), w + size[1])
        window = values[(*plane, *inside)]
        ranks = np.where(np.isnan(window), -np.inf, window).ravel()
        place = 0 if np.isnan(window[0, 0]) else ranks.argmax()
        row, column = divmod(int(place), window.shape[1])
        expected[(*plane, max(h, 0) + row, max(w, 0) + column)] += flow[(*plane, oh, ow)]
    assert x.grad.asnumpy().tolist() == expected.tolist()


IMAGE = FLOATS.permutation(2 * 2 * 5 * 6).reshape(2, 2, 5, 6) / 7 + 1.0


def _case(**arguments) -> gradients.Case:
    return gradients.Case(lambda x: nd.Pooling(x, **arguments) ** 2, (IMAGE,), rtol=1e-4, atol=1e-5)


GRADIENTS = {
    "Pooling max": _case(kernel=(3, 2), stride=(2, 1), pad=(1, 0)),
    "Pooling max of squares": _case(kernel=(2, 2), stride=(2, 2)),
    "Pooling avg": _case(kernel=(3, 2), stride=(2, 1), pad=(1, 0), pool_type="avg", pooling_convention="full"),
    "Pooling sum": _case(kernel=(2, 2), stride=(3, 3), pool_type="sum"),
    "Pooling lp": _case(kernel=(2, 2), stride=(2, 2), pool_type="lp", p_value=3),
}


def test_lp_has_no_gradient_at_zero() -> None:
    x = nd.array([[[0, -3, 0, 0]]])
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, (2,), "lp", stride=(2,), p_value=2)
    y.backward()
    assert x.grad.asnumpy().tolist() == [[[0, -1, 0, 0]]]


def test_windows_of_padding_alone() -> None:
    x = nd.arange(6).reshape((1, 1, 2, 3))
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, kernel=(1, 2), pad=(1, 0))
    y.backward()
    assert (y[0, 0, ::3] < -3e38).asnumpy().all() and y[0, 0, 1:3].asnumpy().tolist() == [[1, 2], [4, 5]]
    assert x.grad.asnumpy().ravel().tolist() == [0, 1, 1, 0, 1, 1]
    assert nd.Pooling(x, kernel=(1, 1), pad=(2, 1), pool_type="avg").sum().asscalar() == 15


X = nd.zeros((2, 3, 6, 6))
ERRORS = {
    "type": (dict(pool_type="mean"), "unknown pool_type 'mean'"),
    "convention": (dict(pooling_convention="fill"), "did you mean 'full'"),
    "kernel": (dict(kernel=(7, 2)), r"a kernel of \(7, 2\) exceeds data of shape \(2, 3, 6, 6\)"),
    "kernel axes": (dict(kernel=(2,)), "kernel must be 2 whole numbers"),
    "no kernel": (dict(kernel=()), "kernel must be 2 whole numbers"),
    "p": (dict(pool_type="lp"), "p_value 1, 2 or 3, not None"),
    "axes": (dict(data=nd.zeros((3, 8))), r"but its shape is \(3, 8\)"),
    "integers": (dict(data=X.astype("int32")), "only floats"),
    "layout": (dict(layout="NWC"), "layout 'NWC' does not fit"),
    "same": (dict(pool_type="avg", pooling_convention="same"), "'same' is for pool_type 'max'"),
    "same padding": (dict(pooling_convention="same", pad=(0, 1)), r"has no padding of its own, but pad is \(0, 1\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    changed, message = ERRORS[name]
    with pytest.raises(MXNetError, match=f"^Pooling: .*{message}"):
        nd.Pooling(**dict(data=X, kernel=(2, 2)) | changed)
