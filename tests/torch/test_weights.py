"""Weights of 16 bits without a master: rounded at random, or with what rounding lost in `state[p]["compensation"]`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch

SHAPES = ((40, 30), (130,))
adam = optgen.torch.optimizer("adam")


def weights(dtype: torch.dtype = torch.bfloat16) -> list[Parameter]:
    torch.manual_seed(0)
    return [Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]


def steps(optimizer: torch.optim.Optimizer, *seeds: int) -> None:
    for seed in seeds:
        torch.manual_seed(seed)
        for p in optimizer.param_groups[0]["params"]:
            p.grad = torch.randn(p.shape).to(p.dtype)
        optimizer.step()


def compensations(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [optimizer.state[p]["compensation"] for p in optimizer.param_groups[0]["params"]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("how", ["kahan", "stochastic"])
def test_the_bits_are_those_of_a_rule(dtype: torch.dtype, how: str) -> None:
    ours = adam(weights(dtype), lr=1e-3, weights=how, seed=5)
    given = [p.detach() for p in weights(dtype)]
    rule = optgen.load("adam", str(dtype).removeprefix("torch."), weights=how, lr=1e-3)
    bound = rule.bind(given, [torch.zeros_like(x) for x in given])
    bound.seed = 5
    for seed in range(3):
        steps(ours, seed)
        bound.rebind([p.grad for p in ours.param_groups[0]["params"]])
        bound()
    assert all(torch.equal(p, x) for p, x in zip(ours.param_groups[0]["params"], given, strict=True))
    if how == "kahan":
        for x, y in zip(compensations(ours), bound.state.arrays["compensation"], strict=True):
            assert x.dtype == dtype and torch.equal(x.float(), torch.from_numpy(y.astype("float32")))
    else:
        assert not any("compensation" in kept for kept in ours.state.values())


CLASSES: Mapping[str, Any] = {
    "ours": optgen.torch.Lion,
    "torch's": optgen.torch.AdamW,
    "without a count": optgen.torch.SGD,
    "of matrices": optgen.torch.MuonAdamW,
    "of phases": optgen.torch.optimizer("sgd with sam"),
}


@pytest.mark.parametrize("how", ["kahan", "stochastic"])
@pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES)
def test_a_state_dict_goes_on_with_the_same_bits(make: Any, how: str) -> None:
    first = make(weights(), lr=1e-3, weights=how, seed=3)
    second = make(weights(), lr=1e-3, weights=how, seed=3)

    def train(optimizer: Any, *seeds: int) -> None:
        for seed in seeds:
            if optimizer.spec.phases:
                optimizer.step(lambda: sum_of(optimizer))
            else:
                steps(optimizer, seed)

    train(first, 1, 2)
    content = copy.deepcopy(first.state_dict())
    assert how in str(content["param_groups"][0]) or issubclass(make, torch.optim.Optimizer)
    for p, q in zip(first.param_groups[0]["params"], second.param_groups[0]["params"], strict=True):
        q.data.copy_(p.data)
    second.load_state_dict(content)
    for optimizer in (first, second):
        train(optimizer, 3, 4)
    for p, q in zip(first.param_groups[0]["params"], second.param_groups[0]["params"], strict=True):
        assert torch.equal(p, q)
    nearest = make(weights(), lr=1e-3)
    nearest.load_state_dict(content)
    train(nearest, 3)
    assert not any("compensation" in kept for kept in nearest.state.values())


def sum_of(optimizer: torch.optim.Optimizer) -> torch.Tensor:
    loss = sum((p.float() ** 2).sum() for p in optimizer.param_groups[0]["params"])
    assert isinstance(loss, torch.Tensor)
    loss.backward()
    return loss


def test_it_is_a_groups_own_and_changes_later() -> None:
    """Beside float32 parameters, which stay as they are."""
    half, single = weights(), weights(torch.float32)
    optimizer = adam([{"params": half, "weights": "kahan"}, {"params": single}], lr=1e-4, weights="stochastic")
    steps(optimizer, 1)
    for p in single:
        p.grad = torch.ones_like(p)
    optimizer.step()
    assert all("compensation" in optimizer.state[p] for p in half)
    assert not any("compensation" in optimizer.state[p] for p in single)
    optimizer.param_groups[0]["weights"] = None
    steps(optimizer, 2)
    assert not any("compensation" in kept for kept in optimizer.state.values())
    optimizer.param_groups[0]["weights"] = "kahan"
    steps(optimizer, 3)
    assert all(x.any() for x in compensations(optimizer))


def test_sparse_gradients_move_their_rows_alone() -> None:
    p = Parameter(torch.ones(300, 16, dtype=torch.bfloat16))
    optimizer = adam([p], lr=1e-3, weights="kahan")
    for _ in range(4):
        p.grad = torch.sparse_coo_tensor(
            torch.tensor([[1, 7]]), torch.ones(2, 16, dtype=p.dtype), p.shape, check_invariants=False
        )
        optimizer.step()
    kept = optimizer.state[p]["compensation"]
    assert kept[1].any() and kept[7].any() and int(kept.any(1).sum()) == 2


@pytest.mark.parametrize("how", ["kahan", "stochastic"])
def test_states_are_float32_unless_storage_names_them(how: str) -> None:
    """So an average that starts as the weights follows them, as that of float32 weights does."""
    ema = optgen.torch.optimizer("sgd with ema(decay=0.999)")
    found = {}
    for dtype, options in (
        (torch.float32, {}),
        (torch.bfloat16, {"weights": how}),
        (torch.bfloat16, {"weights": how, "storage": {"average": "bfloat16"}}),
    ):
        p = Parameter(torch.ones(1000, dtype=dtype))
        opt = ema([p], lr=1e-3, **options)
        p.grad = torch.ones_like(p)
        for _ in range(300):
            opt.step()
        (states,) = (row.states for row in opt.plan())
        kept = opt.state[p]["average"]
        assert {x.storage for x in states if x.name == "average"} == {str(kept.dtype).removeprefix("torch.")}
        with opt.evaluating():
            found[kept.dtype, dtype] = p.detach().double().mean().item()
    exact = found.pop((torch.float32, torch.float32))
    assert 0.95 < exact < 0.97 and abs(found.pop((torch.float32, torch.bfloat16)) - exact) < 2e-3
    assert found.popitem() == ((torch.bfloat16, torch.bfloat16), 1.0)
    mixed = optgen.torch.AdamW(weights(), weights=how, storage={"exp_avg": "bfloat16"})
    steps(mixed, 1)
    dtypes = [(kept["exp_avg"].dtype, kept["exp_avg_sq"].dtype) for kept in mixed.state.values()]
    assert dtypes == [(torch.bfloat16, torch.float32)] * 2


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="weights: 'stochastic' or 'kahan', or None, not 'up'"):
        adam(weights(), weights="up")
    with pytest.raises(ValueError, match="weights='kahan' with master=True, which loses nothing"):
        adam(weights(), weights="kahan", master=True)
    spec = optgen.parse("optimizer Own\nstate compensation = 0\nupdate:\n  compensation' = g\n  w' = w - lr*g\n")
    make = optgen.torch.optimizer(spec)
    with pytest.raises(ValueError, match="Own has a 'compensation' of its own"):
        make(weights(), lr=0.1, weights="kahan")
    plain = make(weights(), lr=0.1)
    steps(plain, 1)
    make(weights(), lr=0.1).load_state_dict(plain.state_dict())


KEPT: Mapping[str, dict[str, Any]] = {
    "kahan": {"weights": "kahan"},
    "stochastic": {"weights": "stochastic"},
    "master": {"master": True},
    "none": {},
}


def exact_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """The weights with what is kept beside them."""
    found = []
    for p in optimizer.param_groups[0]["params"]:
        kept = optimizer.state[p]
        lost = kept["compensation"].float() if "compensation" in kept else 0
        found.append(kept["master"].clone() if "master" in kept else p.detach().float() + lost)
    return found


@pytest.mark.parametrize("make", [adam, optgen.torch.AdamW, optgen.torch.SGD], ids=["ours", "torch's", "no states"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("after", KEPT)
@pytest.mark.parametrize("before", KEPT)
def test_each_way_of_keeping_weights_goes_on_from_each(before: str, after: str, dtype: torch.dtype, make: Any) -> None:
    """By a state dict that is loaded before and behind the model, a conversion, and a change of the group. Steps of
    rate 0 make the states of PyTorch's classes."""
    old = make(weights(dtype), lr=1e-3, **KEPT[before])
    steps(old, 1, 2, 3)
    content, model = copy.deepcopy(old.state_dict()), [p.detach().clone() for p in old.param_groups[0]["params"]]
    precise = {"kahan", "master"}
    # A compensation is rounded to 8 bits, or to 11.
    error = 2.0**-8 if before in precise and after in precise else 0

    def compare(new: torch.optim.Optimizer, expected: list[torch.Tensor]) -> None:
        for p, exact, there, x in zip(new.param_groups[0]["params"], exact_of(new), expected, model, strict=True):
            kept = new.state[p]
            if after == "kahan":  # where half a unit is lost, the step may round the sum to the other neighbour
                torch.testing.assert_close(p.detach(), x, rtol=2 * torch.finfo(dtype).eps, atol=0)
            else:
                assert torch.equal(p, x) and torch.equal(exact.to(dtype), x)
            assert ("master" in kept, "compensation" in kept) == (after == "master", after == "kahan")
            wanted = there if {before, after} <= precise else x.float()
            assert torch.allclose(exact - x.float(), wanted - x.float(), rtol=error, atol=2.0**-22)  # of float32

    there = exact_of(old)
    for model_first in (True, False) if (before, after) == ("master", "kahan") else (True,):
        new = make(weights(dtype), lr=1e-3, **KEPT[after])
        for load in (0, 1) if model_first else (1, 0):
            if load:
                new.load_state_dict(copy.deepcopy(content))
            else:
                for p, x in zip(new.param_groups[0]["params"], model, strict=True):
                    p.data.copy_(x)
        settle(new)
        compare(new, there)
    given = {key: KEPT[after].get(key, default) for key, default in (("weights", None), ("master", False))}
    new = optgen.torch.convert(old, make, **given)
    settle(new)
    compare(new, there)
    for p, x in zip(old.param_groups[0]["params"], model, strict=True):
        p.data.copy_(x)
    old.param_groups[0].update(given)
    settle(old)
    compare(old, there)


def settle(optimizer: torch.optim.Optimizer) -> None:
    """A step that changes no weight."""
    for group in optimizer.param_groups:
        lr, group["lr"] = group["lr"], 0.0
        for p in group["params"]:
            p.grad = torch.zeros_like(p)
        optimizer.step()
        group["lr"] = lr
