"""Optimizers with products of matrices in a Trainer: which parameters they take, masters, codes, contexts, files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from tests.sweeps import swept

CONTEXTS = [mx.cpu(0), mx.cpu(1)]


class Words(gluon.HybridBlock):
    """A matrix for each word, two layers, and a matrix that scores words."""

    def __init__(self) -> None:
        super().__init__(prefix="words_")
        with self.name_scope():
            self.embedding = nn.Embedding(50, 96, prefix="embedding_")
            self.hidden = nn.Dense(64, activation="relu", in_units=96, prefix="hidden_")
            self.head = nn.Dense(50, in_units=64, prefix="head_")

    def hybrid_forward(self, F: Any, x: nd.NDArray) -> nd.NDArray:
        return self.head(self.hidden(self.embedding(x)))


def network(dtype: str, contexts: list[mx.Context]) -> Words:
    mx.random.seed(2)
    net = Words()
    net.initialize(mx.init.Xavier(), ctx=contexts)
    net.cast(dtype)
    return net


def trained(net: Words, trainer: gluon.Trainer, steps: range) -> float:
    """The loss of the last of some steps, which learn the word that follows another one."""
    contexts, loss_of = net.hidden.weight.list_ctx(), gluon.loss.SoftmaxCrossEntropyLoss()
    for step in steps:
        words = np.random.default_rng(step).integers(0, 50, 64)
        parts = [nd.array(x, ctx) for x, ctx in zip(np.split(words, len(contexts)), contexts, strict=True)]
        with autograd.record():
            losses = [loss_of(net(x), (x * 7 + 3) % 50) for x in parts]
        autograd.backward(losses)
        trainer.step(64)
    return sum(float(loss.astype("float32").sum().asscalar()) for loss in losses) / 64


def weights(net: Words) -> list[np.ndarray]:
    return [p.data(p.list_ctx()[0]).asnumpy() for p in net.collect_params().values()]


def test_blocks_and_names_say_which_matrices_adamw_updates() -> None:
    net = network("float32", CONTEXTS[:1])
    arguments = {"adam_lr": 0.01, "plain": (net.embedding, "head_weight")}
    trainer = gluon.Trainer(net.collect_params(), "muon_adamw", arguments)
    first = trained(net, trainer, range(1))
    assert trained(net, trainer, range(1, 60)) < 0.5 * first
    states = {trainer.optimizer.name_of(i): s for i, s in trainer._updaters[0].states.items()}
    by_muon = [name for name in states if "muon_m" in trainer.optimizer.unpacked(states[name])]
    assert by_muon == ["words_hidden_weight"]
    with pytest.raises(TypeError, match=r"'plain' must be True, False, or the ends of the names of parameters, or blo"):
        mx.optimizer.create("muon_adamw", plain=(net.embedding, 3))


def test_the_plan_of_a_trainer() -> None:
    """What it says of states is what they are after a step, and it counts the rates of parameters and schedules."""
    net = network("bfloat16", CONTEXTS[:1])
    arguments = {"plain": (net.embedding,), "multi_precision": True, "learning_rate": 0.02}
    trainer = gluon.Trainer(net.collect_params(), "muon_adamw", arguments | {"storage": "int8_dynamic"})
    net.head.weight.lr_mult = 0.5
    net.hidden.bias.grad_req = "null"
    plan = trainer.plan()
    trained(net, trainer, range(1))
    assert plan == trainer.plan()
    rows = {row.name.removeprefix("words_"): row for row in plan}
    assert {name: (row.update, row.because) for name, row in rows.items()} == {
        "embedding_weight": ("adam", "plain"),
        "hidden_weight": ("muon", ""),
        "hidden_bias": ("none", "its grad_req is 'null'"),
        "head_weight": ("muon", ""),
        "head_bias": ("adam", "1 dimension"),
    }
    assert rows["head_weight"].values == {"lr": 0.01, "wd": 0.1} and rows["head_bias"].device == "cpu(0)"
    for i, row in enumerate(plan):
        if row.update != "none":
            master, state = trainer._updaters[0].states[i]
            arrays = {"master": master, **trainer.optimizer.unpacked(state)}
            assert [s.name for s in row.states] == [x for x in arrays if not x.endswith(".scale")]
            assert row.state_bytes == sum(x.size * np.dtype(x.dtype).itemsize for x in arrays.values())
    assert rows["head_bias"].refused == ("adam_m adam_v in int8_dynamic: less than 4096 elements",)
    by_hand = type("ByHand", (mx.optimizer.Optimizer,), {})()
    with pytest.raises(TypeError, match="ByHand is written by hand; plans are of optimizers that are made of specs"):
        gluon.Trainer(net.collect_params(), by_hand).plan()


def test_what_else_updates_the_rest_is_said_in_the_name() -> None:
    """Bit by bit as with the file that says the same."""
    ends = []
    for name, rate in (("muon_adamw", "adam_lr"), ("muon otherwise adamw(lr = 0.001)", "adamw_lr")):
        net = network("float32", CONTEXTS[:1])
        trainer = gluon.Trainer(
            net.collect_params(), name, {"plain": (net.embedding,), rate: 0.01, "learning_rate": 0.02}
        )
        trained(net, trainer, range(3))
        ends.append([w.tobytes() for w in weights(net)])
    assert ends[0] == ends[1]


def test_a_vector_that_an_optimizer_of_matrices_cannot_update_is_named() -> None:
    net = network("float32", CONTEXTS[:1])
    trainer = gluon.Trainer(net.collect_params(), "soap")
    with pytest.raises(ValueError, match=r"weight of parameter 'words_head_bias', of shape \(50,\): SOAP: SOAP is f"):
        trained(net, trainer, range(1))


def test_a_factorization_that_fails_names_the_parameter_and_changes_nothing() -> None:
    net = network("float32", CONTEXTS[:1])
    params = net.collect_params(".*weight")
    trainer = gluon.Trainer(params, "soap", {"k": 1, "lr_scheduler": lambda count: 0.01 / count})
    trained(net, trainer, range(2))
    before, states = weights(net), trainer._updaters[0].get_states()
    for value, what in ((np.nan, "gradient of"), (1e30, "weight of")):
        with autograd.record():
            losses = [p.data().sum() * (value if p.name == "words_head_weight" else 1) for p in params.values()]
        autograd.backward(losses)
        with pytest.raises(ArithmeticError, match=rf"^{what} parameter 'words_head_weight': .*nothing was updated$"):
            trainer.step(1)
        assert all(map(np.array_equal, before, weights(net))) and trainer._updaters[0].get_states() == states
    trained(net, trainer, range(2, 3))
    assert trainer.optimizer.num_update == 3


MODES = list(itertools.product(("muon_adamw", "shampoo", "soap"), ("float32", "bfloat16", "int8")))
KEPT = [("muon_adamw", "bfloat16"), ("muon_adamw", "int8"), ("shampoo", "float32"), ("soap", "int8")]


@pytest.mark.parametrize(("name", "mode"), swept(MODES, KEPT))
def test_where_updates_run_changes_no_bit_and_states_go_on(name: str, mode: str, tmp_path: Path) -> None:
    """In the process, and in the kvstore of two contexts from a state file on."""
    dtype = "float32" if mode == "float32" else "bfloat16"
    elements = {"muon_adamw": "adam_v", "shampoo": "m", "soap": "v"}[name]
    arguments: dict[str, Any] = {"multi_precision": dtype != "float32"} | (
        {"momentum": 0.5} if name == "shampoo" else {}
    )
    arguments |= {"storage": {elements: "int8_dynamic"}} if mode == "int8" else {}

    def started(on_store: bool) -> tuple[Words, gluon.Trainer]:
        net = network(dtype, CONTEXTS)
        params = net.collect_params(None if name == "muon_adamw" else ".*weight")
        return net, gluon.Trainer(params, name, arguments, update_on_kvstore=on_store)

    # Out of a store, gradients of 16 bits are added up in 16 bits.
    (net, trainer), (other, same) = (started(on_store) for on_store in (dtype != "float32", True))
    trained(net, trainer, range(3))
    trainer.save_states(tmp_path / "states")
    trained(other, same, range(1))
    for a, b in zip(net.collect_params().values(), other.collect_params().values(), strict=True):
        b.set_data(a.data(CONTEXTS[0]))
    same.load_states(tmp_path / "states")
    for n, t in ((net, trainer), (other, same)):
        trained(n, t, range(3, 5))
    assert all(map(np.array_equal, weights(net), weights(other)))
    assert all(np.isfinite(w.astype("float32")).all() for w in weights(net))


@pytest.mark.parametrize(
    ("name", "arguments", "parameter", "shapes"),
    [
        ("sm3", {}, "net_conv_weight", {"R": (4,), "A1": (2,), "A2": (3,), "A3": (3,), "m": (4, 2, 3, 3)}),
        ("adammini", {"heads": ("q_weight",), "head_dim": 2}, "net_q_weight", {"v_head": (3,), "m": (6, 16)}),
    ],
)
def test_states_per_axis_and_per_block_of_a_trainer(
    name: str, arguments: dict[str, Any], parameter: str, shapes: dict[str, Any], tmp_path: Path
) -> None:
    """They have the lengths of axes, or of the heads; and a file of them continues with the same bits."""

    def made() -> tuple[nn.HybridSequential, gluon.Trainer]:
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(4, 3, in_channels=2, prefix="conv_"), nn.Dense(6, in_units=16, prefix="q_"))
        net.initialize()
        return net, gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1, **arguments})

    def steps(net: nn.HybridSequential, trainer: gluon.Trainer) -> list[np.ndarray]:
        for k in range(2):
            with autograd.record():
                loss = (net(nd.array(np.random.default_rng(k).normal(size=(5, 2, 4, 4)))) ** 2).sum()
            loss.backward()
            trainer.step(5)
        return [p.data().asnumpy() for p in net.collect_params().values()]

    net, trainer = made()
    steps(net, trainer)
    states = {trainer.optimizer.name_of(i): s for i, s in trainer._updaters[0].states.items()}
    assert {k: x.shape for k, x in trainer.optimizer.unpacked(states[parameter]).items()} == shapes
    trainer.save_states(str(tmp_path / "states"))
    net.save_parameters(str(tmp_path / "params"))
    other, again = made()
    other.load_parameters(str(tmp_path / "params"))
    again.load_states(str(tmp_path / "states"))
    assert all((x == y).all() for x, y in zip(steps(net, trainer), steps(other, again), strict=True))
