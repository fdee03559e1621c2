"""What an optimizer is given beside float32 weights and dense gradients, and what it keeps: masters, stored states,
rows, further inputs, weights to evaluate with; through the Updater, the Trainer, and for classes written by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd, optimizer
from runtime.lr_scheduler import FactorScheduler

SHAPES = ((70, 80), (33,), (5, 3))


@optimizer.register
class Momentum(optimizer.Optimizer):
    """Written by hand; None is the state of vectors."""

    def create_state(self, index: Any, weight: nd.NDArray) -> Any:
        return None if weight.ndim == 1 else (nd.zeros(weight.shape, weight.context, weight.dtype), [0])

    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: Any) -> None:
        self._update_count(index)
        step = self._get_lr(index) * self.rescale_grad * grad
        if state is not None:
            velocity, _ = state
            velocity[:] = 0.5 * velocity - step
            weight += velocity
        else:
            weight -= step


def arrays(seed: int, dtype: str = "float32") -> list[nd.NDArray]:
    rng = np.random.default_rng(seed)
    return [nd.array(rng.normal(size=shape), dtype=dtype) for shape in SHAPES]


def run(updater: optimizer.Updater, weights: list[nd.NDArray], steps: int = 3) -> list[np.ndarray]:
    for step in range(steps):
        updater(list(range(len(weights))), arrays(step + 1, weights[0]._data.dtype.name), weights)
    return [w.asnumpy() for w in weights]


def updater(name: str, **arguments: Any) -> optimizer.Updater:
    return optimizer.get_updater(optimizer.create(name, **arguments))


def parameters(**arguments: Any) -> list[gluon.Parameter]:
    params = []
    for i, values in enumerate(arrays(0)):
        params.append(gluon.Parameter(f"p{i}_weight", shape=values.shape, **arguments))
        params[-1].initialize()
        params[-1].set_data(values)
    return params


def step(trainer: gluon.Trainer, params: list[gluon.Parameter], factor: float = 1.0) -> None:
    with autograd.record():
        losses = [(p.data() * p.data()).sum() * factor for p in params]
    autograd.backward(losses)
    trainer.step(1)


# ---------------------------------------------------------------- the Updater


@pytest.mark.parametrize("name", ["adam", "momentum"])
def test_one_by_one_by_name_and_all_at_once_are_the_same(name: str) -> None:
    together, each, named = arrays(0), arrays(0), arrays(0)
    first, second, third = (updater(name, learning_rate=0.1) for _ in range(3))
    for k in range(3):
        grads = arrays(k + 1)
        first([0, 1, 2], grads, together)
        for i in (2, 0, 1):
            second(i, grads[i], each[i])
            third("abc"[i], grads[i], named[i])
    for others in (each, named):
        for a, b in zip(together, others, strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert set(third.states) == {"a", "b", "c"}
    assert third.optimizer._index_update_count == {"a": 3, "b": 3, "c": 3}


def test_several_element_types_in_one_call() -> None:
    mixed = updater("adam", multi_precision=True)
    weights = [a[0] for a in (arrays(0), arrays(0, "float64"), arrays(0, "float16"))]
    mixed([0, 1, 2], [a[0] for a in (arrays(1), arrays(1, "float64"), arrays(1, "float16"))], weights)
    for w in weights:
        np.testing.assert_allclose(w.asnumpy().astype(float), weights[1].asnumpy(), rtol=2e-3, atol=1e-3)


# ---------------------------------------------------------------- masters and storage


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["adam", "lamb", "momentum"])
def test_masters_are_float32_training(name: str, dtype: str) -> None:
    short, mine = arrays(0, dtype), updater(name, multi_precision=True, learning_rate=0.01)
    exact, reference = [w.astype("float32") for w in short], updater(name, learning_rate=0.01)
    for k in range(3):
        grads = arrays(k + 1, dtype)
        mine([0, 1, 2], grads, short)
        reference([0, 1, 2], [g.astype("float32") for g in grads], exact)
    for i, (w, e) in enumerate(zip(short, exact, strict=True)):
        master, _ = mine.states[i]
        np.testing.assert_array_equal(master.asnumpy(), e.asnumpy())
        np.testing.assert_array_equal(w.asnumpy(), e.astype(dtype).asnumpy())


@pytest.mark.parametrize("storage", ["bfloat16", "bfloat16_stochastic", "int8_dynamic", "int8_linear", "int4_dynamic"])
def test_storage_of_states(storage: str) -> None:
    mx.random.seed(3)
    stored = updater("adam", learning_rate=0.01, storage={"m": storage})
    exact = run(updater("adam", learning_rate=0.01), arrays(0))
    for a, b in zip(run(stored, arrays(0)), exact, strict=True):
        assert 0 < np.abs(a - b).max() < (1e-2 if storage == "int4_dynamic" else 2e-3) or a.size < 4096
    large, small = stored.states[0], stored.states[1]
    assert large["m"]._data.dtype.itemsize == (1 if storage.startswith("int") else 2)
    assert large["v"].dtype == np.float32
    assert set(large.names) == {"m", "v"} | ({"m.scale"} if storage.startswith("int") else set())
    assert small.names == ("m", "v")


def test_draws_follow_the_seed_of_random() -> None:
    def noise(seed: int) -> list[np.ndarray]:
        mx.random.seed(seed)
        weights = [nd.zeros((6, 7)), nd.zeros((6, 7))]
        updater("sgld", learning_rate=1.0)([0, 1], [nd.zeros((6, 7))] * 2, weights)
        return [w.asnumpy() for w in weights]

    (a, b), again, other = noise(1), noise(1), noise(2)
    np.testing.assert_array_equal([a, b], again)
    assert not np.isin(a, b).any()
    assert not np.isin(a, other).any()


@pytest.mark.parametrize("together", [True, False])
def test_no_two_parameters_draw_the_same(together: bool) -> None:
    """Not those with names and those with indices, in any order, nor those whose index is no number of a draw."""
    keys: list[int | str] = ["a", 0, "b", 1, 1 << 20, -1]
    mx.random.seed(1)
    weights = [nd.zeros((6, 7)) for _ in keys]
    update = updater("sgld", learning_rate=1.0)
    for some in [slice(0, 6)] if together else [slice(i, i + 1) for i in range(6)]:
        update(keys[some], [nd.zeros((6, 7)) for _ in keys[some]], weights[some])
    assert len({w.asnumpy().tobytes() for w in weights}) == len(keys)


# ---------------------------------------------------------------- row-sparse gradients


@pytest.mark.parametrize("storage", [None, "int8_dynamic"])
def test_lazy_and_standard_updates(storage: str | None) -> None:
    start = arrays(0)[0]
    rows = nd.array(np.random.default_rng(5).normal(size=(3, 80)))
    sparse = nd.sparse.row_sparse_array((rows, [1, 40, 69]), shape=(70, 80))
    dense, touched = sparse.tostype("default"), [1, 40, 69]

    def trained(grad: nd.NDArray, lazy: bool) -> np.ndarray:
        weight = start.copy()
        weight.attach_grad(stype="row_sparse")
        apply = updater("adam", learning_rate=0.1, wd=0.1, lazy_update=lazy, storage=storage)
        for _ in range(2):
            apply(0, grad, weight)
        return weight.asnumpy()

    standard, lazy, plain = trained(sparse, False), trained(sparse, True), trained(dense, False)
    np.testing.assert_array_equal(standard, plain)
    np.testing.assert_allclose(lazy[touched], plain[touched], rtol=1e-5 if storage is None else 1e-2)
    absent = np.delete(np.arange(70), touched)
    np.testing.assert_array_equal(lazy[absent], start.asnumpy()[absent])
    assert (plain[absent] != start.asnumpy()[absent]).all()


def test_sparse_gradients_through_the_trainer() -> None:
    results = []
    for sparse in (False, True):
        net = gluon.nn.Embedding(50, 4, sparse_grad=sparse)
        net.initialize(mx.init.Constant(0.5))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1, "lazy_update": False})
        for tokens in ([1, 2, 1], [7], [2, 49]):
            with autograd.record():
                loss = (net(nd.array(tokens)) ** 2).sum()
            loss.backward()
            trainer.step(1)
        results.append(net.weight.data().asnumpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


# ---------------------------------------------------------------- weights to evaluate with


@pytest.mark.parametrize("arguments", [{}, {"multi_precision": True}])
def test_evaluating(arguments: dict[str, Any]) -> None:
    params = parameters(dtype="float16" if arguments else "float32")
    trainer = gluon.Trainer(params, "schedulefree_sgd", {"learning_rate": 0.1, "beta": 0.5, **arguments})
    with trainer.evaluating():  # nothing was averaged yet
        pass
    for k in range(3):
        step(trainer, params, k + 1)
    before = [p.data().asnumpy() for p in params]
    with pytest.raises(ZeroDivisionError), trainer.evaluating():
        for i, (p, y) in enumerate(zip(params, before, strict=True)):
            state = trainer._updaters[0].states[i]
            master, inner = state if arguments else (nd.array(y), state)
            average = 2 * master.asnumpy() - inner["z"].asnumpy()
            np.testing.assert_allclose(p.data().asnumpy(), average, rtol=2e-3 if arguments else 1e-4, atol=1e-4)
            assert (p.data().asnumpy() != y).any()
        with pytest.raises(MXNetError, match="step outside"):
            trainer.step(1)
        with pytest.raises(MXNetError, match="already"), trainer.evaluating():
            pass
        raise ZeroDivisionError
    for p, y in zip(params, before, strict=True):
        np.testing.assert_array_equal(p.data().asnumpy(), y)
    step(trainer, params)


def test_evaluating_heeds_what_is_set_for_each_parameter() -> None:
    optimizer.register_spec("""\
optimizer Partly
flag  plain per param = false
state x = w if not plain
update:
  w' = w - lr*g
  x' = 0.5*(x + w')   if not plain
eval:
  w' = w              if plain
  w' = x              otherwise
""")
    params = parameters()
    trainer = gluon.Trainer(params, "partly", {"learning_rate": 0.5, "plain": (params[0].name,)})
    step(trainer, params)
    before = [p.data().asnumpy() for p in params]
    with trainer.evaluating():
        same = [np.array_equal(p.data().asnumpy(), y) for p, y in zip(params, before, strict=True)]
    assert same == [True, *[False] * (len(params) - 1)]


def test_optimizers_without_an_evaluation_view_evaluate_their_weights() -> None:
    for name in ("adam", "momentum"):
        params = parameters()
        trainer = gluon.Trainer(params, name)
        step(trainer, params)
        before = params[0].data().asnumpy()
        with trainer.evaluating():
            np.testing.assert_array_equal(params[0].data().asnumpy(), before)


# ---------------------------------------------------------------- inputs, shared states, rules by name


def test_inputs() -> None:
    params = parameters()
    trainer = gluon.Trainer(params, "sophia", {"learning_rate": 0.01})
    with pytest.raises(MXNetError, match="needs its input 'h_hat' for parameter 'p0_weight'"):
        step(trainer, params)
    with pytest.raises(ValueError, match="Sophia has no input 'h'"):
        trainer.optimizer.set_input("h", {})
    trainer.optimizer.set_input("h_hat", {p.name: nd.ones(p.shape) * 2 for p in params})
    step(trainer, params)
    np.testing.assert_allclose(trainer._updaters[0].states[0]["h"].asnumpy(), 0.01 * 2, rtol=1e-6)
    with pytest.raises(ValueError, match="input 'h_hat' of parameter 'p1_weight': shape"):
        trainer.optimizer.set_input("h_hat", {1: nd.ones((2, 2))})
        trainer.optimizer._bindings.clear()
        step(trainer, params)


def test_a_number_that_each_step_reads_has_no_default() -> None:
    optimizer.register_spec("optimizer Halved\ninput q: host\nupdate:\n  w' = w - lr*q*g\n")
    params = parameters()
    trainer = gluon.Trainer(params, "halved", {"learning_rate": 1.0})
    for _ in range(2):
        with pytest.raises(MXNetError, match=r"Halved reads 'q': set optimizer\.q before each step"):
            step(trainer, params)
    assert trainer.optimizer.num_update == 0
    trainer.optimizer.q = 0.5
    step(trainer, params)
    assert trainer.optimizer.num_update == 1


def test_sums_over_parameters_need_all_of_them() -> None:
    params = parameters()
    trainer = gluon.Trainer(params, "prodigy")
    with autograd.record():
        loss = params[0].data().sum()
    loss.backward()
    with pytest.raises(
        MXNetError, match=r"Prodigy shares values between all parameters.*missing: p1_weight, p2_weight"
    ):
        trainer.step(1, ignore_stale_grad=True)
    step(trainer, params)
    states = trainer._updaters[0].states
    assert states[0]["d"] is states[1]["d"] is states[2]["d"]
    alone = updater("prodigy")
    with pytest.raises(MXNetError, match="missing: 0"):
        for i, (w, g) in enumerate(zip(arrays(0), arrays(1), strict=True)):
            alone(i, g, w)


def test_flags_that_names_decide() -> None:
    names = {0: "a_weight", 1: "a_bias", 2: "a_gamma"}
    lars = run(updater("lars", learning_rate=0.1, wd=0.1, param_idx2name=names), arrays(0))
    everywhere = run(updater("lars", learning_rate=0.1, wd=0.1, param_idx2name=names, skip=False), arrays(0))
    sgd = run(updater("sgd", learning_rate=0.1), arrays(0))  # neither a bias nor, here, a gamma decays
    np.testing.assert_array_equal(lars[0], everywhere[0])
    assert (lars[0] != sgd[0]).any()
    for i in (1, 2):
        np.testing.assert_allclose(lars[i], sgd[i], rtol=1e-6)
        assert (everywhere[i] != sgd[i]).any()
    with pytest.raises(TypeError, match="'skip' must be True, False, or the ends of the names"):
        optimizer.create("lars", skip="bias")


def test_when_a_learning_rate_replaces_the_base_rate_of_a_schedule() -> None:
    def base_lr(name: str, **arguments: Any) -> float:
        scheduler = FactorScheduler(10, base_lr=0.5)
        optimizer.create(name, lr_scheduler=scheduler, **arguments)
        return scheduler.base_lr

    assert (base_lr("sgd"), base_lr("sgd", learning_rate=0.1)) == (0.5, 0.1)
    assert (base_lr("adam"), base_lr("adam", learning_rate=0.1)) == (0.001, 0.1)
    assert (base_lr("ftrl"), base_lr("ftrl", learning_rate=0.1)) == (0.5, 0.5)
    assert (base_lr("lion"), base_lr("momentum")) == (0.5, 0.5)
    asked: list[int] = []
    run(updater("adam", lr_scheduler=lambda n: asked.append(n) or 0.1), arrays(0))
    assert asked == [1, 2, 3]
    asked.clear()
    run(updater("lbsgd", lr_scheduler=lambda n: asked.append(n) or 0.1), arrays(0))
    assert asked == [0, 1, 2]


# ---------------------------------------------------------------- errors


def test_errors_name_the_parameter() -> None:
    apply = updater("adam", param_idx2name={0: "a_weight", 1: "b_weight"})
    weights = [nd.ones((2, 3)), nd.ones(4)]
    with pytest.raises(ValueError, match=r"gradient of parameter 'b_weight': shape \(3,\)"):
        apply([0, 1], [nd.ones((2, 3)), nd.ones(3)], weights)
    with pytest.raises(TypeError, match="gradient of parameter 'a_weight': dtype float64"):
        apply([0, 1], [nd.ones((2, 3), dtype="float64"), nd.ones(4)], weights)
    assert apply.optimizer.num_update == 0
    apply([0, 1], [nd.ones((2, 3)), nd.ones(4)], weights)
    with pytest.raises(ValueError, match=r"gradient of parameter 'b_weight': shape \(3,\)"):
        apply([0, 1], [nd.ones((2, 3)), nd.ones(3)], weights)
    apply.states[1] = type(apply.states[1])([nd.zeros(3), nd.zeros(4)], ("m", "v"), (4,))
    with pytest.raises(ValueError, match=r"state 'm' of parameter 'b_weight': shape \(3,\)"):
        apply([0, 1], [nd.ones((2, 3)), nd.ones(4)], weights)
