"""A whole network in the place of parameters, and which of its parameters are plain."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn

import optgen
import optgen.torch


class Tied(nn.Module):
    """Words, a table for bags of them, and a head that is the table of words."""

    def __init__(self, *, names_its_head: bool = False, tie: bool = True) -> None:
        super().__init__()
        self.head = nn.Linear(6, 11, bias=False)
        self.words, self.bags = nn.Embedding(11, 6), nn.EmbeddingBag(5, 6)
        self.hidden = nn.Linear(6, 6)
        if tie:
            self.head.weight = self.words.weight
        if names_its_head:
            self.get_output_embeddings = lambda: self.head


def plain(opt: Any) -> set[str]:
    return {name for group in opt.param_groups if group["plain"] for name in group["param_names"]}


def test_the_rule_for_a_network() -> None:
    """Embeddings, with what is tied to them; the head, which a network names, or its last module with a matrix."""
    convolutions = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2), nn.LayerNorm(2))
    for net, expected in (
        (convolutions, {"3.weight": "the last layer"}),
        (Tied(), {"head.weight": "nn.Embedding", "bags.weight": "nn.EmbeddingBag", "hidden.weight": "the last layer"}),
        (Tied(names_its_head=True), {"head.weight": "nn.Embedding", "bags.weight": "nn.EmbeddingBag"}),
        (
            Tied(names_its_head=True, tie=False),
            {"words.weight": "nn.Embedding", "bags.weight": "nn.EmbeddingBag", "head.weight": "the last layer"},
        ),
        (nn.LayerNorm(3), {}),
    ):
        opt: Any = optgen.torch.MuonAdamW(net, lr=0.02)
        assert plain(opt) == expected.keys()
        rows = {row.name: row.because for row in opt.plan() if row.because != "1 dimension"}
        assert {name: x for name, x in rows.items() if x} == expected


def test_patterns_and_what_groups_say() -> None:
    net = Tied()
    pairs, every = list(net.named_parameters()), {name for name, _ in net.named_parameters()}
    groups = [{"params": pairs[:1], "plain": True}, {"params": iter(pairs[1:]), "lr": 0.1}]
    cls: Any = optgen.torch.optimizer("normuon otherwise adamw(lr=1e-4) as adam")
    for params, given, expected in (
        (net, ("words.*",), {"head.weight"}),  # by another name of what is tied
        (net, ["hid*.weight", "bags.*"], {"hidden.weight", "bags.weight"}),
        (net, (), set()),
        (net, False, set()),
        (net, True, every),
        (net.named_parameters(), None, set()),
        (net.named_parameters(), ("head.*",), {"head.weight"}),
        (groups, ("b*",), {"head.weight", "bags.weight"}),
    ):
        opt = cls(params, plain=given)
        assert plain(opt) == expected
        assert {name for group in opt.param_groups for name in group["param_names"]} == every
        assert len(opt.param_groups) <= 3
    assert [group["lr"] for group in opt.param_groups] == [0.001, 0.1, 0.1]
    with pytest.raises(ValueError, match=r"plain: no parameter has a name that matches 'heads\.\*'"):
        cls(net, plain=("head.*", "heads.*"))
    with pytest.raises(ValueError, match=r"these parameters have none: give the network, or its named_parameters\(\)"):
        cls(net.parameters(), plain=("head.*",))
    for wrong in ("head.*", 3, (3,)):
        with pytest.raises(TypeError, match=r"plain: patterns of names that are plain, as \('head.\*'"):
            cls(net, plain=wrong)
    with pytest.raises(TypeError, match="no equation reads an argument 'plain'"):
        optgen.torch.Lion(net, plain=())
    with pytest.raises(ValueError, match=r"'0.weight' has no shape yet, .* call the network once before"):
        cls(nn.Sequential(nn.LazyLinear(3)))


def test_a_network_is_its_named_parameters() -> None:
    """Of every class; a flag `plain` that is none of parts is an argument like any other."""
    assert optgen.torch.optimizer("muon_adamw") is optgen.torch.MuonAdamW
    net = Tied()
    for cls in (optgen.torch.Lion, optgen.torch.Adam):
        names, params = zip(*net.named_parameters(), strict=True)
        (group,) = cls(net).param_groups  # type: ignore[arg-type]
        assert group["param_names"] == list(names) and list(map(id, group["params"])) == list(map(id, params))
    text = "optimizer Own\nflag plain = true\nupdate:\n  w' = w - lr*g if plain\n  w' = w otherwise\n"
    opt: Any = optgen.torch.optimizer(optgen.parse(text))(net)  # type: ignore[arg-type]
    assert [group["plain"] for group in opt.param_groups] == [True]


def test_states_go_on_and_schedules_see_all_groups() -> None:
    """In the same class, made of the network as well; a copy and a pickle have the groups."""
    torch.manual_seed(0)
    nets = [Tied(tie=False) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    opts: list[Any] = [optgen.torch.MuonAdamW(net, lr=0.02) for net in nets]
    schedules = [torch.optim.lr_scheduler.StepLR(opt, 1, 0.5) for opt in opts]
    for step in range(3):
        if step == 2:
            opts[1].load_state_dict(copy.deepcopy(opts[0].state_dict()))
        for net in nets:
            for k, p in enumerate(net.parameters()):
                p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(10 * step + k))
        for opt, schedule in zip(opts, schedules, strict=True):
            opt.step()
            schedule.step()
    assert all(map(torch.equal, nets[0].parameters(), nets[1].parameters()))
    assert [[group["lr"] for group in opt.param_groups] for opt in opts] == [[0.0025, 0.0025]] * 2
    _, other = pickle.loads(pickle.dumps((nets[0], opts[0])))
    assert plain(other) == plain(opts[0]) and str(other.plan()).count("plain=True of its group") == 3


def test_errors_of_state_dicts_say_what_to_do() -> None:
    """Of other groups, and of another optimizer, whichever of both is seen first."""
    net = Tied()
    opt = optgen.torch.MuonAdamW(net)
    with pytest.raises(ValueError, match=r"of parameter groups; they have 1 \+ 3 param.* network, or with its plain="):
        optgen.torch.MuonAdamW(net.parameters()).load_state_dict(opt.state_dict())
    content = optgen.torch.MuonAdamW(net, plain=("bags.*",)).state_dict()
    with pytest.raises(
        ValueError, match=r"match the size of optimizer's group; they have .* 'plain' are a group beside"
    ):
        opt.load_state_dict(content)
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    others = (
        torch.optim.AdamW(net.parameters()),
        optgen.torch.Lion(net),
        torch.optim.SGD(net.parameters(), momentum=0.9),
    )
    for other in others:
        other.step()
        for cls in (optgen.torch.MuonAdamW, optgen.torch.Adadelta, optgen.torch.LAMB):
            with pytest.raises(
                ValueError, match=r"of another optimizer.*which optgen\.torch\.convert\(\) makes one of"
            ):
                cls(net).load_state_dict(other.state_dict())
