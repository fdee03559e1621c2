"""The optimizers' operators: against MXNet's numbers, and how they treat their arrays."""

from __future__ import annotations

import gc
import inspect
import weakref
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from runtime.ndarray.updates import optimizer_ops
from tests.ndarray.peers.cases import Case, cases, run

DATA = np.load(Path(__file__).parent / "peers" / "data" / "updates.npz")
EXPECTED = np.split(DATA["values"], np.cumsum(DATA["lengths"])[:-1])


@pytest.mark.parametrize(
    ("case", "expected"), list(zip(cases(), EXPECTED, strict=True)), ids=lambda x: getattr(x, "id", "")
)
def test_as_in_mxnet(case: Case, expected: np.ndarray) -> None:
    # MXNet computes constants like 1 - 0.999 in float32, and all in float16 if there is no master.
    tolerance = 3e-5 if case.dtype != "float16" else 1e-3 if case.master else 3e-2
    np.testing.assert_allclose(run(mx, case), expected, tolerance, 0.01 * tolerance)


def arrays(*numbers: float, count: int = 1, dtype: str = "float32") -> list[nd.NDArray]:
    return [nd.array(numbers, dtype=dtype) for _ in range(count)]


def test_nan_as_in_mxnet() -> None:
    """Its numbers: the sign of a NaN is 0, unlike in the optimizers' specs; FTRL's threshold does not hide one."""
    weight, grad = nd.array([1, 2, 3]), nd.array([0.1, np.nan, 0.1])
    for found in (nd.signsgd_update(weight, grad, lr=0.1), nd.signum_update(weight, grad, nd.zeros(3), lr=0.1)):
        np.testing.assert_allclose(found.asnumpy(), [0.9, 2, 2.9], 1e-6)
    found = nd.ftrl_update(weight, grad, nd.zeros(3), nd.zeros(3), lr=0.1)
    np.testing.assert_allclose(found.asnumpy(), [0.08090909, np.nan, 0.2627273], 1e-6)


# ---------------------------------------------------------------- what is written


def test_only_out_and_states_are_written() -> None:
    weight, grad, mom, other = arrays(1, 2, count=4)
    returned = nd.sgd_mom_update(weight, grad, mom, lr=0.5)
    assert returned.asnumpy().tolist() == [0.5, 1]
    assert mom.asnumpy().tolist() == [-0.5, -1]
    assert weight.asnumpy().tolist() == grad.asnumpy().tolist() == [1, 2]
    assert nd.sgd_update(weight, grad, 0.5, out=other) is other
    assert (other.asnumpy().tolist(), weight.asnumpy().tolist()) == ([0.5, 1], [1, 2])
    outs = arrays(0, 0, count=2)
    results = nd.multi_sgd_update(weight, grad, other, grad, lrs=(1, 1), wds=(0, 0), num_weights=2, out=outs)
    assert all(x is y for x, y in zip(results, outs, strict=True))
    assert [x.asnumpy().tolist() for x in outs] == [[0, 0], [-0.5, -1]]


def test_updates_are_not_recorded() -> None:
    weight, other = arrays(1, 2, count=2)
    weight.attach_grad()
    with mx.autograd.record():
        results = [nd.sgd_update(weight, weight.grad, 0.5, out=out) for out in (None, weight, other)]
        for x in (results[0], other):
            with pytest.raises(mx.MXNetError):
                x.backward()


def test_new_gradients_and_rates_are_read() -> None:
    weight, grad, mean, var = nd.ones(4), nd.ones(4), nd.zeros(4), nd.zeros(4)
    expected, m, v = np.ones(4), np.zeros(4), np.zeros(4)
    for step in range(1, 6):
        lr, g = 0.125 / step, np.arange(4) * step
        if step < 4:
            grad[:] = g
        else:
            grad = nd.array(g)
        nd.adam_update(weight, grad, mean, var, lr=lr, beta1=0.5, beta2=0.75, epsilon=0.5, out=weight)
        m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g**2
        expected -= lr * m / (np.sqrt(v) + 0.5)
        np.testing.assert_allclose(weight.asnumpy(), expected, 1e-6)


def test_nothing_is_kept_of_dead_weights() -> None:
    weight, grad, mom = arrays(1, 2, count=3)
    nd.sgd_mom_update(weight, grad, mom, lr=0.5, out=weight)
    alive = weakref.ref(mom)
    del weight, grad, mom
    gc.collect()
    assert alive() is None


def test_sparse_weight_and_states_may_lack_rows() -> None:
    weight = nd.ones((3, 2)).tostype("row_sparse")
    mom = nd.sparse.zeros("row_sparse", (3, 2))
    grad = nd.sparse.row_sparse_array((np.ones((1, 2)), [1]), shape=(3, 2), dtype="float32")
    nd.sparse.sgd_mom_update(weight, grad, mom, lr=0.5, momentum=0.5, out=weight)
    assert weight.asnumpy().tolist() == [[1, 1], [0.5, 0.5], [1, 1]]
    assert mom.asnumpy().tolist() == [[0, 0], [-0.5, -0.5], [0, 0]]
    nothing = nd.sparse.zeros("row_sparse", (3, 2))
    nd.sparse.sgd_mom_update(weight, nothing, mom, lr=0.5, momentum=0.5, out=weight)
    assert weight.asnumpy()[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("scale", [0.0, float("nan"), float("inf"), nd.array([float("nan")])])
def test_adamw_leaves_all_as_it_is_after_an_overflow(scale: object) -> None:
    weight, grad, mean, var = arrays(1, 2, count=4)
    assert nd.contrib.adamw_update(weight, grad, mean, var, scale, lr=0.5, eta=1, out=weight) is weight
    assert weight.asnumpy().tolist() == mean.asnumpy().tolist() == var.asnumpy().tolist() == [1, 2]


# ---------------------------------------------------------------- what MXNet cannot compute on a CPU, or by other means


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_lamb_in_two_phases(dtype: str) -> None:
    weights, grads = arrays(1, -2, 0.5, count=2, dtype=dtype), arrays(0.25, 1, -1, count=2, dtype=dtype)
    lamb = mx.optimizer.LAMB(0.125, wd=0.25, upper_bound=2.0, multi_precision=True)
    state = lamb.create_state_multi_precision(0, weights[0])
    mean, var, master = nd.zeros(3), nd.zeros(3), weights[1].astype("float32")
    bounds = {"upper_bound": 2.0}
    for t in (1, 2, 3):
        lamb.update_multi_precision(0, weights[0], grads[0], state)
        if dtype == "float32":
            g = nd.lamb_update_phase1(weights[1], grads[1], mean, var, t=t, wd=0.25)
            nd.lamb_update_phase2(weights[1], g, weights[1].norm(), g.norm(), 0.125, **bounds, out=weights[1])
        else:
            g = nd.mp_lamb_update_phase1(weights[1], grads[1], mean, var, master, t=t, wd=0.25)
            norms = master.norm(), g.norm()
            nd.mp_lamb_update_phase2(weights[1], g, *norms, master, 0.125, **bounds, out=weights[1])
    assert weights[1].dtype == np.dtype(dtype)
    np.testing.assert_allclose(weights[1].asnumpy(), weights[0].asnumpy(), 1e-6)


def test_lars_rates() -> None:
    vectors = ([0.1, 0.2, 0.3], [4.0, 0.0, 9.0], [1.0, 2.0, 4.0], [0.0, 0.5, 0.25])
    rates = nd.multi_lars(*map(nd.array, vectors), eta=0.5, eps=0.25, rescale_grad=0.5)
    np.testing.assert_allclose(rates.asnumpy(), [0.1 * 0.5 * 2 / 0.75, 0.2, 0.3 * 0.5 * 3 / 2], 1e-6)


def test_group_adagrad() -> None:
    weight, history = nd.ones((3, 2)), nd.zeros((3, 1))
    grad = nd.sparse.row_sparse_array((np.array([[1.0, 3.0]]), [1]), shape=(3, 2), dtype="float32")
    nd.contrib.group_adagrad_update(weight, grad, history, lr=0.5, epsilon=4.0, out=weight)
    assert history.asnumpy().tolist() == [[0], [5], [0]]
    np.testing.assert_allclose(weight.asnumpy(), [[1, 1], [1 - 0.5 / 3, 0.5], [1, 1]], 1e-6)


# ---------------------------------------------------------------- errors

W, G = nd.ones(2), nd.ones(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nd.sgd_update(W, G), "sgd_update: missing a required argument: 'lr'"),
        (lambda: nd.sgd_update(W, G, lr="fast"), "sgd_update: 'lr' must be a number, not 'fast'"),
        (lambda: nd.sgd_update(W, G, lr=0.1, weight_decay=1), "sgd_update has no argument 'weight_decay'"),
        (lambda: nd.sgd_update(W, nd.ones(3), lr=0.1), r"sgd_update: gradient .*shape \(3,\).* has \(2,\)"),
        (lambda: nd.sgd_update(W, G.astype("float64"), lr=0.1), "sgd_update: gradient .*float64.*float32"),
        (lambda: nd.sgd_update(W, [1, 2], lr=0.1), "sgd_update: expected arrays, not list"),
        (lambda: nd.sgd_update(W, G, lr=0.1, out=nd.ones(1)), r"sgd_update: out has the shapes \[\(1,\)\]"),
        (lambda: nd.sgd_mom_update(W, G, W, lr=0.1, out=W), "sgd_mom_update: .*share memory"),
        (lambda: nd.mp_sgd_update(W, G, nd.ones(2), lr=0.1), "mp_sgd_update: master weights are for float16"),
        (lambda: nd.lamb_update_phase1(W, G, nd.ones(2), nd.ones(2), wd=0), "lamb_update_phase1: 't' must be given"),
        (lambda: nd.multi_sgd_update(W, G, W, lrs=[1], wds=[0]), "3 arrays; for num_weights=1 there must be 1 times 2"),
        (lambda: nd.multi_sgd_update(W, G, lrs=[1, 2], wds=[0]), "lrs must be 1 numbers"),
        (lambda: nd.sparse.adagrad_update(W, G, nd.ones(2), lr=1, wd=1), "adagrad_update does not use 'wd'"),
        (lambda: nd.contrib.multi_adamw_update([W], [G], [], [], 1, [1], [0], [1]), "lists of one length"),
        (lambda: nd.multi_lars(nd.ones(1), W, W, W, 1, 1), "multi_lars: arrays of one shape"),
    ],
)
def test_errors(call: object, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        call()
    assert W.asnumpy().tolist() == [1, 1]


def test_every_operator_says_what_it_takes() -> None:
    for name in optimizer_ops.__all__:
        signature = inspect.signature(getattr(nd, name))
        assert {"out", "name"} <= set(signature.parameters) or name == "multi_lars"
        assert getattr(nd, name).__doc__
    assert list(inspect.signature(nd.mp_sgd_mom_update).parameters)[:5] == ["weight", "grad", "mom", "weight32", "lr"]
