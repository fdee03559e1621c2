"""State files with right checksums and senseless contents: they are refused, with the file and the entry, and change
nothing."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime import MXNetError, autograd, gluon, optimizer
from runtime.core import files
from runtime.kvstore.servers.client import ServerStore
from runtime.optimizer import states
from tests.kvstore.pairs import Pairs

SHAPES = ((2, 3), (4,))


@optimizer.register
class Kinds(optimizer.Optimizer):
    """Written by hand, with a state of all kinds."""

    def create_state(self, index: Any, weight: Any) -> Any:
        return {"sum": [mx.nd.zeros(weight.shape), None], "seen": (0, "none")}

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        state["sum"][0] += grad
        weight -= self._get_lr(index) * grad


def trained(name: str) -> gluon.Trainer:
    mx.random.seed(1)
    params = [gluon.Parameter(f"p{i}_weight", shape=shape) for i, shape in enumerate(SHAPES)]
    for param in params:
        param.initialize(mx.init.Uniform(1))
    trainer = gluon.Trainer(params, name)
    with autograd.record():
        losses = [(param.data() * param.data()).sum() for param in params]
    autograd.backward(losses)
    trainer.step(1)
    return trainer


def written(trainer: gluon.Trainer) -> bytes:
    return trainer._updaters[0].get_states(dump_optimizer=True)


def put(value: Any, place: tuple[Any, ...], header: Any) -> None:
    for key in place[:-1]:
        header = header[key]
    header[place[-1]] = value


def drop(place: tuple[Any, ...], header: Any) -> None:
    for key in place[:-1]:
        header = header[key]
    del header[place[-1]]


def resealed(content: bytes, change: Callable[[Any], None], **arrays: np.ndarray) -> bytes:
    """A state file with another header and other arrays, and with the checksum of these."""
    header, found = states.checked(content)
    change(header)
    return states.sealed(header, found | arrays)


UPDATES, ID = "parameters[0].updates is a count, from 0 to 2^53, not", "parameters[1].id is the number of a parameter"
M = ("parameters", 0, "state", "dict", "m")
SENSELESS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("parameters", 0, "updates"), math.inf, f"{UPDATES} inf"),
    (("parameters", 0, "updates"), math.nan, f"{UPDATES} nan"),
    (("parameters", 0, "updates"), 1 << 70, f"{UPDATES} 1180591620717411303424"),
    (("parameters", 0, "updates"), (1 << 53) + 1, f"{UPDATES} 9007199254740993"),
    (("parameters", 0, "updates"), -5, f"{UPDATES} -5"),
    (("parameters", 0, "updates"), 2.0, f"{UPDATES} 2.0"),
    (("parameters", 0, "updates"), True, f"{UPDATES} True"),
    (("parameters", 0, "updates"), "3", f"{UPDATES} '3'"),
    (("parameters", 0, "updates"), None, f"{UPDATES} None"),
    (
        ("values", "num_update"),
        math.inf,
        "values['num_update'] = inf: 'num_update' is a count, from 0 to 2^53, not inf",
    ),
    (("values", "begin_num_update"), -1, "values['begin_num_update'] = -1: 'begin_num_update' is a count"),
    (
        ("values", "seed"),
        "text",
        "values['seed'] = 'text': the seed of an optimizer is a whole number in [0, 2^63)",
    ),
    (("values", "seed"), -1, "values['seed'] = -1: the seed"),
    (("values", "seed"), 1 << 63, "values['seed'] = 9223372036854775808: the seed"),
    (("values", "beta1"), 1.5, "values['beta1'] = 1.5: "),
    (("values", "beta1"), "0.9", "values['beta1'] = '0.9': not a number"),
    (("values", "lr"), math.nan, "values['lr'] = nan: not a number"),
    (("values", "amsgrad"), 7, "values['amsgrad'] = 7: "),
    (("values", "lazy_update"), 1, "values['lazy_update'] = 1: not True or False"),
    (("values", "wd"), [0], "values['wd'] = [0]: list is no scalar"),
    (("values",), [], "values is of type dict, not []"),
    (("optimizer",), None, "optimizer is of type str, not None"),
    (("parameters",), {}, "parameters is of type list, not {}"),
    (("parameters", 1), 3, "parameters[1] is of type dict, not 3"),
    (("parameters", 1, "id"), -1, f"{ID}, from 0 to 1048575, not -1"),
    (("parameters", 1, "id"), 1 << 20, f"{ID}, from 0 to 1048575, not 1048576"),
    (("parameters", 1, "index"), 0, "parameters[1].index is 0, which another parameter has"),
    (("parameters", 1, "index"), [0], "parameters[1].index is of type int or str, not [0]"),
    (("parameters", 1, "name"), 7, "parameters[1].name is of type str, not 7"),
    (("parameters", 0, "state"), {"pickle": "x"}, "parameters[0].state is of an unknown kind, 'pickle'"),
    (("parameters", 0, "state"), {}, "parameters[0].state is a state, which has one kind, not {}"),
    (M, {"array": "gone"}, "parameters[0].state.m names an array that the file does not have, 'gone'"),
    (M, {"array": ["0.m"]}, "parameters[0].state.m names an array that the file does not have, ['0.m']"),
    (M, {"coded": ["0.m", "0.v", "int8_dynamic", True]}, "parameters[0].state.m: codes are uint8, and scales float32"),
    (M, {"coded": ["0.m", "0.v", "uint8", True]}, "parameters[0].state.m: 'uint8' is no storage in blocks of codes"),
    (M, {"coded": ["0.m", "0.v", "int8_dynamic", True, [-1]]}, "parameters[0].state.m.shape[0]"),
    (M, {"coded": ["0.m", "0.v", "int8_dynamic", True, 3]}, "parameters[0].state.m.shape is of type list, not 3"),
    (M, {"coded": [1, 2]}, "parameters[0].state.m has codes, scales, storage and sign, not [1, 2]"),
]


@pytest.mark.parametrize(("place", "value", "words"), SENSELESS)
def test_what_is_senseless_is_refused_with_its_name(
    place: tuple[Any, ...], value: Any, words: str, tmp_path: Path
) -> None:
    trainer, path = trained("adam"), tmp_path / "states"
    before = written(trainer)
    path.write_bytes(resealed(before, lambda header: put(value, place, header)))
    with pytest.raises(MXNetError, match=re.escape(f"'{path}': {words}")):
        trainer.load_states(path)
    assert written(trainer) == before


def test_what_is_missing_is_refused_or_not_needed() -> None:
    """Every entry in turn."""
    for name, content in WRITTEN.items():
        for place in PLACES[name]:
            trainer = trained(name)
            try:
                states.restore(trainer._updaters, resealed(content, lambda header, at=place: drop(at, header)), [{}])
            except MXNetError:
                assert written(trainer) == content
    with pytest.raises(MXNetError, match="the header lacks 'spec'"):
        states.checked(resealed(WRITTEN["adam"], lambda header: drop(("spec",), header)))


def test_headers_that_are_nonsense() -> None:
    updater, deep = trained("adam")._updaters[0], {"value": None}
    for _ in range(100):
        deep = {"list": [deep]}
    tree = {"index": 0, "name": "a", "id": 0, "updates": 0, "state": deep}
    headers = (3, [], None, {}, {"optimizer": "Adam", "spec": None, "values": {}, "parameters": [tree]})
    for text in (*map(json.dumps, headers), "", "{", "[" * 100_000, "1" * 5000):
        metadata = {"format": states.FORMAT, "version": "1", "header": text, "sha256": files.digest(text, {})}
        with pytest.raises(MXNetError, match=r"header|optimizer is of|which has one kind"):
            updater.set_states(files.to_bytes({}, metadata))


def test_whole_numbers_are_no_states() -> None:
    trainer = trained("adam")
    before = written(trainer)
    content = resealed(before, lambda header: None, **{"0.m": np.ones(SHAPES[0], np.int64)})
    with pytest.raises(MXNetError, match=r"state of parameter 'p0_weight' is of type .*int64"):
        states.restore(trainer._updaters, content, trainer._learned())
    assert written(trainer) == before


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all that a header holds."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*at, key)
            yield from places(inner, (*at, key))


WRITTEN = {name: written(trained(name)) for name in ("adam", "kinds", "sgld")}
PLACES = {name: list(places(states.checked(content)[0])) for name, content in WRITTEN.items()}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=2),
    max_leaves=5,
)


ANYTHING = given(st.data(), st.sampled_from(list(WRITTEN)))


@settings(max_examples=60, deadline=None)
@ANYTHING
def test_anything_in_any_place_is_loaded_or_refused(data: st.DataObject, name: str) -> None:
    check_anything(data, name)


@pytest.mark.stress
@settings(max_examples=5000, deadline=None)
@ANYTHING
def test_many_things_in_any_place_are_loaded_or_refused(data: st.DataObject, name: str) -> None:
    check_anything(data, name)


def check_anything(data: st.DataObject, name: str) -> None:
    """What is loaded can be saved and loaded again; what is refused changes nothing."""
    trainer = trained(name)
    before = written(trainer)
    place, value = data.draw(st.sampled_from(PLACES[name])), data.draw(JSON)
    content = resealed(WRITTEN[name], lambda header: put(value, place, header))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another spec
        try:
            states.restore(trainer._updaters, content, trainer._learned())
        except MXNetError:
            assert written(trainer) == before
        else:
            states.restore(trained(name)._updaters, written(trainer), trainer._learned())


def test_all_shards_take_a_file_or_none(tmp_path: Path) -> None:
    pairs = Pairs(2)
    store = ServerStore("dist_async", pairs, 0, 2)
    store.set_optimizer(mx.optimizer.create("adam"))
    shapes = {"a": (2, 3), "b": (2, 3)}
    for key, shape in shapes.items():
        store.init(key, mx.nd.ones(shape))
        store.push(key, mx.nd.ones(shape))
    assert [list(store._values[key].place.owners) for key in shapes] == [[0], [1]]
    store.save_optimizer_states(tmp_path / "states")
    good = (tmp_path / "states").read_bytes()
    store.push(list(shapes), [mx.nd.ones(shape) for shape in shapes.values()])
    store.save_optimizer_states(tmp_path / "now")
    for key in shapes:
        wrong = resealed(good, lambda header: None, **{f"{key}.m": np.ones((3, 3), np.float32)})
        (tmp_path / "states").write_bytes(wrong)
        with pytest.raises(MXNetError, match=rf"'{tmp_path / 'states'}': .*'{key}' has shape \(3, 3\)"):
            store.load_optimizer_states(tmp_path / "states")
        store.save_optimizer_states(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "now").read_bytes()
    (tmp_path / "states").write_bytes(good)
    store.load_optimizer_states(tmp_path / "states")
    store.save_optimizer_states(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == good
    store.close()


def test_numbers_that_two_shards_gave_are_told_apart_by_one_store(tmp_path: Path) -> None:
    """Each shard counts its own named keys for random draws."""
    keys, ones = ["a", "b"], [mx.nd.ones((2, 3)), mx.nd.ones((2, 3))]
    store, local = ServerStore("dist_async", Pairs(2), 0, 2), mx.kv.create("local")
    for kv in (store, local):
        kv.set_optimizer(mx.optimizer.create("sgld"))
        kv.init(keys, ones)
        kv.push(keys, ones)
    store.save_optimizer_states(tmp_path / "states")
    header, _ = states.checked((tmp_path / "states").read_bytes())
    assert [p["id"] for p in header["parameters"]] == [0, 0]
    local.load_optimizer_states(tmp_path / "states")
    local.push(keys, ones)
    pulled = [mx.nd.zeros((2, 3)) for _ in keys]
    local.pull(keys, out=pulled)
    assert not np.array_equal(pulled[0].asnumpy(), pulled[1].asnumpy())
    store.close()


@pytest.mark.parametrize("value", [1.5, -1, True, "3", math.inf, 1 << 60])
def test_counts_begin_with_a_count(value: Any) -> None:
    with pytest.raises(MXNetError, match="begin_num_update is a count, from 0 to 2"):
        optimizer.create("sgd", begin_num_update=value)
    assert optimizer.create("sgd", begin_num_update=np.int64(3)).num_update == 3
