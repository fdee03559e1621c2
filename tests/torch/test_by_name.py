"""Settings by patterns over names: `groups=` and `no_decay=`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import optgen.torch
from optgen.by_name import Named, Pattern

Opt = torch.optim.Optimizer


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(12))
        self.head = torch.nn.Linear(4, 8)


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def by_name(opt: Opt, key: str) -> dict[str, Any]:
    return {name: group[key] for group in opt.param_groups for name in group["param_names"]}


@pytest.mark.parametrize("cls", [optgen.torch.AdamW, optgen.torch.LAMB])
def test_rules_over_names(net: Net, cls: type[Opt]) -> None:
    """The last rule that fits counts, one setting at a time; the spec's names of params and PyTorch's are one."""
    make: Any = cls
    opt = make(
        net.named_parameters(),
        lr=0.5,
        betas=(0.8, 0.9),
        weight_decay=0.1,
        groups=[
            ("*.bias|*.norm.*", {"wd": 0}),
            ("blocks.{i}.*", {"lr": lambda i: 0.5**i, "beta2": lambda i, name: 0.9 + i / 1000 * ("fc" in name)}),
            ("blocks.1?.*", {"lr": 0.25}),
            ("embed.weight", {"weight_decay": 0.2, "lr": lambda shape: 1 / shape[0]}),
        ],
    )
    for name, p in net.named_parameters():
        (group,) = (g for g in opt.param_groups if name in g["param_names"])
        assert any(p is x for x in group["params"])
        block = re.fullmatch(r"blocks\.(\d+)\.(.*)", name)
        number = int(block[1]) if block else None
        decay = 0 if name.endswith("bias") or ".norm." in name else 0.2 if name.startswith("embed") else 0.1
        rate = 1 / 8 if name.startswith("embed") else 0.5 if number is None else 0.5**number if number < 10 else 0.25
        beta = 0.9 + number / 1000 if number is not None and "fc" in name else 0.9
        assert (group["weight_decay"], group["lr"], group["betas"]) == (decay, rate, (0.8, beta)), name


def test_groups_are_few_and_in_order(net: Net) -> None:
    opt = optgen.torch.Lion(net.named_parameters(), no_decay="1d|embed.*", weight_decay=0.1)
    first, second = opt.param_groups
    assert (first["weight_decay"], second["weight_decay"]) == (0, 0.1)
    assert first["param_names"][0] == "embed.weight" and second["param_names"][0] == "blocks.0.fc.weight"
    assert all(p.dim() < 2 or p is net.embed.weight for p in first["params"])
    assert all(p.dim() == 2 for p in second["params"]) and len(second["params"]) == 13
    again = optgen.torch.Lion(net.named_parameters(), no_decay="1d|embed.*")
    again.load_state_dict(opt.state_dict())
    assert by_name(again, "weight_decay") == by_name(opt, "weight_decay")


def test_the_bits_of_groups_by_hand(net: Net) -> None:
    other = Net()
    other.load_state_dict(net.state_dict())
    named = dict(other.named_parameters())
    bare = [p for p in named.values() if p.dim() < 2]
    by_hand = optgen.torch.AdamW(
        [{"params": [p for p in named.values() if p.dim() > 1]}, {"params": bare, "weight_decay": 0}],
        lr=0.01,
        weight_decay=0.5,
    )
    opt = optgen.torch.AdamW(net.parameters(), lr=0.01, weight_decay=0.5, no_decay="1d")
    schedules = [torch.optim.lr_scheduler.StepLR(x, 1, 0.5) for x in (opt, by_hand)]
    for k in range(3):
        for i, (p, q) in enumerate(zip(net.parameters(), other.parameters(), strict=True)):
            p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(100 * k + i))
            q.grad = p.grad.clone()
        for x in (opt, by_hand, *schedules):
            x.step()
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), other.parameters(), strict=True))


def test_own_keys_of_a_group_count_before_rules(net: Net) -> None:
    named = list(net.named_parameters())
    opt = optgen.torch.Lion(
        [{"params": named[:1], "lr": 3.0}, {"params": named[1:]}], groups=[("*.weight", {"lr": 2.0})]
    )
    rates = by_name(opt, "lr")
    assert rates["embed.weight"] == 3.0 and rates["head.weight"] == 2.0 and rates["head.bias"] == 1e-4


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"groups": {"*": {}}}, TypeError, "groups: a list of pairs of a pattern and a dict"),
        ({"groups": ["*.bias"]}, TypeError, "groups: a list of pairs of a pattern and a dict"),
        ({"groups": [("*", {"rate": 1})]}, TypeError, "groups: Lion has no 'rate'"),
        ({"groups": [("*", {"weight_decy": 1})]}, TypeError, "did you mean 'weight_decay'"),
        ({"groups": [("*", {"seed": 1})]}, TypeError, "groups: Lion has no 'seed'"),
        ({"groups": [("*", {"lr": -1.0})]}, ValueError, "'lr' must not be negative"),
        (
            {"groups": [(3, {})]},
            TypeError,
            "groups: a pattern over names of parameters is text, with '|' between several, not 3",
        ),
        ({"groups": [("head.*|", {})]}, ValueError, "'head.*|' has an empty part"),
        ({"groups": [("blocks.{}.*", {})]}, ValueError, "braces hold the name of a whole number"),
        ({"groups": [("blocks.{i", {})]}, ValueError, "braces hold the name of a whole number"),
        ({"groups": [("{i}.{i}", {})]}, ValueError, "two numbers of one name"),
        (
            {"groups": [("encoder.*", {})]},
            ValueError,
            "'encoder.*' is for none of the parameters, which are embed.",
        ),
        ({"groups": [("*", {"lr": lambda i: i})]}, TypeError, "lr takes 'i'; a function takes, by name, name, shape"),
        ({"groups": [("*{i}.fc.*", {})]}, ValueError, "or numbers are cut"),
        ({"groups": [("*.bias|enbed.*", {})]}, ValueError, "'enbed.*' is for none of the parameters"),
        (
            {"groups": [("*", {"lr": lambda shape: shape[1]})]},
            ValueError,
            "'*': lr of parameter 'blocks.0.norm.weight'",
        ),
        ({"groups": [("*", {"lr": max})]}, TypeError, "'*': lr: <built-in function max> does not say what it takes"),
        ({"no_decay": "1d|embeding.*"}, ValueError, "no_decay: 'embeding.*' is for none of the parameters"),
        ({"no_decay": "2d"}, ValueError, "no_decay: '2d' is for none of the parameters"),
        ({"no_decay": ["1d"]}, TypeError, "no_decay: a pattern over names"),
    ],
)
def test_wrong_rules_are_told(net: Net, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        optgen.torch.Lion(net.named_parameters(), **arguments)


@pytest.mark.parametrize("name", ["torch/adamw", "lion", "schedulefree_adamw", "muon_adamw", "adamw with ema"])
def test_a_network_has_the_names_of_its_parameters(net: Net, name: str) -> None:
    """All of them, where one is tied; and what rules say of `plain` counts before what is found in the network."""
    net.head.weight = net.embed.weight
    plain = {"plain": True} if name == "muon_adamw" else {}
    rules = [("head.weight", {"lr": 0.25}), ("blocks.0.*", plain)]
    opt = optgen.torch.optimizer(name)(net, groups=rules, no_decay="1d|head.*", weight_decay=0.1)
    rates, decays = by_name(opt, "lr"), by_name(opt, "weight_decay")
    assert rates["embed.weight"] == 0.25 != rates["blocks.0.fc.weight"]
    assert decays["embed.weight"] == decays["head.bias"] == 0 and decays["blocks.0.fc.weight"] == 0.1
    if plain:
        is_plain = by_name(opt, "plain")
        assert is_plain["embed.weight"] and is_plain["blocks.0.fc.weight"] and not is_plain["blocks.1.fc.weight"]


def test_the_last_rule_counts_however_it_is_spelt(net: Net) -> None:
    named = list(net.named_parameters())
    rules = [("*", {"weight_decay": 0.1}), ("*", {"wd": 0.2}), ("*", {"weight_decay": 0.3})]
    assert optgen.torch.AdamW(named, groups=rules).param_groups[0]["weight_decay"] == 0.3
    rules = [("*", {"betas": (0.1, 0.2)}), ("*", {"beta2": 0.5}), ("*", {"betas": (0.3, 0.4)}), ("*", {"beta1": 0.6})]
    assert optgen.torch.AdamW(named, groups=rules).param_groups[0]["betas"] == (0.6, 0.4)
    opt = optgen.torch.Lion([{"params": net.blocks}], no_decay="1d")
    opt.add_param_group({"params": net.head, "lr": 0.5})
    assert opt.param_groups[-1]["param_names"] == ["weight", "bias"]


def test_what_has_no_names_or_no_decay(net: Net) -> None:
    with pytest.raises(ValueError, match=r"pass a network, or named parameters, as net\.named_parameters"):
        optgen.torch.Lion(net.parameters(), groups=[("*.bias", {"lr": 1})])
    with pytest.raises(ValueError, match="no_decay: SparseAdam has no weight decay"):
        optgen.torch.SparseAdam(net.parameters(), no_decay="1d")


TEXT = st.text("ab1.*?", max_size=8)


@given(st.lists(TEXT.filter(bool), min_size=1, max_size=3), st.text("ab1.", max_size=8), st.integers(0, 3))
def test_patterns_match_as_those_of_file_names(parts: Iterable[str], name: str, axes: int) -> None:
    found = Pattern("|".join(parts)).match(Named((name,), (2,) * axes)) is not None
    assert found == any(fnmatch.fnmatchcase(name, part) for part in parts)


@given(st.integers(0, 10**30), st.integers(0, 99), st.text("ab.*[]()\\^$+", max_size=6))
def test_numbers_in_names(i: int, j: int, text: str) -> None:
    pattern = Pattern("x{i}.{j}" + text.replace("*", "."))
    assert pattern.match(Named((f"x{i}.{j}" + text.replace("*", "."),), ())) == {"i": i, "j": j}
    assert pattern.match(Named((f"x{i}.-{j}",), ())) is None
