"""State files: training goes on bit by bit, from whatever element type and storage; no other file changes a thing."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd, optimizer
from runtime.core import files, optgen_bridge
from tests.runtime.vectors import for_small_matrices, takes_vectors
from tests.sweeps import swept

SHAPES = ((70, 80), (67, 81), (33,), (1,))
SMALL = ((7, 8), (33,), (1,))
STORAGES = (None, "bfloat16_stochastic", "int8_dynamic", "int8_linear", "int4_dynamic")


@optimizer.register
class Nested(optimizer.Optimizer):
    """Written by hand, with a state of all kinds and a number of its own."""

    def __init__(self, decay: float = 0.5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.decay = decay

    def create_state(self, index: Any, weight: nd.NDArray) -> Any:
        return {"velocity": [nd.zeros(weight.shape, weight.context, weight.dtype), None], "steps": (0, "none")}

    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: Any) -> None:
        self._update_count(index)
        velocity = state["velocity"][0]
        velocity[:] = self.decay * velocity - self._get_lr(index) * grad / self._index_update_count[index]
        weight += velocity
        state["steps"] = (state["steps"][0] + 1, "some")


def trainer_of(name: str, dtype: str = "float32", shapes: Any = SHAPES, **arguments: Any) -> gluon.Trainer:
    mx.random.seed(1)
    params = []
    for i, shape in enumerate(shapes):
        params.append(gluon.Parameter(f"p{i}_weight", shape=shape, dtype=dtype))
        params[-1].initialize(mx.init.Uniform(1))
    trainer = gluon.Trainer(params, name, {"learning_rate": 0.01, **for_small_matrices(name), **arguments})
    if name in ("sophia", "adahessian"):
        trainer.optimizer.set_input("h_hat", {i: nd.ones(shape, dtype=dtype) for i, shape in enumerate(shapes)})
    return trainer


def train(trainer: gluon.Trainer, steps: int) -> list[np.ndarray]:
    """The weights after some steps; gradients depend on the weights, and are of one sign."""
    for _ in range(steps):
        with autograd.record():
            losses = [(p.data() * p.data() * 2 + p.data()).sum() for p in trainer._params]
        autograd.backward(losses)
        trainer.step(2)
    return [p.data().asnumpy() for p in trainer._params]


def copy_weights(source: gluon.Trainer, to: gluon.Trainer) -> None:
    for a, b in zip(source._params, to._params, strict=True):
        b.set_data(a.data())


def contents(trainer: gluon.Trainer) -> bytes:
    """All that a step depends on, as bytes."""
    return trainer._updaters[0].get_states(dump_optimizer=True) + b"".join(p.data().asnumpy() for p in trainer._params)


# ---------------------------------------------------------------- going on


TAUGHT = [x for x in optgen_bridge.names() if not (optgen_bridge.read(x).phases or optgen_bridge.read(x).given)]
TAUGHT.remove("kfac")  # whose inputs have other shapes
"""The specs whose steps take gradients alone, once, and further tensors of the weights' shapes."""
BLOCKS = ("adam", "lamb", "adafactor", "muon_adamw", "nested")
"""Those that are trained with matrices of more elements than a block or a piece has; what files hold is the same."""


@pytest.mark.parametrize("name", [*TAUGHT, "nested"])
def test_training_goes_on_bit_by_bit(name: str, tmp_path: Path) -> None:
    shapes = SHAPES if name in BLOCKS else SMALL
    shapes = [shape for shape in shapes if takes_vectors(name) or len(shape) == 2]
    first = trainer_of(name, shapes=shapes)
    train(first, 3)
    first.save_states(tmp_path / "states")
    second = trainer_of(name, shapes=shapes, learning_rate=0.5)  # the file's is 0.01
    train(second, 1)
    copy_weights(first, second)
    second.load_states(tmp_path / "states")
    assert second.learning_rate == 0.01
    for a, b in zip(train(first, 2), train(second, 2), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("multi_precision", [False, True])
@pytest.mark.parametrize("storage", STORAGES)
def test_stored_states_and_masters_go_on_bit_by_bit(storage: str, multi_precision: bool, tmp_path: Path) -> None:
    arguments = {"dtype": "bfloat16", "storage": storage, "multi_precision": multi_precision}
    first, second = trainer_of("adam", **arguments), trainer_of("adam", **arguments)
    train(first, 3)
    first.save_states(tmp_path / "states")
    copy_weights(first, second)
    second.load_states(tmp_path / "states")
    for a, b in zip(train(first, 2), train(second, 2), strict=True):
        np.testing.assert_array_equal(a, b)


TARGETS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("float64", {}),
    ("float32", {"storage": "int8_dynamic"}),
    ("float32", {"storage": {"v": "int8_linear"}}),
    ("float32", {"storage": {"v": "int4_dynamic"}}),
    ("float16", {"multi_precision": True, "storage": "bfloat16"}),
    ("bfloat16", {}),
)
CONVERSIONS = [(source, *target) for source in STORAGES for target in TARGETS]


@pytest.mark.parametrize(
    ("source", "dtype", "arguments"), swept(CONVERSIONS, lambda case: case[0] is None or case[1:] in TARGETS[:2])
)
def test_other_element_types_and_storages(source: str | None, dtype: str, arguments: dict, tmp_path: Path) -> None:
    first, second = trainer_of("adam", storage=source), trainer_of("adam", dtype, **arguments)
    train(first, 4)
    first.save_states(tmp_path / "states")
    copy_weights(first, second)
    second.load_states(tmp_path / "states")
    exact = trainer_of("adam")
    train(exact, 4)
    assert second._updaters[0].optimizer.storage == arguments.get("storage")
    coarse = "int4_dynamic" in f"{source} {arguments}"
    for a, b in zip(train(exact, 1), train(second, 1), strict=True):
        np.testing.assert_allclose(a, b.astype(float), rtol=2e-2, atol=2e-2 if coarse else 1e-2)


def test_a_file_describes_itself(tmp_path: Path) -> None:
    trainer = trainer_of("adam", wd=0.1)
    train(trainer, 2)
    trainer.save_states(tmp_path / "states")
    arrays, metadata = files.from_bytes((tmp_path / "states").read_bytes(), "states")
    assert set(arrays) == {f"{i}.{name}" for i in range(4) for name in "mv"}
    for words in ('"optimizer": "Adam"', '"beta1": 0.9', '"wd": 0.1', '"num_update": 2', '"name": "p1_weight"'):
        assert words in metadata["header"]


def test_updaters_take_states_before_they_know_the_weights() -> None:
    first, weights = optimizer.get_updater(optimizer.create("adam")), [nd.ones(5000), nd.ones(3)]
    first(["a", "b"], [nd.ones(5000), nd.ones(3)], weights)
    second = optimizer.get_updater(optimizer.create("adam", storage="int8_linear", learning_rate=0.5))
    second.set_states(first.get_states())
    assert second.optimizer.lr == 0.5  # hyper-parameters come with dump_optimizer=True only
    third = optimizer.get_updater(optimizer.create("adam"))
    third.set_states(second.get_states(dump_optimizer=True))
    assert third.optimizer.lr == 0.5
    for updater in (second, third):
        assert updater.optimizer._index_update_count == {"a": 1, "b": 1}
        updater(["a", "b"], [nd.ones(5000), nd.ones(3)], [w.copy() for w in weights])
        assert updater.states["b"]["m"].dtype == np.float32
    assert second.states["a"]["m"].dtype == np.uint8
    assert third.states["a"]["m"].dtype == np.float32


# ---------------------------------------------------------------- what is refused


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, or the end cut off."""
    if rng.random() < 0.2:
        return content[: rng.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 5))):
        # The header is where most of the ways to go wrong are.
        at = rng.randrange(rng.choice((8, len(content) // 2, len(content))))
        changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


def test_damaged_files_change_nothing(tmp_path: Path) -> None:
    trainer, other = (trainer_of("adam", shapes=((7, 9), (3,)), storage="int8_linear") for _ in range(2))
    train(trainer, 1)
    train(other, 2)
    before, whole, rng = contents(trainer), other._updaters[0].get_states(dump_optimizer=True), random.Random(0)
    path = tmp_path / "states"
    for _ in range(400):
        content = damaged(whole, rng)
        if content != whole:
            path.write_bytes(content)
            with pytest.raises(MXNetError, match=f"'{path}'"):
                trainer.load_states(path)
    assert contents(trainer) == before
    path.write_bytes(whole)
    trainer.load_states(path)
    assert contents(trainer) != before


class Harm:
    def __reduce__(self) -> Any:
        return pytest.fail, ("a file was unpickled",)


def test_what_is_no_state_file_of_this_optimizer(tmp_path: Path) -> None:
    trainer, path = trainer_of("adam"), tmp_path / "states"
    train(trainer, 1)
    before = contents(trainer)

    def check(words: str) -> None:
        with pytest.raises(MXNetError, match=words):
            trainer.load_states(path)
        assert contents(trainer) == before

    path.write_bytes(pickle.dumps(Harm()))
    check("is a pickle, as MXNet writes them")
    files.save(path, {"0.m": np.ones(3)}, None)
    check("not the states of an optimizer")
    for other, words in (
        (trainer_of("sgd"), "states of SGD, and this is Adam"),
        (trainer_of("adam", shapes=(*SHAPES, (2,))), "states for 5 parameters, and here there are 4"),
        (
            trainer_of("adam", shapes=((70, 80), (67, 81), (3, 11), (1,))),
            r"'p2_weight' has shape \(3, 11\), but here it is \(33,\)",
        ),
    ):
        train(other, 1)
        other.save_states(path)
        check(words)
    with pytest.raises(FileNotFoundError):
        trainer.load_states(tmp_path / "nowhere")
    updater = optimizer.get_updater(optimizer.create("adam", amsgrad=True))
    updater.set_states(trainer._updaters[0].get_states())
    with pytest.raises(MXNetError, match=r"state of parameter '1' is \{m: an array, v: an array\}, but Adam keeps"):
        updater(1, nd.ones(33), nd.ones(33))


def test_the_format_of_files_of_arrays_stays(tmp_path: Path) -> None:
    """Files that are there already must be read, with their header and checksum, by whatever comes."""
    files.save(tmp_path / "arrays", {"x": np.array([1.5], np.float32)}, {"a": 1})
    _, metadata = files.from_bytes((tmp_path / "arrays").read_bytes(), "arrays")
    sha = "28ec462c3afca828fe1655c9c9992437fbcaadba205a10733e2bf81678aafe5e"
    assert metadata == {"format": "runtime.arrays", "version": "1", "header": '{"a": 1}', "sha256": sha}


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, path = trainer_of("adam"), tmp_path / "states"
    train(trainer, 1)
    trainer.save_states(path)
    before = path.read_bytes()
    train(trainer, 1)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space left")))
    with pytest.raises(OSError, match=r"no space left: '.*states'"):
        trainer.save_states(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["states"]


def test_the_schedule_stays_that_of_the_script(tmp_path: Path) -> None:
    trainer_of("adam").save_states(tmp_path / "states")
    schedule = mx.lr_scheduler.FactorScheduler(2)
    trainer = trainer_of("adam", lr_scheduler=schedule)
    trainer.load_states(tmp_path / "states")
    assert trainer.optimizer.lr_scheduler is schedule


def test_a_changed_spec_is_told(tmp_path: Path) -> None:
    text = "optimizer Mine\nstate m = 0\nupdate:\n  m' = m + g\n  w' = w - lr*m'\n"
    optimizer.register_spec(text)
    trainer = trainer_of("mine")
    train(trainer, 1)
    trainer.save_states(tmp_path / "states")
    optimizer.register_spec(text.replace("m + g", "m + 2*g"))
    with pytest.warns(UserWarning, match="the spec of Mine has changed"):
        trainer_of("mine").load_states(tmp_path / "states")


def test_states_of_another_version_of_a_spec_are_refused(tmp_path: Path) -> None:
    text = "optimizer Mine\nstate m = 0\nupdate:\n  m' = m + g\n  w' = w - lr*m'\n"
    changed = {
        text.replace("\n", "\nversion 3\n", 1): "of version 1 of Mine, and this is version 3",
        text.replace("state m", "state m: row").replace(
            "m + g", "m + sum(g, per row)"
        ): "of a Mine that had other states",
    }
    optimizer.register_spec(text)
    trainer = trainer_of("mine")
    train(trainer, 1)
    trainer.save_states(tmp_path / "states")
    for other, message in changed.items():
        optimizer.register_spec(other)
        trainer = trainer_of("mine")
        train(trainer, 2)
        before = trainer._updaters[0].get_states()
        with pytest.raises(mx.MXNetError, match=f"states': the file is {message}"):
            trainer.load_states(tmp_path / "states")
        assert trainer._updaters[0].get_states() == before


def test_another_flag_is_told(tmp_path: Path) -> None:
    trainer_of("adam", amsgrad=True).save_states(tmp_path / "states")
    trainer = trainer_of("adam", beta1=0.5)
    with pytest.warns(UserWarning, match="^amsgrad is True in the file and False here: the file's is used"):
        trainer.load_states(tmp_path / "states")
    assert trainer.optimizer.amsgrad and trainer.optimizer.beta1 == 0.9
