"""Operators on one array: gradients, what MXNet does with integers and ties, precision of what NumPy lacks."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from runtime import autograd, nd
from tests.ndarray.gradients import Case, each

RNG = np.random.default_rng(0)
ANY = RNG.normal(size=(2, 3)) * 2
POSITIVE = np.abs(ANY) + 0.5
INSIDE = np.tanh(ANY) * 0.9

GRADIENTS = {
    **each(
        "abs arctan arcsinh cbrt cos cosh degrees erf exp expm1 identity negative radians rcbrt reciprocal sin sinh "
        "square tan tanh sign round rint ceil floor trunc fix zeros_like ones_like logical_not gamma gammaln",
        ANY,
    ),
    **each("sqrt rsqrt log log2 log10 log1p", POSITIVE),
    **each("arcsin arccos arctanh erfinv", INSIDE),
    "arccosh": Case(nd.arccosh, [POSITIVE + 1]),
    "clip": Case(lambda x: nd.clip(x, -0.5, 0.5), [ANY]),
    "smooth_l1": Case(nd.smooth_l1, [ANY]),
    "smooth_l1 scalar": Case(lambda x: nd.smooth_l1(x, scalar=1.5), [ANY]),
    "cast": Case(lambda x: nd.cast(nd.cast(x, "float64"), dtype="float64"), [ANY]),
    "amp_cast": Case(lambda x: nd.amp_cast(x, dtype="float64"), [ANY]),
    "amp_multicast": Case(lambda x, y: nd.amp_multicast(x, y, num_outputs=2), [ANY, POSITIVE]),
    "Cast": Case(lambda x: nd.Cast(x, "float64"), [ANY]),
}
NO_GRADIENT = {"BlockGrad", "stop_gradient", "make_loss"}  # not that of what they compute: below


def floats(*values: float, dtype: str = "float32") -> nd.NDArray:
    return nd.array(values, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("round", [-3, -2, -1, 1, 2, 3, 0, -0.0]),
        ("rint", [-3, -2, -1, 0, 1, 2, 0, -0.0]),
        ("fix", [-2, -1, -0.0, 0, 1, 2, 0, -0.0]),
        ("trunc", [-2, -1, -0.0, 0, 1, 2, 0, -0.0]),
        ("ceil", [-2, -1, -0.0, 1, 2, 3, 1, -0.0]),
        ("floor", [-3, -2, -1, 0, 1, 2, 0, -1]),
    ],
)
def test_rounding(name: str, expected: list[float]) -> None:
    """As the real library does: `round` takes ties away from 0, `rint` downwards."""
    operator = getattr(nd, name)
    x = floats(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, np.nextafter(np.float32(0.5), 0), -0.2)
    result = operator(x).asnumpy()
    np.testing.assert_array_equal(result, np.float32(expected))
    np.testing.assert_array_equal(np.signbit(result), np.signbit(np.float32(expected)))
    assert np.isnan(operator(floats(np.nan)).asscalar()) and operator(floats(np.inf)).asscalar() == np.inf
    big = nd.array([2**60 + 1, -3], dtype="int64")
    np.testing.assert_array_equal(operator(big).asnumpy(), big.asnumpy())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exp", [0, 0, 1, 2, 7, 148]),
        ("cbrt", [-1, -1, 0, 1, 1, 1]),
        ("degrees", [-171, -57, 0, 57, 114, 286]),
        ("square", [9, 1, 0, 1, 4, 25]),
        ("sign", [-1, -1, 0, 1, 1, 1]),
        ("logical_not", [0, 0, 1, 0, 0, 0]),
        ("erf", [0, 0, 0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "int8", "int64"])
def test_integers_stay_integers_cut_off(name: str, expected: list[int], dtype: str) -> None:
    result = getattr(nd, name)(nd.array([-3, -1, 0, 1, 2, 5], dtype=dtype))
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.asnumpy(), np.array(expected).astype(dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [n for n in GRADIENTS if n in dir(np) and n != "clip"])
def test_16_bit_floats_are_rounded_once(name: str, dtype: str) -> None:
    x = floats(0.3, 0.7, 0.9, dtype=dtype)
    if name == "arccosh":
        x = x + 1
    exact = getattr(nd, name)(x.astype("float64"))
    np.testing.assert_array_equal(getattr(nd, name)(x).asnumpy(), exact.astype(dtype).asnumpy())


def test_what_is_not_a_number() -> None:
    x = floats(np.nan, np.inf, -np.inf, 1)
    np.testing.assert_array_equal(nd.sign(x).asnumpy(), [0, 1, -1, 1])
    np.testing.assert_array_equal(nd.logical_not(x).asnumpy(), [0, 0, 0, 0])
    np.testing.assert_array_equal(nd.contrib.isnan(x).asnumpy(), [1, 0, 0, 0])
    np.testing.assert_array_equal(nd.contrib.isinf(x).asnumpy(), [0, 1, 1, 0])
    np.testing.assert_array_equal(nd.contrib.isfinite(x).asnumpy(), [0, 0, 0, 1])
    assert nd.contrib.isnan(x).dtype == np.float32
    np.testing.assert_array_equal(nd.clip(x, -2, 2).asnumpy(), [np.nan, 2, -2, 1])


def test_gradients_that_are_not_those_of_the_values() -> None:
    x = floats(2, 3)
    x.attach_grad()
    for operator, expected in ((nd.BlockGrad, [2, 3]), (nd.stop_gradient, [2, 3])):
        with autograd.record():
            y = operator(x) * x
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), expected)
    with autograd.record():
        y = nd.make_loss(x * 2) * 7
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [28, 42])
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2])


def test_casts() -> None:
    with autograd.record():
        x = floats(1.7, -1.7)
        x.attach_grad()
        y = nd.cast(x, "int32")
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [1, -1])
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, 1])
    assert nd.amp_cast(y, dtype="float16").dtype == np.int32
    wide, _, whole = nd.amp_multicast(x.astype("float16"), x, y, num_outputs=3)
    assert (wide.dtype, whole.dtype) == (np.float32, np.int32)
    narrow = nd.amp_multicast(x.astype("float16"), x, num_outputs=2, cast_narrow=True)
    assert [a.dtype for a in narrow] == [np.float16] * 2


SPECIAL: dict[str, tuple[Callable, np.ndarray, float]] = {
    "erf": (mpmath.erf, np.concatenate([RNG.uniform(-6.5, 6.5, 200), 10.0 ** RNG.uniform(-20, 0, 50)]), 5),
    "erfinv": (mpmath.erfinv, np.concatenate([RNG.uniform(-1, 1, 200), 1 - 10.0 ** RNG.uniform(-15, -1, 50)]), 8),
    "gamma": (mpmath.gamma, np.concatenate([RNG.uniform(-20, 171, 200), RNG.uniform(0, 5, 50)]), 8),
    "gammaln": (mpmath.loggamma, np.concatenate([RNG.uniform(0, 5, 200), 10.0 ** RNG.uniform(-20, 20, 50)]), 5),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_are_precise(name: str) -> None:
    """In units in the last place: of float64 a few, of float32 half a one."""
    reference, points, limit = SPECIAL[name]
    result = getattr(nd, name)(nd.array(points, dtype="float64")).asnumpy()
    with mpmath.workdps(40):
        exact = [reference(mpmath.mpf(float(x))) for x in points]
        errors = [
            abs(mpmath.mpf(float(y)) - e) / float(np.spacing(abs(float(e)))) for y, e in zip(result, exact, strict=True)
        ]
    assert max(errors) < limit
    single = points[np.abs(points) < 30].astype(np.float32)
    np.testing.assert_array_equal(
        getattr(nd, name)(nd.array(single)).asnumpy(),
        getattr(nd, name)(nd.array(single, dtype="float64")).asnumpy().astype(np.float32),
    )


def test_special_functions_at_their_ends() -> None:
    np.testing.assert_array_equal(nd.erf(floats(np.inf, -np.inf, np.nan, 0)).asnumpy(), [1, -1, np.nan, 0])
    np.testing.assert_array_equal(
        nd.erfinv(floats(1, -1, 2, np.nan, 0)).asnumpy(), [np.inf, -np.inf, np.nan, np.nan, 0]
    )
    np.testing.assert_array_equal(
        nd.gamma(floats(0, -1, 5, np.inf, 36)).asnumpy(), [np.inf, np.nan, 24, np.inf, np.inf]
    )
    np.testing.assert_array_equal(nd.gammaln(floats(0, -1, 1, 2, np.inf)).asnumpy(), [np.inf, np.inf, 0, 0, np.inf])
    poles = floats(0, -1, -7)
    poles.attach_grad()
    with autograd.record():
        y = nd.gammaln(poles)
    y.backward()
    assert np.isposinf(poles.grad.asnumpy()).all()  # as in MXNet


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_bounds_of_a_clip_need_not_be_of_the_type(dtype: str) -> None:
    x = nd.array([0, 3, 100], dtype=dtype)
    for bounds, expected in (((-np.inf, 3.7), [0, 3, 3]), ((0.5, 2**70), [0, 3, 100]), ((-(10**30), 50), [0, 3, 50])):
        clipped = nd.clip(x, *bounds)
        assert clipped.asnumpy().tolist() == expected and clipped.dtype == x.dtype


def test_a_clip_between_bounds_in_the_wrong_order() -> None:
    with pytest.raises(RuntimeError, match="a_min=3 must not be above a_max=2"):
        nd.clip(floats(1), 3, 2)


def test_a_number_is_no_array() -> None:
    with pytest.raises(TypeError, match="sin"):
        nd.sin(3.0)
