"""Data sets derived from others, and batches made by workers: processes, forked and spawned, and threads."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon.data import ArrayDataset, DataLoader, SimpleDataset, batchify
from tests.process import run

WORKERS = [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 3, "thread_pool": True}]


class Squares(gluon.data.Dataset):
    """Pairs of an array, large enough to be sent as a file, and a number."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, idx: int) -> Any:
        return nd.full((200, 100), idx), idx * idx


def test_chosen_and_changed_samples() -> None:
    numbers = SimpleDataset(range(10))
    assert list(numbers.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert [list(numbers.shard(4, i)) for i in range(4)] == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert list(numbers.take(3)) == [0, 1, 2] and len(numbers.take(None)) == len(numbers.take(99)) == 10
    assert list(numbers.sample(gluon.data.FilterSampler(lambda x: x > 7, numbers))) == [8, 9]
    calls: list[int] = []
    lazy, eager = (numbers.transform(lambda x: calls.append(x) or -x, lazy) for lazy in (True, False))
    assert len(calls) == 10 and eager[3] == -3 and len(calls) == 10
    assert lazy[3] == -3 and len(calls) == 11
    pairs = ArrayDataset([1, 2], [3, 4])
    assert list(pairs.transform(lambda a, b: a * b)) == [3, 8]
    assert list(pairs.transform_first(lambda a: 10 * a)) == [(10, 3), (20, 4)]
    for wrong in (lambda: numbers.shard(2, 2), lambda: numbers.take(-1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError, match=r"takes a gluon\.data\.Sampler, not list"):
        numbers.sample([1, 2])


def test_functions_that_make_batches() -> None:
    texts = [(np.array([1, 2, 3]), 0), (np.array([4]), 1)]
    data, labels = batchify.Group(batchify.Pad(val=-1), batchify.Stack())(texts)
    assert data.asnumpy().tolist() == [[1, 2, 3], [4, -1, -1]] and labels.asnumpy().tolist() == [0, 1]
    _, lengths = batchify.Pad(ret_length=True)([text for text, _ in texts])
    assert lengths.dtype == np.int32 and lengths.asnumpy().tolist() == [3, 1]
    assert batchify.AsList()([(1,), (2,)]) == [(1,), (2,)]
    with pytest.raises(MXNetError, match=r"different shapes, \(1,\), \(3,\), .*Pad"):
        batchify.Stack()([text for text, _ in texts])


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_come_in_order(workers: dict[str, Any]) -> None:
    loader = DataLoader(Squares(), batch_size=4, **workers)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert [len(x) for x, _ in batches] == [4, 4, 2]
        assert np.concatenate([y.asnumpy() for _, y in batches]).tolist() == [i * i for i in range(10)]
        for x, y in batches:
            assert x.shape[1:] == (200, 100) and (x.asnumpy() ** 2 == y.asnumpy()[:, None, None]).all()
    x[:] = 1  # a batch can be written to
    x.attach_grad()
    with autograd.record():
        (x * x).sum().backward()
    assert (x.grad.asnumpy() == 2).all()


class Broken(Squares):
    def __getitem__(self, idx: int) -> Any:
        if idx == 5:
            raise KeyError("no sample five")
        return super().__getitem__(idx)


@pytest.mark.parametrize("workers", WORKERS)
def test_errors_of_the_data_set_arrive(workers: dict[str, Any]) -> None:
    batches = iter(DataLoader(Broken(), batch_size=4, **workers))
    next(batches)
    with pytest.raises(KeyError, match="no sample five"):
        next(batches)


class Deadly(Squares):
    def __getitem__(self, idx: int) -> Any:
        if idx == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(idx)


def test_a_worker_that_is_killed_is_an_error_and_no_end_of_the_loader() -> None:
    loader = DataLoader(Deadly(), batch_size=1, num_workers=2)
    with pytest.raises(MXNetError, match="a worker ended before its batch was made"):
        list(loader)
    assert len(next(iter(loader))) == 2


STUCK = """
import signal
from runtime.gluon.data import DataLoader, SimpleDataset

loader = DataLoader(SimpleDataset([0, 1]).transform(lambda i: signal.pause() if i else i), 1, num_workers=1, timeout=1)
for _ in range(2):
    batches = iter(loader)
    next(batches)
    try:
        next(batches)
    except TimeoutError as error:
        print(error)
"""


def test_a_batch_that_does_not_come_is_an_error_and_does_not_keep_the_program_from_ending() -> None:
    found = run([sys.executable, "-c", STUCK], timeout=30)
    assert found.stdout.count("DataLoader: no batch within 1 s") == 2, found


class Impatient(Squares):
    def __getitem__(self, idx: int) -> Any:
        raise TimeoutError("the server does not answer")


@pytest.mark.parametrize("workers", WORKERS)
def test_time_that_runs_out_in_the_data_set_is_its_own_error(workers: dict[str, Any]) -> None:
    with pytest.raises(TimeoutError, match="the server does not answer"):
        next(iter(DataLoader(Impatient(), batch_size=1, **workers)))


class Draws(gluon.data.Dataset):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, idx: int) -> Any:
        return np.random.rand(), nd.random.uniform().asscalar()


def test_draws_do_not_depend_on_the_number_of_workers() -> None:
    found = []
    for count in (1, 3):
        np.random.seed(1)
        loader = DataLoader(Draws(), batch_size=2, num_workers=count)
        found.append(np.array([[x.asnumpy() for x in batch] for epoch in range(2) for batch in loader]))
    assert (found[0] == found[1]).all()
    assert len(np.unique(found[0])) == found[0].size


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_program_with_workers(method: str, tmp_path: Path) -> None:
    """Kernels and BLAS in the parent, then workers that compute too, while the parent goes on."""
    (tmp_path / "program.py").write_text(PROGRAM)
    found = run([sys.executable, tmp_path / "program.py", method], timeout=60, cwd=Path(__file__).parents[2])
    assert found.stdout.split() == ["2850.0"] * 2, found


PROGRAM = """\
import multiprocessing
import sys

import numpy as np

from runtime import autograd, gluon, nd


class Data(gluon.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, idx):
        product = nd.dot(nd.ones((300, 300)), nd.ones((300, 300)))
        image = nd.Convolution(nd.ones((1, 1, 8, 8)), nd.ones((1, 1, 3, 3)), no_bias=True, kernel=(3, 3), num_filter=1)
        return idx * product[0, 0] / 300 * image[0, 0, 0, 0] / 9


def train(net, trainer):
    x = nd.ones((64, 1, 28, 28))
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(64)


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Conv2D(8, 5), gluon.nn.Dense(2000), gluon.nn.Dense(10))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    train(net, trainer)
    loader = gluon.data.DataLoader(Data(), batch_size=2, num_workers=2)
    for epoch in range(2):
        total = 0
        for batch in loader:
            train(net, trainer)
            total += (batch.sum() * 15).asscalar()
        print(total)
"""


def test_batches_begin_when_the_loader_is_refreshed() -> None:
    seen: list[int] = []

    class Watched(gluon.data.Dataset):
        def __getitem__(self, idx: int) -> int:
            seen.append(idx)
            return idx

        def __len__(self) -> int:
            return 4

    def made(n: int) -> bool:
        deadline = time.monotonic() + 30
        while len(seen) < n and time.monotonic() < deadline:
            time.sleep(0.001)
        return len(seen) == n

    loader = gluon.data.DataLoader(Watched(), 2, num_workers=1, thread_pool=True)
    batches = iter(loader)
    assert not seen
    loader.refresh()
    assert made(4)
    loader.clean()
    assert [x.asnumpy().tolist() for x in batches] == [[0, 1], [2, 3]] and made(8)
    loader.refresh()
    assert made(12) and [x.asnumpy().tolist() for x in loader] == [[0, 1], [2, 3]] and made(12)
    loader = gluon.data.DataLoader(Watched(), 2, num_workers=1, thread_pool=True, auto_reload=True)
    assert made(16) and len(list(loader)) == 2 and made(20)
