"""Networks on two GPUs: of the machine, or with --on-gpu those of the stand-in."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, metric, nd
from runtime.gluon import nn

GPUS = [mx.gpu(0), mx.gpu(1)]
pytestmark = pytest.mark.skipif(mx.num_gpus() < 2, reason="needs two GPUs, or --on-gpu")


def network(ctx: object, seed: int = 3) -> nn.HybridSequential:
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3, in_channels=2), nn.BatchNorm(), nn.Activation("relu"), nn.Flatten(), nn.Dense(4))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net(nd.ones((1, 2, 5, 5), ctx=net[0].weight.list_ctx()[0]))
    return net


def gradients(net: nn.HybridSequential, x: np.ndarray, y: np.ndarray) -> list[list[np.ndarray]]:
    contexts = net[0].weight.list_ctx()
    xs, ys = gluon.utils.split_and_load(x, contexts), gluon.utils.split_and_load(y, contexts)
    with autograd.record():
        losses = [gluon.loss.SoftmaxCrossEntropyLoss()(net(a), b) for a, b in zip(xs, ys, strict=True)]
    autograd.backward(losses)
    return [[g.asnumpy() for g in p.list_grad()] for p in net.collect_params().values() if p.grad_req != "null"]


def test_two_gpus_compute_what_two_cpus_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 2, 5, 5)).astype("float32"), rng.integers(0, 4, 8)
    net = network(GPUS)
    assert net[0].weight.data(GPUS[1]).context == GPUS[1]
    there, here = gradients(net, x, y), gradients(network([mx.cpu(0), mx.cpu(1)]), x, y)
    for a, b in zip(there, here, strict=True):
        for g, h in zip(a, b, strict=True):
            np.testing.assert_allclose(g, h, rtol=1e-4, atol=1e-5)
    grads = [g for p in net.collect_params().values() if p.grad_req != "null" for g in p.list_grad()]
    norm = gluon.utils.clip_global_norm(grads, 0.1)
    np.testing.assert_allclose(norm, np.sqrt(sum((g**2).sum() for p in here for g in p)), rtol=1e-4)
    np.testing.assert_allclose(np.sqrt(sum((g.asnumpy() ** 2).sum() for g in grads)), 0.1, rtol=1e-4)
    net.save_parameters(tmp_path / "net")
    other = network(GPUS[1], seed=4)
    other.load_parameters(tmp_path / "net")
    np.testing.assert_array_equal(other[4].weight.data().asnumpy(), net[4].weight.data(GPUS[0]).asnumpy())
    net.cast("float16")
    assert net(nd.array(x, GPUS[1], "float16")).dtype == np.float16
    net.collect_params().reset_ctx(GPUS[1])
    assert pickle.loads(pickle.dumps(net[4].weight)).data().context == GPUS[1]


def test_first_values_do_not_depend_on_the_device() -> None:
    there, here = network(GPUS[1]), network(mx.cpu())
    for a, b in zip(there.collect_params().values(), here.collect_params().values(), strict=True):
        np.testing.assert_array_equal(a.data().asnumpy(), b.data().asnumpy())
    for draw in (nd.random.gamma, nd.random.poisson):
        mx.random.seed(5)
        drawn = draw(*[nd.full((3,), 2.0, ctx=GPUS[1])] * (1 + (draw is nd.random.gamma)), shape=4)
        mx.random.seed(5)
        same = draw(*[nd.full((3,), 2.0, ctx=mx.cpu())] * (1 + (draw is nd.random.gamma)), shape=4)
        assert drawn.context == GPUS[1]
        np.testing.assert_array_equal(drawn.asnumpy(), same.asnumpy())


def test_dropout_follows_from_the_seed() -> None:
    x = nd.ones((200, 50), ctx=GPUS[1])
    mx.random.seed(9)
    one, two = (nd.Dropout(x, 0.25, mode="always").asnumpy() for _ in range(2))
    mx.random.seed(9)
    again = nd.Dropout(x, 0.25, mode="always")
    assert again.context == GPUS[1]
    np.testing.assert_array_equal(again.asnumpy(), one)
    assert (one != two).any() and set(np.unique(one)) == {0, np.float32(1 / 0.75)}
    assert abs((one == 0).mean() - 0.25) < 0.02
    assert np.isnan(nd.Dropout(x, 1, mode="always").asnumpy()).all()


@pytest.mark.parametrize("name", ["acc", "f1", "mcc", "pcc", "ce", "nll_loss", "mae", "mse", "rmse", "pearsonr"])
def test_metrics(name: str) -> None:
    rng = np.random.default_rng(1)
    if name in ("mae", "mse", "rmse", "pearsonr"):
        label, pred = rng.random((2, 6)).astype("float32")
    else:
        label = rng.integers(0, 2, 6).astype("float32")
        pred = rng.dirichlet([1, 1], 6).astype("float32")
    values = []
    for label_ctx, pred_ctx in ((mx.cpu(), mx.cpu()), (GPUS[1], GPUS[1]), (mx.cpu(), GPUS[1]), (GPUS[0], GPUS[1])):
        found = metric.create(name)
        found.update(labels=[nd.array(label, label_ctx)], preds=[nd.array(pred, pred_ctx)])
        values.append(found.get()[1])
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


def test_sparse_gradients_and_products() -> None:
    layer = nn.Embedding(6, 2, sparse_grad=True)
    layer.initialize(ctx=GPUS)
    with autograd.record():
        loss = layer(nd.array([1, 4, 1], GPUS[1])).sum()
    loss.backward()
    grad = layer.weight.grad(GPUS[1])
    assert (grad.stype, grad.context, grad.indices.asnumpy().tolist()) == ("row_sparse", GPUS[1], [1, 4])
    assert grad.data.asnumpy().tolist() == [[2, 2], [1, 1]]
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.5)
    a, b = nd.array(dense, GPUS[1]).tostype("csr"), nd.array(rng.normal(size=(4, 3)), GPUS[1])
    np.testing.assert_allclose(nd.dot(a, b).asnumpy(), dense @ b.asnumpy(), rtol=1e-5, atol=1e-6)
    back = nd.dot(a, nd.dot(a, b), transpose_a=True)
    assert (back.stype, back.context) == ("row_sparse", GPUS[1])
    np.testing.assert_allclose(back.asnumpy(), dense.T @ dense @ b.asnumpy(), rtol=1e-4, atol=1e-5)
    for x in (a, pickle.loads(pickle.dumps(a)), a.as_in_context(GPUS[0]), a.as_in_context(mx.cpu()), a + a - a):
        np.testing.assert_allclose(x.asnumpy(), dense, rtol=1e-6)
    assert (a + a).context == a[1:3].context == GPUS[1]


def test_batches() -> None:
    x = np.arange(12, dtype="float32").reshape(6, 2)
    with GPUS[1]:
        for pinned in (False, True):
            batches = list(gluon.data.DataLoader(gluon.data.ArrayDataset(x, x[:, 0]), 3, pin_memory=pinned))
            assert {a.context for batch in batches for a in batch} == {mx.cpu_pinned(0) if pinned else GPUS[1]}
        samples = [nd.array(x[i]) for i in range(3)] + [nd.array([7])]
        padded = gluon.data.batchify.Pad(val=-1)(samples)
        assert (padded.context, padded.asnumpy()[3].tolist()) == (GPUS[1], [7, -1])
        batch = next(iter(mx.io.NDArrayIter(nd.array(x), batch_size=4)))
        assert (batch.data[0].context, batch.data[0].asnumpy().tolist()) == (GPUS[1], x[:4].tolist())
