"""Gradients that are sent during backward: a training that comes to the same bits as without, whatever is done to them
between backward and step."""

from __future__ import annotations

import os

import numpy as np

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from runtime.kvstore.mpi.overlap import OVERLAP


def trained(overlap: str, on_store: bool) -> list[np.ndarray]:
    os.environ[OVERLAP] = overlap
    mx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Dense(300, activation="relu", in_units=20), nn.BatchNorm(in_channels=300), nn.Dense(200), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    kv = mx.kv.create("dist_sync")
    trainer = gluon.Trainer(net.collect_params(), "adam", kvstore=kv, update_on_kvstore=on_store)
    rng = np.random.default_rng(kv.rank)
    params = [p for p in net.collect_params().values() if p.grad_req != "null"]

    def backward() -> None:
        x = nd.array(rng.normal(size=(32, 20)))
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()

    for step in range(6):
        backward()
        if step == 1:
            gluon.utils.clip_global_norm([p.grad() for p in params], 0.1)
        if step == 2 and kv.rank == 0:  # what one rank alone reads
            assert float(params[0].grad().norm().asscalar()) > 0
        if step == 3:
            backward()  # the first gradients are never used
        if step == 4 and kv.rank == 0:
            params[1].grad()[:] = 0
        if step == 4:
            part = params[0].grad()[:2]
        if step == 5 and kv.rank == 1:  # through memory that was had before this backward
            part[:] = 7
        if on_store:
            trainer.step(64)
        else:
            trainer.allreduce_grads()
            params[0].grad()[:] *= 0.5
            trainer.update(64)
        if overlap == "1" and step:
            assert not kv._overlap._in_flight
            assert all(type(p.grad()) is nd.NDArray for p in params)
    backward()
    if overlap == "1":
        assert len(kv._overlap._in_flight) == (len(params) if kv.num_workers > 1 else 0)
    return [p.data().asnumpy() for p in params]


for on_store in (True, False):
    later, early = (trained(overlap, on_store) for overlap in ("0", "1"))
    assert all(map(np.array_equal, later, early)), on_store
