"""Checkpoints: training that was stopped anywhere goes on bit by bit; files that are not right are errors."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, lr_scheduler, nd
from runtime.checkpoint import Checkpoint, folder, generators, hyper, stores
from runtime.core import files
from runtime.gluon import nn
from runtime.kvstore.servers.client import ServerStore
from tests.kvstore.pairs import Pairs
from tests.process import mpiexec, started

ROOT = Path(__file__).resolve().parents[2]
EPOCHS = 3


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


@mx.optimizer.register
class Slowing(mx.optimizer.Optimizer):
    """Written by hand, with a number of its own that changes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._factor = 1.0

    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: Any) -> None:
        self._update_count(index)
        self._factor *= 0.99
        weight -= self._get_lr(index) * self._factor * self.rescale_grad * grad


def make(options: dict[str, Any]) -> tuple[nn.HybridSequential, gluon.Trainer, gluon.data.DataLoader]:
    """Everything that a script makes before it trains."""
    mx.random.seed(1)
    np.random.seed(2)
    random.seed(3)
    here, count = mx.current_context(), options.get("contexts", 1)
    contexts = [here] if count == 1 else [mx.Context(here.device_type, k) for k in range(count)]
    with mx.name.NameManager():  # names as in a new process: parameters are sorted by them, dense10 before dense9
        net = nn.HybridSequential()
        net.add(nn.Dense(9), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(options.get("units", 3)))
    net.initialize(mx.init.Xavier(), ctx=contexts)
    net.cast(options.get("dtype", "float32"))
    trainer = gluon.Trainer(
        net.collect_params(), options.get("optimizer", "adam"), options.get("arguments", {"learning_rate": 0.01}),
        kvstore=options.get("kvstore", "device"), compression_params=options.get("compression"),
    )  # fmt: skip
    numbers = np.random.RandomState(0).normal(size=(22, 5)).astype("float32")
    dataset = gluon.data.ArrayDataset(numbers, (numbers.sum(1) > 0).astype("float32"))
    loader = gluon.data.DataLoader(
        dataset.transform_first(_noisy), options.get("batch", 4), shuffle=True, last_batch=options.get("last", "keep"),
        num_workers=options.get("workers", 0), thread_pool=False,
    )  # fmt: skip
    return net, trainer, loader


def _noisy(x: np.ndarray) -> np.ndarray:
    return x + np.float32(0.1 * random.random() + 0.1 * np.random.rand())


def train(folder: Path | None, options: dict[str, Any], stop: int | None = None, every: int = 2) -> str:
    """A script; Killed after `stop` of its steps. The hash of all that it ends with."""
    net, trainer, loader = make(options)
    contexts = trainer._contexts
    checkpoint = Checkpoint(folder, net, trainer) if folder else None
    steps = 0
    for epoch in range(checkpoint.load() if checkpoint else 0, EPOCHS):
        for data, label in checkpoint.batches(loader) if checkpoint else loader:
            parts = zip(
                gluon.utils.split_and_load(data.astype(options.get("dtype", "float32")), contexts, even_split=False),
                gluon.utils.split_and_load(label, contexts, even_split=False),
                strict=True,
            )
            with autograd.record():
                losses = [gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y) for x, y in parts]
            autograd.backward(losses)
            if options.get("optimizer") == "sophia" and trainer.optimizer.num_update % 4 == 0:
                grads = {i: p.grad() * p.grad() for i, p in enumerate(trainer._params) if p.grad_req != "null"}
                trainer.optimizer.set_input("h_hat", grads)
            trainer.step(len(label) + random.random() + np.random.rand())
            if epoch == 1:
                net[0].bias.lr_mult = 0.5
            steps += 1
            if checkpoint and checkpoint.batch % every == 0:
                checkpoint.save()
            if steps == stop:
                raise Killed
        np.random.rand()
    return state_of(net, trainer)


def state_of(net: nn.HybridSequential, trainer: gluon.Trainer) -> str:
    sha = hashlib.sha256()
    for param in net.collect_params().values():
        for array in param.list_data():
            sha.update(array.asnumpy().tobytes())
    optimizer = trainer.optimizer
    sha.update(repr([optimizer.num_update, optimizer.learning_rate, random.random(), np.random.rand()]).encode())
    sha.update(mx.random.uniform(shape=3).asnumpy().tobytes())
    return sha.hexdigest()


class Dying:
    """A function whose last call is a process's end."""

    def __init__(self, function: Callable, last: int) -> None:
        self.function, self.last, self.calls = function, last, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if self.calls == self.last:
            raise Killed
        return self.function(*args)


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "adam": dict,
    "a schedule": lambda: {
        "arguments": {"learning_rate": 0.1, "lr_scheduler": lr_scheduler.FactorScheduler(4, 0.5), "momentum": 0.9},
        "optimizer": "sgd",
    },
    "a rollover": lambda: {"last": "rollover"},
    "workers": lambda: {"workers": 2},
    "contexts": lambda: {"contexts": 2, "kvstore": "local"},
    "compression": lambda: {"contexts": 2, "compression": {"type": "2bit", "threshold": 0.01}},
    "16 and 8 bits": lambda: {
        "dtype": "bfloat16",
        "arguments": {"learning_rate": 0.01, "multi_precision": True, "storage": "int8_linear"},
    },
    "random draws": lambda: {"optimizer": "sgld"},
    "an input": lambda: {"optimizer": "sophia"},
    "by hand": lambda: {"optimizer": "slowing", "arguments": {"learning_rate": 0.1}},
}


@pytest.mark.parametrize("case", CASES)
def test_training_goes_on_bit_by_bit(case: str, tmp_path: Path) -> None:
    """Stopped after 1 step, before anything is saved, and after 7, 6 and 3 more."""
    options = CASES[case]
    expected = train(None, options())
    for stop in (1, 7, 6, 3):
        with pytest.raises(Killed):
            train(tmp_path, options(), stop)
    assert train(tmp_path, options()) == expected
    assert len(list(tmp_path.iterdir())) == 6  # `latest`, `lock`, and two generations of two files


def test_saved_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    net, trainer, loader = make({})
    checkpoint = Checkpoint(tmp_path, net, trainer)
    assert checkpoint.load() == 0
    for data, _ in checkpoint.batches(loader):
        net(data)
        if checkpoint.batch == 3:
            break
    assert (checkpoint.epoch, checkpoint.batch) == (0, 3)
    assert len(list(checkpoint.batches(loader))) == 6
    checkpoint.save()
    expected = [data.asnumpy() for data, _ in checkpoint.batches(loader)]
    net, trainer, loader = make({})
    checkpoint = Checkpoint(tmp_path, net, trainer)
    assert checkpoint.load() == 2
    for (data, _), wanted in zip(checkpoint.batches(loader), expected, strict=True):
        np.testing.assert_array_equal(data.asnumpy(), wanted)


# ---------------------------------------------------------------- whenever it is killed


def test_a_save_that_is_cut_off_anywhere_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the calls by which files come to be, in turn, is the last one of its process."""
    expected = train(None, {})
    with pytest.raises(Killed):
        train(tmp_path / "begun", {}, stop=2)  # one generation
    cut = 0
    for what in ("fsync", "replace"):
        for last in range(1, 5):
            folder = tmp_path / f"{what}{last}"
            shutil.copytree(tmp_path / "begun", folder)
            with monkeypatch.context() as patch:
                dying = Dying(getattr(os, what), last)
                patch.setattr(os, what, dying)
                patch.setattr(Path, "unlink", lambda *args, **kwargs: None)  # the dead remove nothing
                with pytest.raises(Killed):
                    train(folder, {}, stop=2)
                cut += dying.calls == last
            assert train(folder, {}) == expected
            assert not list(folder.glob("*.tmp"))
    assert cut == 7  # three files are replaced and synchronized, and once the folder


@pytest.mark.parametrize("case", ["a rollover", "compression", "16 and 8 bits", "random draws"])
def test_servers_go_on_bit_by_bit(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one worker: all are killed and there are more shards or fewer then; or the worker is, and is started again."""
    options = CASES[case]

    def train_with(pairs: Pairs, folder: Path | None, stop: int | None = None, attempt: int = 0) -> str:
        monkeypatch.setenv(stores.ATTEMPT, str(attempt))
        store = ServerStore("dist_async", pairs, 0, 1, attempt)
        pairs.workers = range(1)
        try:
            return train(folder, options() | {"kvstore": store}, stop)
        finally:
            store.close()

    expected = train_with(Pairs(2), None)
    for shards, stops in (2, (3, 5)), (1, (1, 1, 3)), (3, (2,)):
        pairs = Pairs(shards)
        for attempt, stop in enumerate(stops):
            with pytest.raises(Killed):
                train_with(pairs, tmp_path, stop, attempt)
    assert train_with(pairs, tmp_path, attempt=1) == expected


def test_files_of_different_moments_make_no_checkpoint(tmp_path: Path) -> None:
    """Of two workers, one was given up at a barrier and saves at another time than the other."""
    pairs, workers = Pairs(2), []
    for rank in range(2):
        store = ServerStore("dist_async", pairs, rank, 2)
        net, trainer, _ = make({"kvstore": store})
        workers.append((net, trainer, Checkpoint(tmp_path, net, trainer), store))

    def step(rank: int) -> None:
        net, trainer, *_ = workers[rank]
        with autograd.record():
            loss = net(nd.ones((4, 5))).sum()
        loss.backward()
        trainer.step(4)

    pairs.silent = [0, 1]
    step(0)
    step(1)
    workers[1][2].save()
    step(1)
    with pytest.warns(UserWarning, match="checkpoint 1 is left out, as rank1 wrote its file at another time"):
        workers[0][2].save()
    workers[1][2].save()
    workers[0][2].save()
    assert json.loads((tmp_path / "latest").read_text())["generation"] == 2
    for *_, store in workers:
        store.close()


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import tests.runtime.test_checkpoint as t
from pathlib import Path
save = t.Checkpoint.save
def saying(self):
    save(self)
    print("saved", self.epoch, self.batch, flush=True)
t.Checkpoint.save = saying
print("ends with", t.train(Path(sys.argv[1]), {{}}, every=1), flush=True)
"""


@pytest.mark.cpu_only("the script that is killed computes there")
def test_killed_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is killed no other process can use the folder."""
    monkeypatch.setattr(folder, "_LOCK_WAIT_SECONDS", 0)
    expected, draw, kills = train(None, {}), random.Random(os.urandom(8)), 0
    (tmp_path / "script.py").write_text(SCRIPT.format(root=str(ROOT)))
    for _ in range(3):
        with started([sys.executable, tmp_path / "script.py", tmp_path / "folder"], timeout=60) as program:
            if kills == 2:
                assert program.line("ends with (.*)")[1] == expected
                break
            program.line("saved|ends with (.*)")
            with pytest.raises(MXNetError, match=f"in use by process {program.pid} on .*: wait for its end"):
                train(tmp_path / "folder", {})
            time.sleep(draw.uniform(0, 0.05))
            program.signal(signal.SIGKILL)
            kills += 1


RANKS = """
import os, sys, time
sys.path.insert(0, {root!r})
os.sched_yield = lambda: time.sleep(2e-4)  # ranks that wait leave the CPUs to the others
from pathlib import Path
from mpi4py import MPI
import tests.runtime.test_checkpoint as t

for name in ("16 and 8 bits", "compression", "a rollover"):
    options = t.CASES[name]
    ranked = lambda: options() | {{"kvstore": "dist_sync"}}
    expected = t.train(None, ranked())
    for stop in (1, 7):
        try:
            t.train(Path(sys.argv[1], name), ranked(), stop)
        except t.Killed:
            MPI.COMM_WORLD.barrier()  # the next one is not there before all have ended
    assert t.train(Path(sys.argv[1], name), ranked()) == expected, name
print("all alike", flush=True)
"""


def test_two_ranks_go_on_bit_by_bit(tmp_path: Path) -> None:
    """Each has running means, residuals and generators of its own."""
    pytest.importorskip("mpi4py")
    (tmp_path / "script.py").write_text(RANKS.format(root=str(ROOT)))
    done = mpiexec(2, [tmp_path / "script.py", tmp_path], timeout=150)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all alike") == 2


# ---------------------------------------------------------------- what is not right


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[Path]:
    """A folder with generations 1 and 2 of rank 0 and of states."""
    with pytest.raises(Killed):
        train(tmp_path / "saved", {}, stop=4)
    assert sorted(x.name for x in (tmp_path / "saved").iterdir()) == [
        *(f"00000{n}-{what}.safetensors" for n in (1, 2) for what in ("rank0", "states")),
        "latest",
        "lock",
    ]
    yield tmp_path / "saved"


@pytest.mark.parametrize("name", ["000002-rank0.safetensors", "000002-states.safetensors", "latest"])
def test_a_file_that_is_not_right_is_named(name: str, saved: Path) -> None:
    path = saved / name
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-3] ^= 1
    other = saved / name.replace("2", "1")
    damages = [b"", content[:-5], content[: len(content) // 2], bytes(flipped), b"\x80\x04" + content, b"{}", b"[[[["]
    damages += [other.read_bytes()] if other != path else [content.replace(b'"generation": 2', b'"generation": "2"')]
    for damage in damages:
        path.write_bytes(damage)
        with pytest.raises(MXNetError, match=f"{name}'"):
            train(saved, {})
    if name != "latest":
        path.unlink()
        with pytest.raises(MXNetError, match=f"{name}' is missing; .* all ranks see"):
            train(saved, {})


SENSELESS: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("rank0", ("position", "epoch"), -1, "header.position.epoch is a count, from 0 to 2^53, not -1"),
    ("rank0", ("position", "batch"), 1.5, "header.position.batch is a count, from 0 to 2^53, not 1.5"),
    ("rank0", ("position", "length"), "6", "header.position.length is a count"),
    ("rank0", ("position", "left"), [0, -2], "header.position.left[1] is a count"),
    ("rank0", ("position", "now"), None, "header.position.now: these are no states of generators"),
    (
        "rank0",
        ("position", "now", "runtime", "buffer_pos"),
        -9,
        "header.position.now: these are no states of generators",
    ),
    ("rank0", ("position", "now", "numpy", "state", "pos"), 10**6, "header.position.now: these are no states of"),
    ("rank0", ("position", "start", "python"), [3, [1], None], "header.position.start: these are no states of"),
    ("rank0", ("optimizer", "updates"), 1 << 70, "header.optimizer.updates is a count"),
    ("rank0", ("optimizer", "parameters", 1, 1), "1", "header.optimizer.parameters[1][1] is a finite number, not '1'"),
    ("rank0", ("optimizer", "lr_mult"), {"a": 1}, "header.optimizer.lr_mult is a list, not {'a': 1}"),
    (
        "rank0",
        ("optimizer", "wd_mult"),
        [["a", float("nan")]],
        "header.optimizer.wd_mult[0][1] is a finite number, not nan",
    ),
    ("rank0", ("optimizer", "attributes"), {"base_lr": 1}, "the schedule's attribute 'base_lr' is 1, which a NoneType"),
    ("rank0", ("store",), {"pushes": 1, "barriers": None, "run": None}, "header.store.barriers is a count"),
    ("rank0", ("optimizer",), [], "header.optimizer is a dict, not []"),
    ("states", ("parameters", 0, "updates"), -1, "parameters[0].updates is a count"),
    ("states", ("values", "seed"), "x", "values['seed'] = 'x': the seed of an optimizer"),
]


@pytest.mark.parametrize(("what", "place", "value", "words"), SENSELESS)
def test_senseless_contents_change_nothing(
    what: str, place: tuple[Any, ...], value: Any, words: str, saved: Path
) -> None:
    """All checksums are right."""
    path, latest = saved / f"000002-{what}.safetensors", saved / "latest"
    arrays, metadata = files.from_bytes(path.read_bytes(), what)
    header = inner = json.loads(metadata["header"])
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    text = json.dumps(header)
    sha = files.digest(text, arrays)
    path.write_bytes(files.to_bytes(arrays, metadata | {"header": text, "sha256": sha}))
    named = json.loads(latest.read_text())
    latest.write_text(json.dumps(named | {"files": named["files"] | {path.name: sha}}))
    net, trainer, _ = make({})
    net(nd.ones((2, 5)))

    def now() -> Any:
        weights = [param.data().asnumpy().tolist() for param in net.collect_params().values()]
        return weights, mx.optimizer.serialization.changes(trainer.optimizer), checkpoint.epoch, checkpoint.batch

    checkpoint = Checkpoint(saved, net, trainer)
    before, draws = now(), generators.current()
    with pytest.raises(MXNetError, match=re.escape(words)):
        checkpoint.load()
    assert now() == before and generators.current() == draws


@pytest.mark.parametrize(
    ("name", "value"), [("base_lr", "x"), ("base_lr", True), ("after_warmup", 1), ("warmup_mode", 1), ("own", {})]
)
def test_attributes_that_a_schedule_cannot_have(name: str, value: Any) -> None:
    optimizer = mx.optimizer.create("sgd", lr_scheduler=lr_scheduler.FactorScheduler(4))
    content = hyper.to_json(optimizer)
    content["attributes"][name] = value
    with pytest.raises(
        MXNetError, match=f"the schedule's attribute '{name}' is .*, which a FactorScheduler cannot have"
    ):
        hyper.restore(optimizer, content | {"updates": 7}, {})
    assert optimizer.num_update == 0
    content["attributes"] = {"own": [1, None], "base_lr": 2}
    hyper.restore(optimizer, content, {})
    assert (optimizer.lr_scheduler.own, optimizer.lr_scheduler.base_lr) == ([1, None], 2)


def test_a_checkpoint_of_something_else_is_refused(saved: Path) -> None:
    for options, message in (
        ({"units": 4}, r"has parameter '3.weight' of shape \(3, 9\)"),
        ({"dtype": "float16"}, "type float32, and in the network it is of shape .* and type float16"),
        ({"optimizer": "sgd"}, "holds states of Adam, and this is SGD"),
    ):
        with pytest.raises(MXNetError, match=message):
            train(saved, options)
    net, trainer, loader = make({})
    net.add(nn.Dense(2, in_units=3))
    net[4].initialize()
    with pytest.raises(MXNetError, match=r"has no parameter '4.bias': is this the network"):
        Checkpoint(saved, net, trainer).load()
    net, trainer, loader = make({})
    checkpoint = Checkpoint(saved, net, trainer)
    checkpoint.load()
    with pytest.raises(MXNetError, match="taken after 4 batches of 6, and this loader gives 2"):
        next(checkpoint.batches(list(loader)[:2]))
    with pytest.raises(MXNetError, match="gives 8: it must be one of the same data and the same size of batches"):
        train(saved, {"batch": 3})


def test_one_training_at_a_time_uses_a_folder(saved: Path) -> None:
    net, trainer, loader = make({})
    for data, _ in loader:
        net(data)
    with pytest.raises(MXNetError, match="holds a checkpoint already: call load"):
        Checkpoint(saved, net, trainer).save()
    checkpoint = Checkpoint(saved, net, trainer)
    checkpoint.load()
    latest = json.loads((saved / "latest").read_text())
    (saved / "latest").write_text(json.dumps(latest | {"generation": 3}))
    with pytest.raises(MXNetError, match="holds checkpoint 3, and this training saved 2 last"):
        checkpoint.save()
    with trainer.evaluating(), pytest.raises(MXNetError, match="save outside"):
        checkpoint.save()


# ---------------------------------------------------------------- another number of ranks


class Ranks:
    """Stands for the store of one of several ranks."""

    type, barrier = "pretended", staticmethod(lambda: None)

    def __init__(self, rank: int, num_workers: int) -> None:
        self.rank, self.num_workers = rank, num_workers


def test_another_number_of_ranks_begins_the_epoch_anew(tmp_path: Path) -> None:
    """Generators that were common stay so; others differ."""

    def ranked(rank: int, ranks: int) -> tuple[Checkpoint, Any]:
        net, trainer, loader = make({})
        trainer._init_kvstore()
        trainer._params_to_init, trainer._kvstore = [], Ranks(rank, ranks)
        return Checkpoint(tmp_path, net, trainer), loader

    both = [ranked(rank, 2) for rank in range(2)]
    begun = []
    for rank, (checkpoint, loader) in enumerate(both):
        checkpoint.load()
        np.random.seed(7)
        mx.random.seed(rank)
        batches = checkpoint.batches(loader)
        begun.append([int(y.sum().asscalar()) for _, y in (next(batches), next(batches))])
        checkpoint._net(nd.ones((4, 5)))
    for checkpoint, _ in reversed(both):  # rank 0 completes what the others have written
        np.random.seed(8)
        checkpoint.save()
    draws = set()
    for rank in range(3):
        checkpoint, loader = ranked(rank, 3)
        assert (checkpoint.load(), checkpoint.batch) == (0, 0)
        batches = checkpoint.batches(loader)
        assert [int(y.sum().asscalar()) for _, y in (next(batches), next(batches))] == begun[0] == begun[1]
        draws.add(float(mx.random.uniform().asscalar()))
    assert len(draws) == 3
    assert files.parse((tmp_path / "000001-rank1.safetensors").read_bytes(), "")[1]["rank"] == 1


def test_residuals_of_several_ranks_keep_their_sum() -> None:
    store, saved = mx.kv.create("device"), {'["w", 0]': np.ones(3, np.float32)}
    with pytest.raises(MXNetError, match="here holds residuals of gradient compression, and this trainer has none"):
        stores.load_residuals(store, [saved], "here")
    store.set_gradient_compression({"type": "1bit"})
    stores.load_residuals(store, [saved, {'["v", 0]': np.ones(2, np.float32)}, saved], "here")
    assert {key: x.tolist() for key, x in stores.residuals(store).items()} == {
        '["w", 0]': [2, 2, 2],
        '["v", 0]': [1, 1],
    }


# ---------------------------------------------------------------- a folder that somebody else has filled


@pytest.mark.parametrize("kind", ["link", "dangling link", "foreign file", "pipe", "folder"])
def test_a_lock_that_no_checkpoint_wrote_is_refused_and_kept(kind: str, tmp_path: Path) -> None:
    lock, precious = tmp_path / "lock", tmp_path / "precious"
    if kind == "link":
        precious.write_text("process and no lock")
    if kind.endswith("link"):
        lock.symlink_to(precious)
    elif kind == "foreign file":
        lock.write_text("process and no lock")
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    net, trainer, _ = make({})
    for use in (lambda x: x.load(), lambda x: x.save()):
        with pytest.raises(MXNetError, match=r"lock' is (no file, as|nothing that a checkpoint wrote)"):
            use(Checkpoint(tmp_path, net, trainer))
    if kind in ("link", "foreign file"):
        assert lock.read_text() == "process and no lock"
    assert precious.exists() is (kind == "link")


def test_a_lock_of_a_process_that_has_ended_is_taken(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("process 1 on another-host")
    folder.Folder(tmp_path).take()
    assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} on ")


@pytest.mark.parametrize("content", ["", "process 1 on another-host"])
def test_a_lock_that_has_another_name_is_not_written_to(content: str, tmp_path: Path) -> None:
    """It is somebody's empty file, or of a copy of the checkpoint that is made of hard links."""
    (tmp_path / "precious").write_text(content)
    (tmp_path / "lock").hardlink_to(tmp_path / "precious")
    folder.Folder(tmp_path).take()
    assert (tmp_path / "precious").read_text() == content
    assert (tmp_path / "lock").samefile(tmp_path / "precious")


def test_files_of_a_checkpoint_do_not_go_where_links_lead(tmp_path: Path) -> None:
    for name in ("000001-rank0.safetensors", "000001-states.safetensors", "latest"):
        (tmp_path / name).symlink_to(tmp_path / f"precious-{name}")
    (tmp_path / "precious-000001-rank0.safetensors").write_text("precious")
    with pytest.raises(Killed):
        train(tmp_path, {}, stop=3)
    assert {x.name for x in tmp_path.glob("precious-*")} == {"precious-000001-rank0.safetensors"}
    assert (tmp_path / "precious-000001-rank0.safetensors").read_text() == "precious"
    assert folder.Folder(tmp_path).latest() is not None


def test_files_of_others_are_kept(tmp_path: Path) -> None:
    names = ["20260101-final-model.safetensors", "123456-rank0.safetensors", "999999-states.safetensors"]
    for name in names:
        (tmp_path / name).write_bytes(b"precious")
    net = nn.Dense(2, in_units=2)
    net.initialize()
    checkpoint = Checkpoint(tmp_path, net, gluon.Trainer(net.collect_params(), "sgd"))
    assert checkpoint.load() == 0
    for _ in range(3):
        checkpoint.save()
    assert all((tmp_path / name).read_bytes() == b"precious" for name in names)


def test_latest_may_be_a_pipe_of_somebody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "latest")
    net = nn.Dense(2, in_units=2)
    net.initialize()
    with pytest.raises(MXNetError, match="latest' is no file, as that of a checkpoint is; remove it"):
        Checkpoint(tmp_path, net, gluon.Trainer(net.collect_params(), "sgd")).load()
