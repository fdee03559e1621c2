"""Trainers, optimizers and kvstores on GPUs: to the bits of the CPU, with the CuPy and the GPUs of tests/cuda."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd, optimizer
from runtime.checkpoint import Checkpoint
from runtime.context import Context
from runtime.gluon import nn
from runtime.kvstore import nccl
from runtime.kvstore.servers.client import ServerStore
from runtime.optimizer import spec
from tests.compiler.harness import python
from tests.cuda.emulation import Gpu, emulated
from tests.kvstore.pairs import Pairs

SHAPES = ((5, 9), (5,), (65, 64))
"""The last is large enough for 8-bit states."""
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"momentum": 0.9, "wd": 1e-3, "clip_gradient": 0.5}),
    "adam": ("adam", {}),
    "lamb": ("lamb", {}),
    "nadam": ("nadam", {}),  # has a state that the host computes
    "adafactor": ("adafactor", {}),
    "prodigy": ("prodigy", {}),  # has one value for all parameters
    "schedulefree": ("schedulefreesgd", {"learning_rate": 0.1}),  # evaluates with other weights
    "int8": ("adamw", {"storage": "int8_dynamic"}),
    "bfloat16": ("adam", {"multi_precision": True}),
}
HERE, THERE = [mx.cpu(0), mx.cpu(1)], [mx.gpu(0), mx.gpu(1)]


@pytest.fixture(autouse=True)
def gpus(cupy: ModuleType) -> Iterator[list[Gpu]]:
    with emulated(2) as found, mx.cpu():
        yield found


def trained(trainer: gluon.Trainer, steps: range) -> list[np.ndarray]:
    """The weights after steps whose gradients depend on the step and the place of the context."""
    for step in steps:
        for k, _ in enumerate(trainer._contexts):
            rng = np.random.default_rng((step, k))
            for param in trainer._params:
                param.list_grad()[k][:] = rng.normal(size=param.shape)
                param.list_data()[k]._fresh_grad = True
        trainer.step(len(trainer._contexts))
    arrays = [param.list_data() for param in trainer._params]
    for copies in arrays:
        assert all(same([copies[0].asnumpy()], [x.asnumpy()]) for x in copies)
    return [copies[0].asnumpy() for copies in arrays]


def made(contexts: Sequence[Context], case: str, **arguments: Any) -> gluon.Trainer:
    rng = np.random.default_rng(1)
    dtype = case if case == "bfloat16" else "float32"
    params = [gluon.Parameter(f"p{i}_weight", shape=shape, dtype=dtype) for i, shape in enumerate(SHAPES)]
    for param in params:
        param.initialize("zeros", ctx=list(contexts))
        param.set_data(nd.array(rng.normal(size=param.shape), dtype=dtype))
    name, own = OPTIMIZERS[case]
    found = optimizer.create(name, **own)
    found.seed = 7
    return gluon.Trainer(params, found, **arguments)


def same(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> bool:
    return [x.tobytes() for x in a] == [x.tobytes() for x in b]


# ---------------------------------------------------------------- one GPU


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_states_go_from_device_to_device(case: str, tmp_path: Path, gpus: list[Gpu]) -> None:
    """Three steps come to the same bits; so do those after the states were saved on one device, and loaded on another;
    the files are the same, too."""
    files = {}
    for ctx in (mx.cpu(), mx.gpu(1)):
        trainer = made([ctx], case)
        files[ctx] = tmp_path / str(ctx), trained(trainer, range(3))
        trainer.save_states(files[ctx][0])
    assert gpus[1].launches and not gpus[0].launches
    assert files[mx.cpu()][0].read_bytes() == files[mx.gpu(1)][0].read_bytes()
    assert same(files[mx.cpu()][1], files[mx.gpu(1)][1])
    ends = []
    for saved, loading in ((mx.cpu(), mx.cpu()), (mx.cpu(), mx.gpu(0)), (mx.gpu(1), mx.cpu())):
        trainer = made([loading], case)
        for param, value in zip(trainer._params, files[saved][1], strict=True):
            param.set_data(nd.array(value, dtype=value.dtype))
        trainer.load_states(files[saved][0])
        ends.append(trained(trainer, range(3, 5)))
    assert same(ends[0], ends[1]) and same(ends[0], ends[2])


@pytest.mark.parametrize("name", ["muon_adamw", "shampoo"])
def test_matrices_go_from_device_to_device(name: str, tmp_path: Path, gpus: list[Gpu]) -> None:
    """A Trainer comes close to one on the CPU, whose products round otherwise; each goes on from a state file of the
    other."""

    def start(ctx: mx.Context) -> gluon.Trainer:
        shapes = [(6, 4), (4, 4), (3, 6)]
        params = [gluon.Parameter(f"p{k}_weight", shape=shape) for k, shape in enumerate(shapes)]
        for param in params:
            param.initialize("zeros", ctx=ctx)
            param.set_data(nd.array(np.random.default_rng(param.shape).normal(size=param.shape)))
        return gluon.Trainer(
            params, name, {"plain": ("p1_weight",)} if name == "muon_adamw" else {"every_k": 2, "epsilon": 0.1}
        )

    def train(trainer: gluon.Trainer, steps: range) -> list[np.ndarray]:
        for step in steps:
            for param in trainer._params:
                param.grad()[:] = np.random.default_rng((step, *param.shape)).normal(size=param.shape).astype("f")
                param.data()._fresh_grad = True
            trainer.step(1)
        return [param.data().asnumpy() for param in trainer._params]

    ends = []
    for first, then in ((mx.cpu(), mx.cpu()), (mx.gpu(0), mx.cpu()), (mx.cpu(), mx.gpu(0))):
        one, two = start(first), start(then)
        weights = train(one, range(3))
        one.save_states(tmp_path / "states")
        for param, value in zip(two._params, weights, strict=True):
            param.set_data(nd.array(value))
        two.load_states(tmp_path / "states")
        ends.append(train(two, range(3, 6)))
    assert gpus[0].launches
    for other in ends[1:]:
        for a, b in zip(ends[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_where_states_are() -> None:
    trainer = made([mx.gpu(1)], "nadam")
    trained(trainer, range(1))
    state = trainer._updaters[0].states[0]
    assert {name: x.context for name, x in zip(state.names, state, strict=True)} == {
        "m": mx.gpu(1), "v": mx.gpu(1), "S": mx.cpu()
    }  # fmt: skip


def test_a_network_learns_with_one_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rate, another batch and another backward pass find the same arrays bound."""
    bound, binding = [], spec.Binding
    monkeypatch.setattr(spec, "Binding", lambda *args, **kw: bound.append(1) or binding(*args, **kw))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 6)).astype("float32"), rng.integers(0, 3, 16)
    ends = []
    for ctx in (mx.cpu(), mx.gpu()):
        mx.random.seed(3)
        net = nn.HybridSequential(prefix="net_")
        net.add(nn.Dense(8, activation="relu"), nn.Dense(3))
        net.initialize(mx.init.Xavier(), ctx=ctx)
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        for _ in range(3):
            with autograd.record():
                loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(nd.array(x, ctx)), nd.array(y, ctx))
            loss.backward()
            trainer.step(16)
            trainer.set_learning_rate(trainer.learning_rate / 2)
        ends.append([p.data().asnumpy() for p in net.collect_params().values()])
    for here, there in zip(*ends, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-6)
    assert len(bound) == 2


class ByHand(optimizer.Optimizer):
    """An optimizer of operators, whose state is a momentum."""

    def create_state(self, index: Any, weight: nd.NDArray) -> nd.NDArray:
        return nd.zeros(weight.shape, weight.context, weight.dtype)

    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: nd.NDArray) -> None:
        self._update_count(index)
        nd.sgd_mom_update(weight, grad, state, self._get_lr(index), momentum=0.9, out=weight)
        weight -= 0.125 * state


def test_operators_that_update() -> None:
    ends = []
    for ctx in (mx.cpu(), mx.gpu(1)):
        values = (np.random.default_rng(k).normal(size=(6, 4)) for k in range(9))
        a, b, grad, mean, var = (nd.array(next(values), ctx) for _ in range(5))
        rows = nd.sparse.row_sparse_array((next(values)[:2], [1, 4]), (6, 4), ctx, "float32")
        nd.adam_update(a, grad, mean, nd.abs(var), lr=0.1, out=a)
        nd.multi_sgd_update(a, grad, b, grad, lrs=[0.1, 0.2], wds=[0, 0.1], num_weights=2, out=[a, b])
        for lazy in (True, False):
            nd.sgd_mom_update(a, rows, mean, lr=0.1, momentum=0.9, wd=0.01, lazy_update=lazy, out=a)
        updater = optimizer.get_updater(ByHand(learning_rate=0.5))
        lazy = optimizer.get_updater(optimizer.create("adam", lazy_update=True))
        for _ in range(2):
            updater(0, grad, b)
            lazy([0, 1], [rows, grad], [a, b])
        assert a.context == ctx
        ends.append([x.asnumpy() for x in (a, b, mean, *lazy.states[0])])
    assert same(*ends)


def test_inputs_are_where_they_are_read() -> None:
    ends = []
    for contexts in (HERE, THERE):
        params = gluon.Parameter("w", shape=(4, 3))
        params.initialize("ones", ctx=contexts)
        trainer = gluon.Trainer([params], "sophia", update_on_kvstore=False)
        for k in range(1, 3):
            trainer.optimizer.set_input("h_hat", {0: nd.full((4, 3), k)})
            ends.append(trained(trainer, range(k)))
    assert same(ends[0], ends[2]) and same(ends[1], ends[3])


def test_memory_goes_back(cupy: ModuleType) -> None:
    def train() -> int:
        trainer = made(THERE, "lamb")
        trained(trainer, range(2))
        return cupy.get_default_memory_pool().used_bytes()

    gc.collect()
    before = cupy.get_default_memory_pool().used_bytes()
    assert train() > before + 4 * sum(np.prod(shape) for shape in SHAPES)
    assert cupy.get_default_memory_pool().used_bytes() == before


def test_what_is_in_other_memory_is_refused() -> None:
    updater = optimizer.get_updater(optimizer.create("adam"))
    weight = nd.ones((2, 3), mx.gpu(0))
    with pytest.raises(ValueError, match="gradient of parameter '0': in the memory of the CPU; this kernel runs on"):
        updater(0, nd.ones((2, 3)), weight)
    with pytest.raises(ValueError, match="weight of parameter '1' is on GPU 0 and weight of parameter '2' on GPU 1"):
        updater([1, 2], [weight, weight], [nd.ones(2, mx.gpu(0)), nd.ones(2, mx.gpu(1))])


# ---------------------------------------------------------------- two GPUs


@pytest.mark.parametrize(
    ("case", "arguments"),
    [
        ("adam", {}),
        ("lamb", {"kvstore": "local"}),
        ("nadam", {"update_on_kvstore": False}),
        ("bfloat16", {}),
        ("prodigy", {"kvstore": "local", "update_on_kvstore": False}),
        ("sgd", {"compression_params": {"type": "2bit", "threshold": 0.5}}),
        ("sgd", {"compression_params": {"type": "1bit"}, "update_on_kvstore": False}),
    ],
    ids=str,
)
def test_two_gpus_are_two_contexts(case: str, arguments: dict[str, Any]) -> None:
    every = HERE, THERE, [mx.cpu(0), mx.gpu(0)], [mx.gpu(1), mx.cpu(1)]
    found = [trained(made(contexts, case, **arguments), range(3)) for contexts in every]
    assert all(same(found[0], other) for other in found[1:])


def test_the_sum_is_made_by_the_kernel_that_updates(gpus: list[Gpu]) -> None:
    trainer = made(THERE, "adam")
    trained(trainer, range(1))
    binding = trainer._kvstore._updater.optimizer._bindings[0]
    trained(trainer, range(1, 3))
    assert len(gpus[0].launches) == 3 and not gpus[1].launches
    assert trainer._kvstore._updater.optimizer._bindings[0] is binding


def test_servers_through_the_host() -> None:
    """Values and updates of one worker's servers are the CPU's."""
    stores = (ServerStore("dist_async", Pairs(2), 0, 1) for _ in range(2))  # type: ignore[arg-type]
    assert same(*(trained(made(x, "adam", kvstore=next(stores)), range(2)) for x in (HERE, THERE)))


def test_ranks_through_the_host() -> None:
    """One rank's values and updates are the CPU's. In a process of its own: MPI is there to the end of one."""
    code = """
import sys
sys.path.insert(0, "tests/cuda/standin")
import runtime as mx
from tests.cuda.emulation import emulated
from tests.runtime.gpus.test_training import HERE, THERE, made, same, trained
with emulated(2):
    both = [trained(made(x, "adam", kvstore=mx.kv.create("dist_sync")), range(2)) for x in (HERE, THERE)]
    print(THERE, same(*both))
"""
    done = python(code)
    assert done.stdout.endswith("True\n"), done.stderr


class Communicator:
    """What `cupy.cuda.nccl` has of one GPU: a group's sums are made when it ends."""

    calls: list[Any] = []  # noqa: RUF012
    groups = 0
    grouped = False

    def __init__(self, gpu: int) -> None:
        self.gpu = gpu

    @classmethod
    def initAll(cls, devices: list[int]) -> list[Communicator]:
        assert not cls.grouped, "inside of a group it would be made when that ends"
        return [cls(gpu) for gpu in devices]

    @classmethod
    def start(cls) -> None:
        cls.groups, cls.grouped = cls.groups + 1, True

    def allReduce(self, *arguments: int) -> None:
        self.calls.append((self.gpu, *arguments))

    @classmethod
    def end(cls) -> None:
        for (_, a, to_a, n, *of_a), (_, b, to_b, *of_b) in zip(cls.calls[::2], cls.calls[1::2], strict=True):
            assert of_b == [n, *of_a] == [n, 7, 0, 0]
            x, y, *out = (np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * n).from_address(p))
                          for p in (a, b, to_a, to_b))  # fmt: skip
            out[0][:] = out[1][:] = x + y
        cls.calls.clear()
        cls.grouped = False


def test_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Communicator, "groups", 0)
    library = SimpleNamespace(
        available=True, NCCL_FLOAT32=7, NCCL_SUM=0, NcclCommunicator=Communicator,
        groupStart=Communicator.start, groupEnd=Communicator.end,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", library)
    nccl._library.cache_clear()
    nccl._communicators.cache_clear()
    try:
        for case, count in (("adam", 3), ("bfloat16", 0)):  # NCCL's bfloat16 is not CuPy's
            expected = trained(made(HERE, case, update_on_kvstore=False), range(3))
            trainer = made(THERE, case, update_on_kvstore=False, kvstore="nccl")
            assert same(trained(trainer, range(3)), expected)
            assert Communicator.groups == count
            Communicator.groups = 0
        store = mx.kv.create("device")
        values = [nd.full(3, k + 1, ctx) for k, ctx in enumerate(THERE)]
        store.init("w", values[1])
        store.pushpull("w", values, out=[nd.empty(3, ctx) for ctx in THERE])
        out = nd.empty(3)
        store.pull("w", out=out)
        assert out.asnumpy().tolist() == [3] * 3 and Communicator.groups == 1
    finally:
        nccl._library.cache_clear()


# ---------------------------------------------------------------- checkpoints, other weights to evaluate with


def test_a_checkpoint_goes_to_another_device(tmp_path: Path) -> None:
    def start(ctx: Context) -> tuple[nn.Block, gluon.Trainer]:
        net = nn.HybridSequential(prefix="net_")
        net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4))
        net.initialize(mx.init.Xavier(), ctx=ctx)
        return net, gluon.Trainer(net.collect_params(), "nadam")

    def step(net: nn.Block, trainer: gluon.Trainer, ctx: Context) -> list[np.ndarray]:
        params = [p for p in net.collect_params().values() if p.grad_req != "null"]
        for k, param in enumerate(params):
            param.grad()[:] = k - 1.5
            param.data()._fresh_grad = True
        trainer.step(1)
        return [p.data().asnumpy() for p in net.collect_params().values()]

    net, trainer = start(mx.gpu(0))
    step(net, trainer, mx.gpu(0))
    net[1].running_mean.set_data(nd.ones(4))
    Checkpoint(tmp_path, net, trainer).save()
    expected = step(net, trainer, mx.gpu(0))
    for ctx in (mx.gpu(1), mx.cpu()):
        other = start(ctx)
        Checkpoint(tmp_path, *other).load()
        assert same(step(*other, ctx), expected)


def test_evaluating() -> None:
    for on_store in (True, False):
        ends = []
        for contexts in (HERE, THERE):
            trainer = made(contexts, "schedulefree", update_on_kvstore=on_store)
            training = trained(trainer, range(3))
            with trainer.evaluating():
                ends.append([x.asnumpy() for p in trainer._params for x in p.list_data()])
            assert same([p.list_data()[1].asnumpy() for p in trainer._params], training)
        assert same(*ends)
