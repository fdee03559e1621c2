"""Another optimizer in mid-run: what it goes on with, beside runs without a change, and the table of the document."""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from optgen.torch import convert
from tests.sweeps import swept

DOCUMENT = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text("utf-8")
SHAPES = ((6, 5), (7,))
Make = Callable[[Any], torch.optim.Optimizer]


def params(**how: Any) -> list[Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [Parameter(torch.randn(shape, generator=generator).to(**how)) for shape in SHAPES]


def steps(optimizer: torch.optim.Optimizer, numbers: Sequence[int] = range(6)) -> None:
    """Steps with the gradients of these numbers."""
    for number in numbers:
        generator = torch.Generator().manual_seed(number)
        for p in [p for group in optimizer.param_groups for p in group["params"]]:
            p.grad = torch.randn(p.shape, generator=generator).to(p)
        optimizer.step()


def of(name: str, **values: Any) -> Make:
    """PyTorch's own optimizers by their names there, and ours by those of specs."""
    cls = getattr(torch.optim, name, None) or optgen.torch.optimizer(name)
    return lambda some: cls(some, **{"lr": 0.01, **values})


SAME: list[tuple[Make, str, dict[str, Any]]] = [
    (of("torch/adamw", weight_decay=0.0), "torch/adam", {}),
    (of("torch/adamw", amsgrad=True, maximize=True, weight_decay=0.0), "torch/adam", {}),
    (of("torch/adamw"), "torch/adamw with lookahead(k=100)", {}),
    (of("torch/adamw with diloco(h=100)"), "torch/adamw", {}),
    (of("adamw", storage="bfloat16", betas=(0.8, 0.9)), "adamw", {}),
    (of("sgd with schedule_free"), "sgd with schedule_free", {}),
    (of("muon_adamw", adam_lr=0.02), "muon_adamw with ema", {"adam_lr": 0.02}),
]


@pytest.mark.parametrize(
    ("make", "target", "arguments"), swept(SAME, lambda case: case[1] in ("torch/adam", "muon_adamw with ema"))
)
def test_equations_that_agree_go_on_with_the_same_bits(make: Make, target: str, arguments: dict[str, Any]) -> None:
    """Beside the optimizer that was not converted; the groups and states of the one that was stay as they were."""
    kept, changed = params(), params()
    first, second = make(kept), make(changed)
    steps(first)
    steps(second)
    before = copy.deepcopy(second.state_dict())
    new = convert(second, target, **arguments)
    assert str(before) == str(second.state_dict())
    steps(first, range(6, 12))
    steps(new, range(6, 12))
    for a, b in zip(kept, changed, strict=True):
        assert torch.equal(a.detach(), b.detach()), new.conversion


@pytest.mark.filterwarnings("ignore:convert to")
def test_factors_are_those_of_means_and_sums() -> None:
    """Written out for AdamW, SGD with and without the rate in its velocity, Lion and Adagrad, with other signs too."""
    some = params(dtype=torch.float64)
    old = torch.optim.AdamW(some, lr=0.01, betas=(0.8, 0.9), maximize=True)
    steps(old)
    p, t = some[0], 6
    m, v = old.state[p]["exp_avg"] / (1 - 0.8**t), old.state[p]["exp_avg_sq"] / (1 - 0.9**t)
    expected = {
        ("torch/sgd", "momentum_buffer"): (m / (1 - 0.75), {"momentum": 0.75, "nesterov": True}),
        ("sgd", "mom"): (-m * 0.5 / (1 - 0.75), {"momentum": 0.75, "lr": 0.5}),
        ("lion", "m"): (m, {}),
        ("muon", "m"): (-m, {"maximize": False}),
        ("adam", "m"): (m * (1 - 0.5**t), {"betas": (0.5, 0.25)}),
        ("adagrad", "h"): (t * v, {}),
        ("torch/adagrad", "sum"): (t * v + 0.125, {"initial_accumulator_value": 0.125}),
    }
    for (name, key), (value, arguments) in expected.items():
        one = torch.optim.AdamW([{**old.param_groups[0], "params": [p]}])
        one.state[p] = old.state[p]
        new = convert(one, name, **arguments)
        torch.testing.assert_close(new.state[p][key], value, rtol=1e-9, atol=1e-12, msg=name)


@pytest.mark.filterwarnings("ignore:convert to")
@pytest.mark.parametrize(
    ("first", "values", "second", "others"),
    swept(
        [
            ("adamw", {}, "torch/nadam", {}),
            ("adamw", {}, "adamw with lookahead, ema", {}),
            ("torch/sgd", {"momentum": 0.9}, "nag", {"momentum": 0.8}),
            ("adamw", {}, "adam", {"storage": "bfloat16"}),
        ],
        lambda case: case[2] in ("torch/nadam", "nag"),
    ),
)
def test_there_and_back(first: str, values: dict[str, Any], second: str, others: dict[str, Any]) -> None:
    some = params()
    old: Any = of(first, **values)(some)
    steps(old)
    back: Any = convert(convert(old, second, **others), first, **{"storage": None, **values})
    for p in some:
        for key, x in old.state[p].items():
            error = 2**-8 if "storage" in others else 1e-5
            torch.testing.assert_close(back.state[p][key], x, rtol=error, atol=1e-7)


def train(optimizer: torch.optim.Optimizer, net: torch.nn.Module, n: int) -> list[float]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(128, 10, generator=generator)
    y, losses = (x[:, :1] * x[:, 1:2]), []
    for _ in range(n):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


RATES: dict[str, dict[str, Any]] = {
    "muon_adamw": {"lr": 0.01, "adam_lr": 0.003, "plain": ()},
    "lion": {"lr": 0.0005, "betas": (0.9, 0.99)},
    "schedulefree_adamw": {"lr": 0.003},
    "torch/sgd": {"lr": 0.05, "momentum": 0.9},
    "torch/nadam": {"lr": 0.003},
    "ademamix": {"lr": 0.002},
    "adamw": {"storage": "int8_dynamic"},
    "adamw with diloco(h=4)": {},
}


@pytest.mark.parametrize("target", swept(RATES, ("muon_adamw", "schedulefree_adamw", "adamw with diloco(h=4)")))
def test_the_loss_does_not_jump(target: str) -> None:
    """It falls on from step to step, and after ten of them it has."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    old = torch.optim.AdamW(net.named_parameters(), lr=0.003)
    (*_, before) = train(old, net, 40)
    losses = train(convert(old, target, **RATES[target]), net, 11)
    assert losses[0] < before and max(losses) < 1.03 * losses[0] and losses[-1] < 0.98 * losses[0], losses


def test_groups_names_and_values() -> None:
    """Values that both have, keys of nobody's, masters, and parameters in other orders of memory or without updates."""
    generator = torch.Generator().manual_seed(3)
    image = torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    named = {
        "image": Parameter(image),
        "bias": Parameter(image[:, 0, 0, 0].clone()),
        "idle": Parameter(image[0].clone()),
    }
    old = optgen.torch.AdamW(
        [{"params": [("image", named["image"])], "lr": 0.5, "mine": "x"}, {"params": [*named.items()][1:]}],
        lr=0.25, betas=(0.5, 0.75), master=True, seed=7, clip_norm=3.0,
    )  # fmt: skip
    for _ in range(3):
        for p in [*named.values()][:2]:
            p.grad = torch.randn(p.shape, generator=generator).to(p)
        old.step()
    new: Any = convert(old, "adamw", weight_decay=0.125)
    first, second = new.param_groups
    assert (first["lr"], second["lr"], first["betas"], first["mine"], first["weight_decay"]) == (
        0.5, 0.25, (0.5, 0.75), "x", 0.125
    )  # fmt: skip
    assert "mine" not in second and second["param_names"] == ["bias", "idle"] and (new.seed, new.clip_norm) == (7, 3.0)
    state = new.state[named["image"]]
    assert torch.equal(state["m"], old.state[named["image"]]["exp_avg"]) and state["step"].item() == 3
    assert state["m"].is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(state["master"], old.state[named["image"]]["master"])
    assert new.state[named["idle"]]["step"].item() == 0
    assert [str(x) for x in new.conversion] == [
        "parameter 'image': step 3, m = exp_avg, v = exp_avg_sq",
        "parameter 'bias': step 3, m = exp_avg, v = exp_avg_sq",
    ]


def test_what_is_refused() -> None:
    some = params()
    old = torch.optim.AdamW(some)
    steps(old)
    for target, message in (
        (
            "adabelief",
            "to AdaBelief, whose s has no counterpart there, and is used by the count of updates: exp_avg, exp_a",
        ),
        (
            "prodigy",
            "no state of AdamW carries over to Prodigy: exp_avg, exp_avg_sq would be lost; to start anew, make ",
        ),
        ("muon", r"parameter 1 of group 0, of shape \(7,\): Muon: Muon is for matrices"),
    ):
        with pytest.raises(ValueError, match=message):
            convert(old, target)
    with pytest.raises(TypeError, match="no equation reads an argument 'beta'"):
        convert(old, "lion", beta=0.9)
    with pytest.raises(TypeError, match=r"cannot replace torch\.optim\.lbfgs\.LBFGS"):
        convert(torch.optim.LBFGS(some), "lion")
    averaged = optgen.torch.ScheduleFreeAdamW(some)
    steps(averaged)
    with pytest.raises(
        ValueError, match=r"to start anew, call eval\(\), which gives parameters the weights to evaluate"
    ):
        convert(averaged, "adamw")


def test_what_is_in_the_middle_of_something() -> None:
    """Nothing has changed then, and the conversion succeeds behind what the error names."""
    phased: Any = optgen.torch.optimizer("sgd with sam")(params())
    phased.ascend()
    with pytest.raises(RuntimeError, match="the phase 'descend' is due; convert an optimizer between steps"):
        convert(phased, "sgd")
    averaged = optgen.torch.ScheduleFreeAdamW(params())
    steps(averaged)
    trained = [p.clone() for p in averaged.param_groups[0]["params"]]
    averaged.eval()
    with pytest.raises(RuntimeError, match=r"evaluate with since eval\(\).*; call train\(\) before convert"):
        convert(averaged, "schedulefree_adamw")
    averaged.train()
    new = convert(averaged, "schedulefree_adamw")
    assert all(map(torch.equal, new.param_groups[0]["params"], trained))
    waiting = optgen.torch.AdamW(params(), accumulate=2)
    steps(waiting, range(3))
    with pytest.raises(RuntimeError, match=r"1 of 2 calls of step\(\) wait for an update; .* or call flush\(\)"):
        convert(waiting, "lion", lr=0.1)
    waiting.flush()
    assert convert(waiting, "lion", lr=0.1).conversion[0].count == 2


# ---------------------------------------------------------------- groups by names


class Net(torch.nn.Module):
    """The names of a GPT's parameters; embedding and head are matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.wte, self.fc = torch.nn.Embedding(6, 5), torch.nn.Linear(5, 4)
        self.lm_head = torch.nn.Linear(4, 6, bias=False)


def of_net(lr: float = 0.003) -> tuple[dict[str, Parameter], optgen.torch.SpecOptimizer]:
    torch.manual_seed(0)
    net = Net()
    old = optgen.torch.AdamW(net, lr=lr)
    steps(old)
    return dict(net.named_parameters()), old


def test_what_nobody_says_of_plain_is_told_and_states_follow_parameters() -> None:
    named, old = of_net()
    with pytest.warns(UserWarning, match=r"convert to MuonAdamW: nothing says which .* give plain=.*or plain=\(\) for"):
        assert not convert(old, "muon_adamw", lr=0.02).param_groups[0]["plain"]
    new = convert(old, "muon_adamw", lr=0.02, plain=("wte.*", "lm_head.*"))
    assert [group["plain"] for group in new.param_groups] == [False, True]
    assert [group["param_names"] for group in new.param_groups] == [
        ["fc.weight", "fc.bias"],
        ["wte.weight", "lm_head.weight"],
    ]
    for name, p in named.items():
        there, here = old.state[p], new.state[p]
        if name == "fc.weight":
            ratio = here["muon_m"] / there["exp_avg"]
            assert "adam_m" not in here and torch.allclose(ratio, ratio[0, 0])
        else:
            assert torch.equal(here["adam_m"], there["exp_avg"]) and torch.equal(here["adam_v"], there["exp_avg_sq"])
    assert [x.param for x in new.conversion] == [f"parameter '{name}'" for name in named]
    other = convert(new, "muon_adamw with ema", adam_lr=0.001)
    assert [group["plain"] for group in other.param_groups] == [False, True]
    with pytest.warns(UserWarning, match="nothing says which matrices are plain"):
        convert(convert(new, "adamw", lr=0.001), "muon_adamw", lr=0.02)
    every = convert(old, "muon_adamw", lr=0.02, plain=())
    assert [group["plain"] for group in every.param_groups] == [False] and "muon_m" in every.state[named["wte.weight"]]
    by_rule = convert(old, "muon_adamw", lr=0.02, groups=[("wte.*|lm_head.*", {"plain": True})])
    assert {*by_rule.param_groups[0]["param_names"]} == {"wte.weight", "lm_head.weight"}
    with pytest.raises(ValueError, match=r"plain: no parameter has a name that matches 'head\.\*'"):
        convert(old, "muon_adamw", lr=0.02, plain=("head.*",))


def test_rules_count_before_the_old_groups() -> None:
    named, old = of_net()
    old.param_groups[0]["betas"] = (0.5, 0.75)
    new = convert(old, "adamw", no_decay="1d", groups=[("fc.*", {"lr": 0.125, "beta2": 0.25})])
    found = {
        name: (group["lr"], group["betas"], group["weight_decay"])
        for group in new.param_groups
        for name in group["param_names"]
    }
    assert found == {
        "wte.weight": (0.003, (0.5, 0.75), 0.01),
        "fc.weight": (0.125, (0.5, 0.25), 0.01),
        "fc.bias": (0.125, (0.5, 0.25), 0.0),
        "lm_head.weight": (0.003, (0.5, 0.75), 0.01),
    }
    for name in ("wte.weight", "lm_head.weight"):
        assert torch.equal(new.state[named[name]]["m"], old.state[named[name]]["exp_avg"])
    with pytest.raises(ValueError, match="groups: 'head' is for none of the parameters"):
        convert(old, "adamw", groups=[("head", {"lr": 0.1})])


def test_rates_that_carry_over_are_named() -> None:
    _, old = of_net()
    words = (
        "convert to MuonAdamW: it goes on with lr=0.003 (default here: 0.02), weight_decay=0.01 (default here: 0.1) of "
        "AdamW; adam_lr begins as 0.001; give lr=, adam_lr= to say what is meant"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(words)}$"):
        new = convert(old, "muon_adamw", plain=())
    assert new.param_groups[0]["lr"] == 0.003
    with pytest.warns(UserWarning, match=r"goes on with lr=0.003 \(default here: 0.0001\).*; give lr= to say"):
        convert(old, "lion")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convert(old, "muon_adamw", plain=(), lr=0.02)
        convert(old, "lion", groups=[("*", {"lr": 0.5})], weight_decay=0.1)
        convert(old, "adamw")
        convert(new, "muon_adamw with ema")


# ---------------------------------------------------------------- what passes through


@pytest.mark.parametrize("storage", ["int8_dynamic", "int4_dynamic"])
def test_codes_of_the_same_equations_pass_through(storage: str) -> None:
    """Bit by bit; by factors, or kept otherwise, they are numbers on the way."""
    p = Parameter(torch.randn(70, 300, generator=torch.Generator().manual_seed(0)))
    old = optgen.torch.AdamW([p], storage=storage)
    steps(old)
    same = convert(old, "adamw with ema").state[p]
    for key, name in (("exp_avg", "m"), ("exp_avg_sq", "v")):
        for part in ("", ".scale"):
            assert torch.equal(old.state[p][key + part], same[name + part])
    assert same["m"].data_ptr() != old.state[p]["exp_avg"].data_ptr()
    numbers = convert(old, "adamw", storage=None).state[p]["m"]
    assert numbers.dtype == torch.float32
    coded = convert(old, "adam", betas=(0.5, 0.75)).state[p]
    assert coded["m"].dtype == torch.uint8 and not torch.equal(coded["m.scale"], old.state[p]["exp_avg.scale"])


def test_the_old_one_no_longer_updates_within_backward() -> None:
    w = Parameter(torch.ones(3))
    old = optgen.torch.Lion([w], lr=0.25, in_backward=True)
    w.sum().backward()
    new = convert(old, "lion", lr=0.125)
    w.sum().backward()
    assert w.tolist() == [1 - 0.25 - 0.125] * 3 and new.state[w]["step"].item() == 2


ROWS = re.findall(
    r"^\| `([^`]+)`(?:, `([^`]*)`)? \|(.*)\|(.*)\|(.*)\|(.*)\|(.*)\|$", DOCUMENT.partition("`exp_avg_sq`:")[2], re.M
)
(NOT,) = re.findall("^(`adafactor`.*) keep nothing that AdamW has", DOCUMENT, re.M)


@pytest.mark.filterwarnings("ignore:convert to")
@pytest.mark.parametrize(
    "row", swept([pytest.param(row, id=row[0]) for row in ROWS], lambda x: x.id in ("muon", "lamb"))
)
def test_the_table_of_the_document(row: tuple[str, ...]) -> None:
    """Every row of it, by the conversion of a matrix."""
    name, arguments, *cells = row
    old = torch.optim.AdamW(params()[:1])
    steps(old)
    (found,) = convert(
        old, name, **{key: ast.literal_eval(x) for key, x in re.findall(r"(\w+)=(.*)", arguments)}
    ).conversion
    kinds: dict[str, list[str]] = {"exp_avg": [], "exp_avg_sq": [], "of the count": [], "the weights": [], "anew": []}
    for key, words in found.states.items():
        kinds["of the count" if words.endswith("of the count") else words.partition("*")[0]].append(key)
    assert [re.findall("`(.*?)`", cell) for cell in cells] == list(kinds.values())


@pytest.mark.stress
@pytest.mark.parametrize("name", re.findall("`(.*?)`", NOT))
def test_what_the_document_says_keeps_nothing(name: str) -> None:
    old = torch.optim.AdamW(params()[:1])
    steps(old)
    with pytest.raises(ValueError, match="exp_avg, exp_avg_sq would be lost"):
        convert(old, name)


BACK = re.findall(
    r"^\| `([^`]+)`(?:, `([^`]*)`)? \|(.*)\|(.*)\|(.*)\|$",
    DOCUMENT.partition("The other way round, `torch.")[2].partition("Where some")[0],
    re.M,
)


@pytest.mark.parametrize(
    "row", swept([pytest.param(row, id=row[0]) for row in BACK], lambda x: x.id in ("lion", "muon_adamw"))
)
def test_the_table_of_ways_to_adamw(row: tuple[str, ...]) -> None:
    """Every row of it, by the conversion of a matrix."""
    name, arguments, *made, lost = row
    values = {key: ast.literal_eval(x) for key, x in re.findall(r"(\w+)=(.*)", arguments)}
    old = of(name, **values)(params()[:1])
    steps(old)
    keys = re.findall("`(.*?)`", lost)
    if "refused" in made[0]:
        with pytest.raises(ValueError, match=f": {', '.join(keys)} would be lost; to start anew"):
            convert(old, "torch/adamw", lr=0.01)
        return
    (found,) = convert(old, "torch/adamw", lr=0.01).conversion
    assert [[x] for x in found.states.values()] == [re.findall("`(.*?)`", cell) for cell in made]
    assert sorted(found.lost) == keys and found.count == 6
