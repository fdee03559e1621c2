"""Optimizers in JSON: what is read updates as what was written, bit by bit; nothing else is read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime import MXNetError, gluon, lr_scheduler, nd, optimizer
from runtime.core import optgen_bridge
from runtime.optimizer import handwritten_modules, named_classes, serialization
from tests.runtime.vectors import for_small_matrices, takes_vectors

SHAPES = ((7, 90), (33,), (1,))

MODULE = """
import math
import runtime as mx

class Heavy(mx.optimizer.Optimizer):
    def __init__(self, weight=2.0, label="a", **kwargs):
        super().__init__(**kwargs)
        self.weight, self.label, self._root, self._worst = weight, label, math.sqrt(weight), math.nan
    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape)
    def update(self, index, weight, grad, state):
        self._update_count(index)
        self._root, self._calls = self._root * 0.9, getattr(self, "_calls", 0) + 1
        state += self._root * grad * self.rescale_grad + self._get_wd(index) * weight
        weight -= self._get_lr(index) / self._index_update_count[index] / self._calls * state

class Slow(mx.optimizer.Adam):
    def update(self, index, weight, grad, state):
        super().update(index, weight, [g * 0.5 for g in grad] if isinstance(grad, list) else grad * 0.5, state)

class Picky(mx.optimizer.Optimizer):
    def __init__(self, table):
        super().__init__()
        self.size = len(table)

class Forgetful(mx.optimizer.Optimizer):
    def __init__(self):
        super().__init__()
        self._secret, self._table = 1.0, {"a": [1.0], "b": None}
"""
HALVING = """\
optimizer Halving "Gradient descent at a part of the rate"
param part = 0.5 in [0, 1]
flag fast = false
update:
  w' = w - lr*g if fast
  w' = w - lr*part*g otherwise
"""


@pytest.fixture
def classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of classes written by hand."""
    (tmp_path / "wire_classes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wire_classes", raising=False)
    import wire_classes

    return wire_classes


def weights(count: int) -> list[nd.NDArray]:
    rng = np.random.default_rng(0)
    return [nd.array(rng.normal(size=shape), dtype="float32") for shape in SHAPES[:count]]


def train(updater: optimizer.Updater, arrays: list[nd.NDArray], steps: range) -> None:
    for step in steps:
        rng = np.random.default_rng(step + 1)
        grads = [nd.array(rng.normal(size=w.shape), dtype="float32") for w in arrays]
        updater(list(range(len(arrays))), grads, arrays)


def assert_goes_on_alike(
    first: optimizer.Optimizer, change: Callable[[optimizer.Optimizer], None], count: int = len(SHAPES)
) -> None:
    """What was read after two steps goes on as the original does, which `change`s after two more."""
    one, arrays = optimizer.get_updater(first), weights(count)
    train(one, arrays, range(2))
    two, copies = optimizer.get_updater(serialization.loads(serialization.dumps(first))), [w.copy() for w in arrays]
    two.set_states(one.get_states())
    for steps in range(2, 4), range(4, 6):
        train(one, arrays, steps)
        train(two, copies, steps)
        change(first)
        serialization.apply(two.optimizer, json.loads(json.dumps(serialization.changes(first))))
    for a, b in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert serialization.changes(two.optimizer) == serialization.changes(first)


def slower(optimizer_: optimizer.Optimizer) -> None:
    optimizer_.lr, optimizer_.rescale_grad = optimizer_.lr * 0.3, 0.25


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in optgen_bridge.names()
        if not (optgen_bridge.read(name).inputs or optgen_bridge.read(name).phases or optgen_bridge.read(name).given)
    ],
)
def test_every_optimizer_goes_on_bit_by_bit(name: str) -> None:
    mx.random.seed(3)
    count = len(SHAPES) if takes_vectors(name) else 1
    arguments = for_small_matrices(name)
    assert_goes_on_alike(optimizer.create(name, learning_rate=0.02, rescale_grad=0.5, **arguments), slower, count)


def test_arguments_multipliers_and_names_travel() -> None:
    first = optimizer.create(
        "lamb", learning_rate=0.02, wd=0.1, bias_correction=False, clip_gradient=0.5, storage={"m": "int8_linear"},
        multi_precision=True, param_idx2name={0: "a_weight", 1: "a_bias", 2: "b_gamma"},
    )  # fmt: skip
    first.set_lr_mult({0: 0.5, "b_gamma": 3})
    second = serialization.loads(serialization.dumps(first))
    assert type(second) is type(first)
    assert (second.storage, second.multi_precision, second.bias_correction) == ({"m": "int8_linear"}, True, False)
    assert second._get_lrs([0, 1, 2]) == first._get_lrs([0, 1, 2]) == [0.01, 0.02, 0.06]
    assert second._get_wds([0, 1, 2]) == first._get_wds([0, 1, 2]) == [0.1, 0, 0.1]
    assert_goes_on_alike(first, lambda o: o.set_wd_mult({1: 2.0}))
    lars = optimizer.create("lars", momentum=0.9, skip=("_weight",), param_idx2name=first.idx2name)
    assert serialization.loads(serialization.dumps(lars)).skip == ("_weight",)


def test_parameters_become_tables() -> None:
    params = [gluon.Parameter(f"p{i}_weight", shape=shape) for i, shape in enumerate(SHAPES)]
    for p in params:
        p.initialize()
    trainer = gluon.Trainer(params, "adam", {"wd": 0.1})
    params[1].lr_mult, params[2].wd_mult = 0.5, 0.0
    other = serialization.loads(serialization.dumps(trainer.optimizer))
    assert [other.name_of(i) for i in range(3)] == ["p0_weight", "p1_weight", "p2_weight"]
    assert other._get_lrs([0, 1, 2]) == trainer.optimizer._get_lrs([0, 1, 2])
    assert other._get_wds([0, 1, 2]) == trainer.optimizer._get_wds([0, 1, 2])
    params[1].lr_mult = 1.0
    serialization.apply(other, serialization.changes(trainer.optimizer))
    assert other._get_lrs([0, 1, 2]) == [0.001] * 3


def test_specs_of_others_travel_as_text() -> None:
    registered = optimizer.register_spec(HALVING)(learning_rate=0.1, fast=True)
    assert type(serialization.loads(serialization.dumps(registered))) is type(registered)
    unknown = json.loads(serialization.dumps(registered))
    unknown["spec"] = unknown["spec"].replace("Halving", "Elsewhere").replace("0.5", "0.25")
    other = serialization.loads(json.dumps(unknown))
    assert (type(other).__name__, other.fast, other.part) == ("Elsewhere", True, 0.5)
    unknown["spec"] += "  w' = oops\n"
    with pytest.raises(MXNetError, match=r"spec of an optimizer has errors(.|\n)*oops"):
        serialization.loads(json.dumps(unknown))


SCHEDULES = (
    lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.3),
    lr_scheduler.MultiFactorScheduler([1, 3], 0.1, warmup_steps=2, warmup_mode="constant"),
    lr_scheduler.PolyScheduler(9, pwr=3, final_lr=0.01),
    lr_scheduler.CosineScheduler(9, warmup_steps=3, warmup_begin_lr=0.001),
    lr_scheduler.LinearScheduler(9),
    lr_scheduler.InverseSquareRootScheduler(warmup_steps=2),
    lr_scheduler.TriangularScheduler(2, 0.5, "exp_range", 0.9),
    lr_scheduler.OneCycleScheduler(2, 0.5, 9),
)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
def test_schedules_travel(schedule: lr_scheduler.LRScheduler) -> None:
    schedule(3)
    first = optimizer.create("sgd", learning_rate=0.2, lr_scheduler=schedule)  # which sets base_lr
    second = serialization.loads(serialization.dumps(first)).lr_scheduler
    assert type(second) is type(schedule)
    assert [second(n) for n in (1, 4, 2, 9, 20)] == [schedule(n) for n in (1, 4, 2, 9, 20)]


def test_every_schedule_is_tested() -> None:
    classes = {x for x in map(lr_scheduler.__dict__.get, lr_scheduler.__all__) if isinstance(x, type)}
    assert {*map(type, SCHEDULES), lr_scheduler.LRScheduler} == classes


def test_other_schedules_stay_with_the_sender() -> None:
    first = optimizer.create("sgd", lr_scheduler=lambda n: 1 / n)
    second = serialization.loads(serialization.dumps(first))
    assert (second.lr_scheduler, second.lr) == (None, 1.0)
    first._update_count([0])
    assert serialization.changes(first)["lr"] == 0.5
    first.lr_scheduler = lambda n: "fast"
    with pytest.raises(MXNetError, match="gave 'fast' for update 2, not a number"):
        serialization.changes(first)


# ---------------------------------------------------------------- classes written by hand


def test_classes_written_by_hand_are_imported(classes: Any) -> None:
    first = classes.Heavy(3.0, label="b", learning_rate=0.1, wd=0.01, param_idx2name={0: "a_weight"})
    assert '"wire_classes:Heavy"' in serialization.dumps(first)
    assert_goes_on_alike(first, slower)
    assert_goes_on_alike(classes.Slow(learning_rate=0.1, beta1=0.8), slower)


def test_what_cannot_travel_says_why(classes: Any) -> None:
    class Inner(optimizer.Optimizer):
        pass

    with pytest.raises(MXNetError, match="Inner cannot be sent to another process, as it is defined inside a function"):
        serialization.dumps(Inner())
    heavy = classes.Heavy()
    heavy.table = np.zeros(3)
    with pytest.raises(MXNetError, match=r"its attribute 'table' is of type numpy\.ndarray, and only bool, int"):
        serialization.dumps(heavy)
    for table in ({"a": [2.0], "b": None}, {"a": [1.0], "b": np.zeros(3)}, {"a": [1.0]}, np.float32(1), nd.zeros(2)):
        forgetful = classes.Forgetful()
        forgetful._table = table
        with pytest.raises(MXNetError, match="its attribute '_table' is not as the constructor makes it"):
            serialization.dumps(forgetful)
    with pytest.raises(MXNetError, match=r"Picky\(\) failed: TypeError"):
        serialization.dumps(classes.Picky([1]))
    with pytest.raises(MXNetError, match="Sophia reads 'h_hat', which set_input gives it"):
        serialization.dumps(optimizer.create("sophia"))
    heavy = classes.Heavy()
    heavy.lr = math.nan
    with pytest.raises(MXNetError, match=r"Heavy cannot be sent to another process: .*'lr' = nan: not a number"):
        serialization.dumps(heavy)
    classes.Heavy.__module__ = "__main__"
    with pytest.raises(MXNetError, match="as it is defined in the script itself: define it in a module"):
        serialization.dumps(classes.Heavy())


def test_only_named_modules_are_imported(classes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is received asks for a class of a module that was not imported here."""
    monkeypatch.setattr(named_classes, "_PROVIDED", {})
    text = serialization.dumps(classes.Heavy(3.0))
    for name in ("wire_door", "wire_named", "wire_broken"):
        (tmp_path / f"{name}.py").write_text(f"{MODULE}\n{'1 / 0' * (name == 'wire_broken')}")

    def loads(name: str) -> Any:
        return serialization.loads(text.replace("wire_classes:", f"{name}:"))

    try:
        for _ in range(2):
            with pytest.raises(MXNetError, match=r"'wire_door:Heavy' is no optimizer: .*\(here, none\)"):
                loads("wire_door")
            assert "wire_door" not in sys.modules
        named_classes.provide(["wire_broken", "wire_named"])
        assert type(loads("wire_named")).__module__ == "wire_named"
        with pytest.raises(MXNetError, match=r"'wire_broken:Weak' cannot be imported in .*: ZeroDiv"):
            serialization.loads(text.replace("wire_classes:Heavy", "wire_broken:Weak"))
        with pytest.raises(MXNetError, match=r"--module wire_door"):
            loads("wire_door")
        assert "wire_door" not in sys.modules
    finally:
        sys.modules.pop("wire_named", None)


def test_modules_of_a_script_are_found_without_running_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "train.py": "import first, helper, made, under, gone\nfrom package import second\nclass Own(Optimizer): pass",
        "first.py": "import runtime as mx\nclass First(mx.optimizer.Optimizer): pass\n1 / 0",
        "helper.py": "def late():\n    import package.sub.third\nclass Nothing(dict): pass",
        "package/__init__.py": "",
        "package/second.py": "from first import First as F\nclass Second(F): pass",
        "package/sub/__init__.py": "from . import fourth",
        "package/sub/third.py": "from runtime.optimizer import Adam, AdamMini\nclass Third(AdamMini): pass",
        "package/sub/fourth.py": "from ..base import Base\nclass Fourth(Base): pass",
        "package/base.py": "class Base(Optimizer, object): pass",
        "unused.py": "class Unused(Optimizer): pass",
        "broken.py": "class Broken(Optimizer): pass\n(",
        "made.py": "import runtime as mx\nclass Made(mx.optimizer.SpecOptimizer): pass",
        "under.py": "from runtime.optimizer import ScheduleFreeSGD\nclass Under(ScheduleFreeSGD): pass",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    package = ["package.base", "package.second", "package.sub.fourth", "package.sub.third"]
    expected = ["first", "made", *package, "under"]
    assert handwritten_modules.defining(tmp_path / "train.py") == expected
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "script.py").write_text("import broken, unused")
    assert handwritten_modules.defining(tmp_path / "elsewhere" / "script.py") == ["unused"]
    assert handwritten_modules.defining(tmp_path / "gone.py") == []


# ---------------------------------------------------------------- what is not read

BAD: list[tuple[str, Any, str]] = [
    ("class", "os:system", "'os:system' is no optimizer: only subclasses"),
    ("class", "runtime.optimizer:create", "is no optimizer"),
    ("class", "runtime.optimizer.nowhere:Adam", "cannot be imported"),
    ("class", "../x:y", "named as module:qualname"),
    ("class", "builtins:eval.__call__", "is no optimizer"),
    ("class", 3, "'class' of type str, not int"),
    ("updates", {"0": 3}, "'updates' of type list, not dict"),
    ("updates", [[0, -1]], "out of range"),
    ("updates", [[0, 10**40]], "out of range"),
    ("updates", [[0.5, 1]], "pairs of an index or name and a int"),
    ("names", [[0]], "is a list of pairs"),
    ("num_update", 1e3, "'num_update' of type int"),
    ("num_update", 10**300, "is a count"),
    ("arguments", [], "'arguments' of type dict"),
    ("arguments", {}, "cannot be made"),
    ("version", 2, "version 1"),
]
BAD_OF_SPECS: list[tuple[str, Any, str]] = [
    ("spec", "adam", "is its text, which has several lines"),
    ("spec", "/etc/passwd\n", "spec of an optimizer has errors"),
    ("seed", -1, r"in \[0, 2\^63\)"),
    ("seed", None, "'seed' of type int"),
]
BAD_VALUES: list[tuple[str, Any]] = [
    *((name, value) for name in ("lr", "wd", "rescale_grad") for value in ("1", True, None, [1], math.nan)),
    ("beta1", 2.0),
    ("lr", 10**400),
    ("clip_gradient", "none"),
    ("nothing", 1.0),
    ("_version", 1),
    ("update", 1.0),
    ("num_update", 3),
    ("lazy_update", True),
    ("spec", "x"),
    ("lr_mult", 2.0),
    ("lr_mult", [[0, "2"]]),
    ("wd_mult", [[0, math.inf]]),
    ("lr_scheduler", "cosine"),
    ("lr_scheduler", {"class": "plot", "base_lr_now": 1}),
    ("lr_scheduler", {"class": "FactorScheduler", "step": 0, "base_lr_now": 1}),
    ("lr_scheduler", {"class": "FactorScheduler", "step": 1, "base_lr_now": "1"}),
    ("lr_scheduler", {"class": "FactorScheduler", "step": 1, "base_lr": 10**400, "base_lr_now": 1}),
    ("lr_scheduler", {"class": ["FactorScheduler"], "base_lr_now": 1}),
]


def test_what_nobody_wrote_is_refused(classes: Any) -> None:
    by_hand, of_spec = (json.loads(serialization.dumps(x)) for x in (classes.Heavy(), optimizer.create("adam")))
    for content, cases in ((by_hand, BAD), (of_spec, BAD_OF_SPECS)):
        for field, value, message in cases:
            with pytest.raises(MXNetError, match=message):
                serialization.loads(json.dumps(content | {field: value}))
    for name, value in (("update", 1), ("_ids", 1), ("_device", 1), ("__dict__", 1), ("lr", "1"), ("x y", 1)):
        with pytest.raises(MXNetError, match="Heavy cannot have"):
            serialization.loads(json.dumps(by_hand | {"values": by_hand["values"] | {name: value}}))
    for text in ("", "{", "[]", "null", '{"version": 1}', "[" * 100_000, "1" * 5000, '{"version": NaN}'):
        with pytest.raises(MXNetError, match=r"in JSON|as this library writes"):
            serialization.loads(text)


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_changes_are_checked_before_any_is_made(name: str, value: Any) -> None:
    adam = optimizer.create("adam")
    before = serialization.changes(adam)
    with pytest.raises(MXNetError):
        serialization.apply(adam, {"lr": 0.5, "beta2": 0.5, name: value})
    assert serialization.changes(adam) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=4), x, max_size=3),
    max_leaves=6,
)
CONTENT = json.loads(serialization.dumps(optimizer.create("sgd", momentum=0.9, param_idx2name={0: "a", "b": "b"})))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*CONTENT, *CONTENT["values"], *CONTENT["arguments"]]), JSON)
def test_anything_in_any_field_is_read_or_refused(field: str, value: Any) -> None:
    content = json.loads(json.dumps(CONTENT))
    for place in (content, content["values"], content["arguments"]):
        if field in place:
            place[field] = value
    try:
        read = serialization.loads(json.dumps(content))
    except MXNetError:
        return
    assert json.loads(serialization.dumps(read)).keys() == CONTENT.keys()
