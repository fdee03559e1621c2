"""Random numbers: the seed decides all, the distributions are right, and bad parameters are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.core.generator import _Generator, take_words
from runtime.ndarray.random import distributions
from runtime.test_utils import chi_square_check

N = 20000

DISTRIBUTIONS: dict[str, tuple[tuple[float, ...], Callable[[Any], Any]]] = {
    "uniform": ((-1.5, 3.0), lambda stats: stats.uniform(-1.5, 4.5)),
    "normal": ((10.0, 0.5), lambda stats: stats.norm(10, 0.5)),
    "gamma": ((0.7, 2.0), lambda stats: stats.gamma(0.7, scale=2)),
    "exponential": ((0.25,), lambda stats: stats.expon(scale=0.25)),
    "poisson": ((4.0,), lambda stats: stats.poisson(4)),
    "negative_binomial": ((3, 0.4), lambda stats: stats.nbinom(3, 0.4)),
    "generalized_negative_binomial": ((2.0, 0.3), lambda stats: stats.nbinom(1 / 0.3, 1 / (1 + 0.6))),
}
"""Parameters, and what scipy.stats makes of them."""
FLAT = {"exponential": lambda scale: (1 / scale,)}  # where the operators' parameters are others


def draws(name: str) -> dict[str, Callable[[], nd.NDArray]]:
    """N draws of a distribution, in all ways to ask for them."""
    values, _ = DISTRIBUTIONS[name]
    flat = FLAT.get(name, lambda *v: v)(*values)
    arrays = [nd.full((2,), v) for v in values]
    return {
        "numbers": lambda: getattr(nd.random, name)(*values, shape=N),
        "arrays": lambda: getattr(nd.random, name)(*arrays, shape=(N // 2,)),
        "random_": lambda: getattr(nd, f"random_{name}")(*flat, shape=(N,)),
        "sample_": lambda: getattr(nd, f"sample_{name}")(*(nd.full((2,), v) for v in flat), shape=N // 2),
        "like": lambda: getattr(nd.random, f"{name}_like")(nd.zeros((100, N // 100)), *flat),
        "out": lambda: getattr(nd.random, name)(*values, out=nd.zeros((N,))),
    }


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str) -> None:
    distribution = DISTRIBUTIONS[name][1](pytest.importorskip("scipy.stats"))  # whose import takes a second
    edges = distribution.ppf(np.linspace(0, 1, 9)[1:-1])
    if name in ("poisson", "negative_binomial", "generalized_negative_binomial"):
        edges = np.unique(edges) + 0.5
    edges = np.r_[-1e9, edges, 1e9]
    buckets, probs = list(pairwise(edges)), np.diff(distribution.cdf(edges))
    mx.random.seed(5)
    for way, draw in draws(name).items():
        array = draw()
        assert array.dtype == np.float32 and array.size == N, way
        p, *_ = chi_square_check(lambda n, x=array: x.asnumpy(), buckets, probs, N)
        assert p > 1e-4, (way, p)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_never_reaches_its_upper_bound(dtype: str) -> None:
    x = nd.random.uniform(1, 1.5, shape=200000, dtype=dtype).asnumpy()
    assert x.dtype.name == dtype and x.min() >= 1 and x.max() < 1.5
    assert (nd.random.uniform(2, 2, shape=3, dtype=dtype).asnumpy() == 2).all()


def test_integers_shuffles_and_shapes() -> None:
    x = nd.random.randint(-1, 3, shape=(500,))
    assert x.dtype == np.int32 and set(x.asnumpy()) == {-1, 0, 1, 2}
    assert nd.random.randint(2**40, 2**40 + 1, dtype="int64").asscalar() == 2**40
    rows = nd.arange(0, 3000).reshape((1000, 3))
    shuffled = nd.shuffle(rows).asnumpy()
    assert (shuffled != rows.asnumpy()).any() and (np.sort(shuffled, axis=0) == rows.asnumpy()).all()
    assert nd.random.normal().shape == (1,) and nd.random.randn(2, 3, loc=5).shape == (2, 3)
    assert nd.random.normal(nd.zeros((2, 3)), nd.ones((2, 3)), shape=(4, 5)).shape == (2, 3, 4, 5)
    assert nd.random.uniform(shape=(0, 2)).shape == (0, 2)
    assert nd.random.normal(ctx=mx.cpu(1)).context == mx.cpu(1)
    sampled, true, expected = nd.contrib.rand_zipfian(nd.array([0, 4], dtype="int32"), 5000, 5)
    counts = np.bincount(sampled.asnumpy(), minlength=5)
    np.testing.assert_allclose(counts[[0, 4]], true.asnumpy(), rtol=0.15)
    assert expected.shape == sampled.shape == (5000,)


def test_multinomial() -> None:
    p = nd.array([[0, 0.25, 0.75], [0.5, 0.5, 0]])
    mx.random.seed(2)
    drawn = nd.random.multinomial(p, shape=(20, 1000))
    assert drawn.dtype == np.int32 and drawn.shape == (2, 20, 1000)
    for i in range(2):
        found = np.bincount(drawn.asnumpy()[i].ravel(), minlength=3) / 20000
        np.testing.assert_allclose(found, p.asnumpy()[i], atol=0.02)
        assert (found[p.asnumpy()[i] == 0] == 0).all()
    weighed = nd.random.multinomial(nd.array([0.1, 0, 0.3]), shape=20000).asnumpy()
    np.testing.assert_allclose(np.bincount(weighed) / 20000, [0.25, 0, 0.75], atol=0.02)
    assert nd.random.multinomial(p).shape == (2,) and nd.random.multinomial(p[0], dtype="uint8").dtype == np.uint8

    p.attach_grad()
    with autograd.record():
        drawn, logs = nd.random.multinomial(p, shape=50, get_prob=True)
        (3 * logs).backward()
    chosen = np.take_along_axis(p.asnumpy(), drawn.asnumpy(), axis=1)
    np.testing.assert_allclose(logs.asnumpy(), np.log(chosen), rtol=1e-6)
    counts = np.stack([np.bincount(row, minlength=3) for row in drawn.asnumpy()])
    expected = np.divide(3 * counts, p.asnumpy(), out=np.zeros((2, 3)), where=counts > 0)
    np.testing.assert_allclose(p.grad.asnumpy(), expected, rtol=1e-6)


def everything() -> list[np.ndarray]:
    layer = gluon.nn.Dense(3, in_units=4)
    layer.initialize(mx.init.Xavier())
    with autograd.record():
        dropped = nd.Dropout(nd.ones((50,)), 0.5)
    return [x.asnumpy() for x in (nd.random.gamma(2, 1, shape=5), layer.weight.data(), dropped)]


def test_the_seed_decides_everything() -> None:
    mx.random.seed(11)
    first = everything()
    mx.random.seed(11, ctx=mx.cpu(0))
    assert all((x == y).all() for x, y in zip(first, everything(), strict=True))
    mx.random.seed(12)
    assert not any((x == y).all() for x, y in zip(first, everything(), strict=True))
    with pytest.raises(mx.MXNetError, match=r"no device gpu\(100\)"):
        mx.random.seed(1, ctx=mx.gpu(100))
    for wrong in (1.5, "1", None):
        with pytest.raises(ValueError, match="seed_state must be an int"):
            mx.random.seed(wrong)


def test_threads_share_the_draws_between_them() -> None:
    mx.random.seed(3)
    together = np.sort(np.concatenate([nd.random.uniform(shape=100).asnumpy() for _ in range(40)]))
    mx.random.seed(3)
    found: list[np.ndarray] = []

    def draw() -> None:
        for _ in range(10):
            found.append(nd.random.uniform(shape=100).asnumpy())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), together)


ONE = nd.array([1.0])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nd.random.uniform(2, 1), mx.MXNetError, "random.uniform: low is at most high"),
        (lambda: nd.random.uniform(0, float("inf")), mx.MXNetError, "low and high are finite"),
        (lambda: nd.random.normal(0, -1), mx.MXNetError, "random.normal: scale is not negative"),
        (lambda: nd.random.normal(ONE, -ONE), mx.MXNetError, "scale is not negative"),
        (lambda: nd.random.gamma(float("nan"), 1), mx.MXNetError, "alpha is not negative"),
        (lambda: nd.random.negative_binomial(1, 1.5), mx.MXNetError, r"p is in \(0, 1\]"),
        (lambda: nd.random.poisson(1e30), mx.MXNetError, "random.poisson: lam value too large"),
        (lambda: nd.random_exponential(0), mx.MXNetError, "the rate lam is positive"),
        (lambda: nd.random.uniform(0, ONE), ValueError, "all numbers or all NDArrays, but low is int, high is NDArray"),
        (lambda: nd.random.uniform("a"), ValueError, "low is str"),
        (lambda: nd.random.normal(ONE, nd.ones((2,))), mx.MXNetError, "the parameters' shapes differ"),
        (lambda: nd.random.normal(shape=(-1, 2)), mx.MXNetError, r"no array of shape \(-1, 2\)"),
        (lambda: nd.random.normal(shape=2.5), mx.MXNetError, "a shape is an integer or a tuple"),
        (lambda: nd.random.normal(dtype="int32"), mx.MXNetError, "a floating-point type, not int32"),
        (lambda: nd.random.normal(shape=3, out=nd.ones((2,))), mx.MXNetError, r"has shape \(3,\), but out has"),
        (lambda: nd.random.normal(ctx=mx.gpu(100)), mx.MXNetError, "no device"),
        (lambda: nd.random.randint(5, 5), mx.MXNetError, r"\[5, 5\) is no range of int32"),
        (lambda: nd.random.randint(0, 2**40), mx.MXNetError, "is no range of int32"),
        (lambda: nd.random.randint(0.5, 2), mx.MXNetError, "low and high are integers, not float, int"),
        (lambda: nd.random.randint(0, 2, dtype="float32"), mx.MXNetError, "int32 or int64"),
        (lambda: nd.random.multinomial(nd.zeros((2,))), mx.MXNetError, "row 0 has 0 as its least and 0 as its sum"),
        (lambda: nd.random.multinomial(nd.array([[0.5, 0.5], [-1, 2]])), mx.MXNetError, "row 1 has -1 as its least"),
        (lambda: nd.random.multinomial(nd.zeros((300,)), dtype="uint8"), mx.MXNetError, "uint8 cannot hold all"),
        (lambda: nd.random.multinomial(nd.ones((1,), dtype="int32")), mx.MXNetError, "of a floating-point type"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_exponential_like_takes_a_rate() -> None:
    x = nd.ones((4000,), dtype="float64")
    drawn = nd.random.exponential_like(x, lam=4)
    assert drawn.dtype == np.float64 and abs(drawn.mean().asscalar() - 0.25) < 0.03
    with pytest.raises(ValueError, match="lam is positive"):
        nd.random.exponential_like(x, lam=0)


def test_draws_in_graphs_follow_the_shapes_of_their_parameters() -> None:
    """Their parameters are not known to be valid yet."""
    p = mx.sym.var("p")
    chosen = mx.sym.random.multinomial(p, shape=(5,), get_prob=True)
    assert chosen.infer_shape(p=(2, 3))[1] == [(2, 5)] * 2 and chosen[0].infer_shape(p=(3,))[1] == [(5,)]
    drawn = mx.sym.random.exponential(p, shape=(5,)).bind(mx.cpu(), {"p": nd.array([[1, 100]])}).forward()[0]
    assert drawn.shape == (1, 2, 5) and (drawn >= 0).prod().asscalar() == 1


class _LockedOnce(np.random.Philox):
    """As those of NumPy before 2.3: the lock cannot be taken twice."""

    lock: Any = None

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lock = threading.Lock()

    def random_raw(self, *args: Any, **kwargs: Any) -> Any:
        assert self.lock.acquire(timeout=1), "the lock is taken twice"
        self.lock.release()
        return super().random_raw(*args, **kwargs)


def test_words_are_drawn_under_a_lock_that_cannot_be_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> list[Any]:
        made = _Generator()
        monkeypatch.setattr("runtime.core.generator.generator", made)
        return [x.tolist() for x in (take_words(3), take_words(10), made.bit_generator.random_raw(2))]

    expected = drawn()
    monkeypatch.setattr(np.random, "Philox", _LockedOnce)
    assert drawn() == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_many_even_numbers_have_the_bits_of_numpy(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """A kernel draws them, which begins anywhere in the words of a number of the counter."""
    monkeypatch.setattr(distributions, "MIN_DRAWN", 1 << 14)
    mx.random.seed(3)
    reference = np.random.Generator(np.random.Philox(3))
    for few, n in ((1, 20_000), (2, 16_384), (3, 16_387), (0, 50_001)):
        drawn = [nd.random.uniform(-1, 3, shape=k, dtype=dtype).asnumpy() for k in (few or 1, n)]
        below = np.nextafter(np.array(3, dtype), np.array(-1, dtype)).astype(np.float64)
        for found in drawn:
            expected = np.minimum(-1 + 4 * reference.random(len(found)), below).astype(dtype)
            np.testing.assert_array_equal(found, expected)
