"""State dicts: what is saved goes on to the bit, in an optimizer that keeps its states otherwise too."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from optgen import specfiles
from optgen.torch import optimizer, torch_classes
from optgen.torch.base import SpecOptimizer
from optgen.torch.loading import ADDED, STATES, VALUES
from tests.torch.interrupts import interrupted
from tests.torch.needs import needs_muon
from tests.torch.params import params_of

SHAPES = (16, 300), (5, 3), (), (0,)


def weights(dtype: torch.dtype = torch.float32, shapes: Any = SHAPES) -> list[Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def steps(opt: torch.optim.Optimizer, begin: int, end: int) -> None:
    for k in range(begin, end):
        for p in params_of(opt):
            p.grad = torch.cos(p.detach() * 3 + k)
        step(opt)


def step(opt: torch.optim.Optimizer) -> None:
    given = dict.fromkeys(opt.spec.given, 1.0)
    for p in params_of(opt) if opt.spec.inputs else ():
        opt.state[p] |= {x.name: torch.cos(p.detach()).abs() for x in opt.spec.inputs}
    for phase in opt.spec.phases or ("step",):
        getattr(opt, phase)(**given)


def saved(opt: torch.optim.Optimizer) -> Any:
    """A state dict that went through a file, read as only tensors and plain values are."""
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def assert_same(a: torch.optim.Optimizer, b: torch.optim.Optimizer) -> None:
    for p, q in zip(params_of(a), params_of(b), strict=True):
        assert torch.equal(p, q)
        assert list(a.state[p]) == list(b.state[q])
        for key, x in a.state[p].items():
            y = b.state[q][key]
            assert x.dtype == y.dtype and x.device == y.device and torch.equal(x, y), key


KEPT = [
    ("adabelief", torch.float32, {}),
    ("adabelief", torch.float32, {"storage": "int8_dynamic"}),
    ("adabelief", torch.float32, {"storage": {"m": "bfloat16_stochastic", "s": "int8_linear"}, "seed": 7}),
    ("adabelief", torch.float32, {"storage": {"m": "int8_dynamic", "s": "int4_dynamic"}}),
    ("adabelief", torch.bfloat16, {"master": True}),
    ("lion", torch.float16, {}),
    ("lion", torch.float64, {}),
    ("sgld", torch.float32, {"seed": 11}),
    ("adafactor", torch.float32, {}),
    ("came", torch.bfloat16, {"master": True, "storage": "float16"}),
    ("prodigy", torch.float32, {"storage": "bfloat16"}),
]


@pytest.mark.parametrize(("name", "dtype", "kwargs"), KEPT)
def test_a_file_goes_on_to_the_bit(name: str, dtype: torch.dtype, kwargs: dict[str, Any]) -> None:
    """States keep their dtypes, and draws go on; copies and pickles do the same."""
    opt = optimizer(name)(weights(dtype), lr=0.01, **kwargs)
    steps(opt, 0, 2)
    resumed = optimizer(name)(copy.deepcopy(params_of(opt)), **kwargs)
    resumed.load_state_dict(saved(opt))
    assert_same(opt, resumed)
    others = [resumed, copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    steps(opt, 2, 4)
    for other in others:
        steps(other, 2, 4)
        assert_same(opt, other)


def test_another_seed_draws_other_numbers() -> None:
    first, second, third = (optimizer("sgld")(weights(), seed=s) for s in (1, 1, 2))
    for opt in (first, second, third):
        steps(opt, 0, 1)
    assert_same(first, second)
    assert not torch.equal(params_of(first)[0], params_of(third)[0])
    second.seed = 2
    for opt in (second, third):
        for p, q in zip(params_of(opt), params_of(first), strict=True):
            p.data.copy_(q)
        steps(opt, 1, 2)
    assert_same(second, third)


@pytest.mark.parametrize("storage", ["int8_dynamic", "int8_linear", "int4_dynamic", "bfloat16", "float16"])
def test_an_optimizer_keeps_what_it_loads_in_its_own_way(storage: str) -> None:
    """Numbers are encoded, or codes decoded; whoever wrote the file."""
    plain, packed = optgen.torch.Lion(weights(), lr=0.01), optgen.torch.Lion(weights(), lr=0.02, storage=storage)
    steps(plain, 0, 2)
    packed.load_state_dict(saved(plain))
    group = packed.param_groups[0]
    assert group["storage"] == storage and group["lr"] == 0.01
    there = packed.state[params_of(packed)[0]]["m"]
    assert there.dtype == (torch.uint8 if storage.startswith("int") else getattr(torch, storage))
    back = optgen.torch.Lion(weights())
    back.load_state_dict(saved(packed))
    assert back.param_groups[0]["storage"] is None
    for opt in (packed, back):
        for p, q in zip(params_of(opt), params_of(plain), strict=True):
            p.data.copy_(q)
    for p, q in zip(params_of(back), params_of(plain), strict=True):
        m = back.state[p]["m"]
        assert m.dtype == torch.float32 and list(back.state[p]) == ["step", "m"] and back.state[p]["step"] == 2
        torch.testing.assert_close(m, plain.state[q]["m"], rtol=0.07, atol=0.5 if storage == "int4_dynamic" else 0.02)
    steps(packed, 2, 3)
    steps(back, 2, 3)
    again = optgen.torch.Lion(weights(), storage=storage)
    again.load_state_dict(saved(packed))
    assert_same(packed, again) if all(map(torch.equal, params_of(packed), params_of(again))) else None
    for key in again.state[params_of(again)[0]]:
        assert torch.equal(again.state[params_of(again)[0]][key], packed.state[params_of(packed)[0]][key])


def test_masters_of_a_file_are_taken_only_where_they_are_kept() -> None:
    with_master = optgen.torch.Lion(weights(torch.bfloat16), lr=0.01, master=True)
    steps(with_master, 0, 3)
    without = optgen.torch.Lion(copy.deepcopy(params_of(with_master)))
    without.load_state_dict(saved(with_master))
    assert "master" not in without.state[params_of(without)[0]]
    again = optgen.torch.Lion(copy.deepcopy(params_of(without)), master=True)
    again.load_state_dict(saved(without))
    for p in params_of(again):
        assert torch.equal(again.state[p]["master"], p.float())


def test_a_loaded_state_dict_is_copied() -> None:
    opt, other = (optgen.torch.Lion(weights(), lr=0.01) for _ in range(2))
    steps(opt, 0, 1)
    other.load_state_dict(opt.state_dict())
    before = opt.state[params_of(opt)[0]]["m"].clone()
    steps(other, 1, 3)
    assert torch.equal(opt.state[params_of(opt)[0]]["m"], before)
    assert opt.state[params_of(opt)[0]]["step"] == 1


def test_hooks_of_state_dicts() -> None:
    opt, seen = optgen.torch.Lion(weights(), lr=0.01), []
    opt.register_state_dict_pre_hook(lambda hooked: seen.append("second"))
    opt.register_state_dict_pre_hook(lambda hooked: seen.append("first"), prepend=True)
    opt.register_state_dict_post_hook(lambda hooked, state_dict: {**state_dict, "more": 1})
    state_dict = opt.state_dict()
    assert seen == ["first", "second"] and state_dict["more"] == 1
    seen.clear()

    def halve(hooked: Any, state_dict: dict[str, Any]) -> dict[str, Any]:
        assert hooked is opt and state_dict["more"] == 1
        groups = [{**group, "lr": group["lr"] / 2} for group in state_dict["param_groups"]]
        return {**state_dict, "param_groups": groups}

    opt.register_load_state_dict_pre_hook(lambda hooked, state_dict: seen.append("pre"))
    opt.register_load_state_dict_pre_hook(halve, prepend=True)
    opt.register_load_state_dict_post_hook(lambda hooked: seen.append(hooked.param_groups[0]["lr"]))
    opt.load_state_dict(state_dict)
    assert seen == ["pre", 0.005]


def refused(change: Callable[[Any], None], message: str) -> None:
    opt = optgen.torch.Lion(weights(), lr=0.01)
    steps(opt, 0, 1)
    state_dict, before = copy.deepcopy(opt.state_dict()), copy.deepcopy(opt)
    change(state_dict)
    with pytest.raises((TypeError, ValueError), match=message):
        opt.load_state_dict(state_dict)
    assert_same(opt, before)
    assert opt.param_groups[0]["lr"] == 0.01


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    refused(lambda d: d["param_groups"].append({"params": []}), "different number of parameter groups")
    refused(lambda d: d["param_groups"][0]["params"].pop(), "doesn't match the size")
    refused(lambda d: d["state"][1].update(m=torch.ones(7)), r"parameter 1 of group 0.*state\['m'\]: shape \(7,\)")
    refused(lambda d: d["param_groups"][0].update(betas=(2, 0.9)), r"'betas\[0\]' must be in")
    refused(lambda d: d["state"][0].update({"m": torch.ones(16, 300).byte()}), "codes in uint8")


def test_old_state_dicts_get_defaults_and_tensors() -> None:
    opt = optgen.torch.Lion(weights(), lr=0.01)
    steps(opt, 0, 2)
    state_dict = copy.deepcopy(opt.state_dict())
    del state_dict["param_groups"][0]["maximize"], state_dict["param_groups"][0]["clip_gradient"]
    for kept in state_dict["state"].values():
        kept["step"] = 2
    other = optgen.torch.Lion(copy.deepcopy(params_of(opt)))
    other.load_state_dict(state_dict)
    assert_same(opt, other)
    steps(opt, 2, 3)
    steps(other, 2, 3)
    assert_same(opt, other)
    assert opt.state_dict()["param_groups"] == other.state_dict()["param_groups"]


def test_names_are_saved_and_kept() -> None:
    model = torch.nn.Linear(3, 2)
    opt = optgen.torch.Lion(model.named_parameters())
    state_dict = opt.state_dict()
    assert state_dict["param_groups"][0]["param_names"] == ["weight", "bias"]
    other = optgen.torch.Lion(torch.nn.Linear(3, 2).named_parameters())
    del state_dict["param_groups"][0]["param_names"]
    other.load_state_dict(state_dict)
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]


def test_states_that_others_write_or_replace_are_used() -> None:
    opt = optgen.torch.Lion(weights(), lr=0.01, betas=(0.0, 0.5))
    steps(opt, 0, 1)
    p, *_ = params_of(opt)
    held = opt.state[p]["step"]
    for change in ("write", "replace", "dict", "clear"):
        if change == "write":
            opt.state[p]["m"].fill_(2.0)
            opt.state[p]["step"].fill_(10)
        elif change == "replace":
            opt.state[p]["m"] = torch.full((16, 300), 2.0, dtype=torch.float64)
            opt.state[p]["step"] = torch.tensor(10.0)
        elif change == "dict":
            opt.state[p] = {"m": torch.full((16, 300), 2.0).t().contiguous().t(), "step": 10}
        else:
            opt.state.clear()
        p.grad = torch.zeros_like(p)
        opt.step()
        expected = 0.0 if change == "clear" else 1.0
        assert (opt.state[p]["m"] == expected).all(), change
        assert opt.state[p]["step"] == (1 if change == "clear" else 11), change
        if change == "write":
            assert held is opt.state[p]["step"]


def test_a_trainer_that_puts_another_parameter_in_the_place_of_one() -> None:
    opt, twin = (optgen.torch.Lion(weights(), lr=0.01) for _ in range(2))
    steps(opt, 0, 2)
    steps(twin, 0, 2)
    old = params_of(opt)[0]
    new = Parameter(old.detach().clone())
    opt.param_groups[0]["params"][0] = new
    opt.state[new] = opt.state.pop(old)
    steps(opt, 2, 4)
    steps(twin, 2, 4)
    assert all(map(torch.equal, params_of(opt), params_of(twin)))


@pytest.mark.parametrize("name", [n for n in specfiles.available() if n != "groupadagrad"])
def test_a_step_without_rate_and_gradients_moves_nothing_and_spoils_no_start(name: str) -> None:
    """Some tools make it to have states created. The steps after it are those of an optimizer that made none."""
    cls = optimizer(name)
    opt, fresh = (cls(weights(shapes=((4, 3), (5,)))) for _ in range(2))
    before = [p.detach().clone() for p in params_of(opt)]
    rate = opt.param_groups[0]["lr"]
    for p in params_of(opt):
        p.grad = torch.zeros_like(p)
    opt.param_groups[0]["lr"] = 0.0
    step(opt)
    assert all(map(torch.equal, params_of(opt), before))
    opt.param_groups[0]["lr"] = rate
    steps(opt, 0, 2)
    steps(fresh, 0, 2)
    assert_same(opt, fresh)


def test_states_that_start_as_the_weights_are_those_of_the_first_step() -> None:
    """A model is often loaded after its optimizer was made."""
    for name, dtype, kwargs in (
        ("prodigy", torch.float32, {}),
        ("schedulefree_sgd", torch.float32, {"storage": "int8_dynamic"}),
        ("lion", torch.bfloat16, {"master": True}),
    ):
        late = optimizer(name)(weights(dtype), **kwargs)
        with torch.no_grad():
            for p in params_of(late):
                p.mul_(3)
        early = optimizer(name)(copy.deepcopy(params_of(late)), **kwargs)
        steps(late, 0, 2)
        steps(early, 0, 2)
        assert_same(late, early)


def test_a_master_follows_a_weight_that_others_write() -> None:
    """And stays as it is where it still rounds to the weight, as after weights are put aside and back."""
    opt = optgen.torch.Lion(weights(torch.bfloat16), lr=1e-4, master=True)
    steps(opt, 0, 3)
    p, *_ = params_of(opt)
    master = opt.state[p]["master"].clone()
    assert not torch.equal(master, p.float())
    with torch.no_grad():
        p.copy_(p.clone())
        p[0, :3] = 5.0
    p.grad = None
    opt.param_groups[0]["lr"] = 0.0
    steps(opt, 3, 4)
    master[0, :3] = 5.0
    assert torch.equal(opt.state[p]["master"], master)


def test_distributed_checkpoints_state_dicts() -> None:
    """`get_optimizer_state_dict` and `set_optimizer_state_dict`, by the names of parameters."""
    from torch.distributed.checkpoint import state_dict as dcp  # which takes a second

    def made() -> tuple[torch.nn.Module, SpecOptimizer]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        return model, optimizer("prodigy")(model.parameters(), weight_decay=0.1)

    (model, opt), (other_model, other) = made(), made()
    steps(opt, 0, 2)
    found = dcp.get_optimizer_state_dict(model, opt)
    assert {"step", "m", "d"} <= found["state"]["0.weight"].keys()  # type: ignore[union-attr]
    other_model.load_state_dict(model.state_dict())
    dcp.set_optimizer_state_dict(other_model, other, found)
    assert_same(opt, other)
    steps(opt, 2, 3)
    steps(other, 2, 3)
    assert_same(opt, other)


# What is saved, what loads it, and what says that it is of another one. SGD and RMSprop have momentum, SGD0 has none.
OTHERS = [
    ("RAdam", "Adam", "a group lacks amsgrad"),
    ("SGD0", "Adam", "a group has dampening, momentum, nesterov"),
    ("Adam", "RAdam", "a group has amsgrad"),
    ("NAdam", "Adam", "has the states mu_product, exp_avg, exp_avg_sq there"),
    ("Adam", "Adamax", "has the states exp_avg, exp_avg_sq there"),
    ("AdamW", "NAdam", "no mu_product"),
    ("RMSprop", "Adadelta", "has the states square_avg, momentum_buffer there"),
    ("SGD", "RMSprop", "no step, square_avg"),
    ("Adam", "Lion", "has the states exp_avg, exp_avg_sq there, and m here"),
    ("Lion", "Adam", "of another spec"),
    ("Lion", "Tiger", "of another spec"),
    ("Lion", "AdaBelief", "of another spec"),
]


def one_of(name: str) -> Any:
    kwargs = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    return getattr(optgen.torch, name.removesuffix("0"))(weights(shapes=[(6, 4)]), lr=0.01, **kwargs)


@pytest.mark.parametrize(("saved_by", "loaded_by", "message"), OTHERS)
def test_a_state_dict_of_another_optimizer_is_refused(saved_by: str, loaded_by: str, message: str) -> None:
    theirs, ours = one_of(saved_by), one_of(loaded_by)
    steps(theirs, 0, 2)
    steps(ours, 0, 1)
    before = copy.deepcopy(ours.state_dict())
    with pytest.raises(ValueError, match=f"{loaded_by}: the state dict .*{message}"):
        ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours.state_dict(), before, rtol=0, atol=0)
    steps(ours, 1, 2)


@needs_muon
def test_an_interrupt_behind_the_native_call_leaves_a_whole_update() -> None:
    """Where Python raises it. Counts and parameters that are updated in copies belong to the update."""

    def made() -> Any:
        spread = Parameter(torch.ones(8, 6)[:, ::2])  # with gaps, so that a copy is updated
        return optgen.torch.AdamW([*weights(), spread], lr=0.1)

    stopped, whole = made(), made()
    for opt in (stopped, whole):
        steps(opt, 0, 1)
    with interrupted():
        steps(stopped, 1, 2)
    steps(whole, 1, 2)
    assert_same(stopped, whole)
    steps(stopped, 2, 3)
    steps(whole, 2, 3)
    assert_same(stopped, whole)


def test_what_is_known_of_torchs_optimizers() -> None:
    rows = torch_classes.CLASSES.values()
    values = {key for row in rows for key in row.base([torch.zeros(1, 1)]).defaults}  # type: ignore[call-arg]
    assert values - set(ADDED) == VALUES
    assert {row.keys.key_of(s.name) for row in rows for s in _spec(row.source).states} == STATES


def _spec(source: str) -> Any:
    return optgen.parse(specfiles.source(specfiles.spec_path(source)).text)


MINE = "optimizer Mine\nstate m = 0\nupdate:\n  m' = 0.9*m + g\n  w' = w - lr*m'\n"
CHANGES = {
    "version 2\nstate": "of version 1 of Mine, and this is version 2",
    "state n = 0 if nesterov\nstate": "of a Mine that had other states",
}


@pytest.mark.parametrize("change", CHANGES)
def test_states_of_another_version_of_a_spec_are_refused(change: str) -> None:
    declared = change.replace("state n", "flag nesterov = false\nstate n")
    text = MINE.replace("state", declared, 1)
    text = text.replace("update:\n", "update:\n  n' = n + g if nesterov\n") if "nesterov" in change else text
    old, new = optimizer(optgen.parse(MINE))(weights()), optimizer(optgen.parse(text))(weights())
    for opt in (old, new):
        steps(opt, 0, 1)
    before = copy.deepcopy(new.state_dict())
    with pytest.raises(ValueError, match=f"Mine: the state dict is of another optimizer: {CHANGES[change]}"):
        new.load_state_dict(old.state_dict())
    torch.testing.assert_close(new.state_dict(), before, rtol=0, atol=0)
    with pytest.raises(ValueError, match=f"Mine: the state dict is of another optimizer: {CHANGES[change]}"):
        new.__setstate__(old.__getstate__())
    for damaged in ({"name": 1}, "Mine", {"name": 1, "version": "one", "states": 1}):
        state = new.state_dict()
        state["param_groups"][0]["optgen_spec"] = damaged
        with pytest.raises(ValueError, match="expected the numbers of name, version, states of a spec"):
            new.load_state_dict(state)
    numbers = new.state_dict()
    own = numbers["param_groups"][0]["optgen_spec"]
    numbers["param_groups"][0]["optgen_spec"] = {key: torch.tensor(x).double() for key, x in own.items()}
    new.load_state_dict(numbers)  # as tools make of them
    state = new.state_dict()
    del state["param_groups"][0]["optgen_spec"]  # as of a file that is older than specs with versions
    if new.spec.version == 1:
        new.load_state_dict(state)
        assert [group["optgen_spec"] for group in new.param_groups] == [own]
    else:
        with pytest.raises(ValueError, match=r"Mine: .* of no version, and this is version 2 of Mine"):
            new.load_state_dict(state)


@pytest.mark.filterwarnings("ignore:torch.distributed is")
def test_flattened_state_dicts_of_another_version_of_a_spec_are_refused(tmp_path: Path) -> None:
    """torch.distributed.checkpoint flattens the keys that groups have at the time."""
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint import state_dict as dcp

    flat = dcp.StateDictOptions(flatten_optimizer_state_dict=True)
    texts = MINE, MINE.replace("0.9", "0.8"), MINE.replace("state", "version 2\nstate", 1)
    nets = [torch.nn.Linear(3, 4) for _ in texts]
    opts = [
        optimizer(optgen.parse(text))(net.named_parameters())  # type: ignore[arg-type]
        for text, net in zip(texts, nets, strict=True)
    ]
    for opt in opts:
        steps(opt, 0, 1)
        assert "optgen_spec" not in repr(opt)
    checkpoint.save(dcp.get_optimizer_state_dict(nets[0], opts[0], options=flat), checkpoint_id=tmp_path)

    def load(net: torch.nn.Module, opt: SpecOptimizer) -> None:
        found = dcp.get_optimizer_state_dict(net, opt, options=flat)
        checkpoint.load(found, checkpoint_id=tmp_path)
        dcp.set_optimizer_state_dict(net, opt, found, options=flat)

    load(nets[1], opts[1])
    torch.testing.assert_close(opts[1].state_dict()["state"], opts[0].state_dict()["state"], rtol=0, atol=0)
    with pytest.raises(ValueError, match="of version 1 of Mine, and this is version 2"):
        load(nets[2], opts[2])


def test_keys_of_groups_that_are_a_users_own_stay() -> None:
    """As those of a wrapper that goes up along gradients before each step."""
    for name in ("Adam", "SGD", "Lion"):
        keys = {"rho": 0.05, "momentum_decay": 1, "spec": "mine"}

        def made(name: str = name, keys: Any = keys) -> Any:
            return getattr(optgen.torch, name)([{"params": weights(), **keys}], lr=0.1)

        opt, other = made(), made()
        steps(opt, 0, 1)
        other.load_state_dict(opt.state_dict())
        assert {key: other.param_groups[0][key] for key in keys} == keys


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"exp_avg": torch.ones(4, 6)}, r"state\['exp_avg'\]: shape \(4, 6\), but its parameter has \(6, 4\)"),
        ({"step": torch.tensor(2.5)}, "state.'step'. is tensor.2.5000., which is no number of updates"),
        ({"exp_avg_sq": {}}, "state.'exp_avg_sq'.: expected a tensor, not {}"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_when_it_is_loaded(change: dict[str, Any], message: str) -> None:
    opt = one_of("Adam")
    steps(opt, 0, 1)
    before, state = copy.deepcopy(opt.state_dict()), opt.state_dict()
    state["state"][0] = state["state"][0] | change
    with pytest.raises((TypeError, ValueError), match=f"parameter 0 of group 0.*{message}"):
        opt.load_state_dict(state)
    torch.testing.assert_close(opt.state_dict(), before, rtol=0, atol=0)


def test_a_state_dict_may_lack_states_of_parameters_without_updates() -> None:
    opt = optgen.torch.AdaBelief(weights())
    state = opt.state_dict()
    del state["state"][0]["m"], state["state"][1]
    opt.load_state_dict(state)
    steps(opt, 0, 1)
    state = opt.state_dict()
    del state["state"][0]["step"]
    with pytest.raises(ValueError, match=r"AdaBelief: the state dict is of another .* there, and no step"):
        opt.load_state_dict(state)


def test_further_keys_of_a_state_are_kept() -> None:
    opt = optgen.torch.Lion(weights())
    state = opt.state_dict()
    state["state"][0]["note"] = torch.ones(2)
    opt.load_state_dict(state)
    assert torch.equal(opt.state[params_of(opt)[0]]["note"], torch.ones(2))
