"""State dicts and live states of PyTorch's optimizers and ours, exchanged at any step."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import optgen.torch
from optgen.torch.torch_classes import CLASSES
from tests.sweeps import swept

Params = list[torch.Tensor]
Make = Callable[..., torch.optim.Optimizer]
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in CLASSES]
CASES += [("SGD", {"momentum": 0.9, "dampening": 0.3}), ("Adam", {"amsgrad": True})]
CASES += [("RMSprop", {"momentum": 0.9, "centered": True}), ("Adagrad", {"initial_accumulator_value": 0.5})]
each_case = pytest.mark.parametrize(("name", "kwargs"), CASES, ids=lambda x: x if isinstance(x, str) else "-".join(x))
WITH_STATES_OF_THEIR_OWN = "NAdam", "Rprop", "ASGD", "SparseAdam", "Adafactor", "Muon"
FULL = [*CASES[-4:], *(case for case in CASES[: len(CLASSES)] if case[0] in WITH_STATES_OF_THEIR_OWN)]
"""Those with the most states of their class, and with states that no other class has."""


def start(dtype: torch.dtype = torch.float64, name: str = "") -> Params:
    """Parameters that an optimizer takes."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((6, 1), (4, 3), (6, 4)) if name == "Muon" else ((6,), (4, 3), (2, 3, 4))
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes]


def weights_alike(name: str) -> dict[str, float]:
    """How far apart weights may be, of float64: PyTorch's Muon multiplies in bfloat16, so that an update is anywhere
    within 2e-2 of itself, and ten are added up."""
    return {"rtol": 0, "atol": 2e-4} if name == "Muon" else {"rtol": 1e-12, "atol": 1e-300}


def steps(first: int, end: int, *pairs: tuple[torch.optim.Optimizer, Params], absent: int | None = None) -> None:
    """The same steps with each optimizer; the parameter of number `absent` has no gradient."""
    for seed in range(first, end):
        for optimizer, params in pairs:
            generator = torch.Generator().manual_seed(seed)
            for k, p in enumerate(params):
                g = torch.randn(p.shape, dtype=p.dtype, generator=generator)
                p.grad = None if k == absent else g.to_sparse() if "SparseAdam" in type(optimizer).__name__ else g
            optimizer.step()


def assert_alike(mine: torch.optim.Optimizer, theirs: torch.optim.Optimizer) -> None:
    """The same weights and state dicts: keys in their order, dtypes, shapes; numbers of states to 1e-12."""
    own, other = mine.state_dict(), theirs.state_dict()
    assert own["param_groups"] == other["param_groups"]
    assert own["state"].keys() == other["state"].keys()
    for k, state in other["state"].items():
        assert list(own["state"][k]) == list(state)
        for key, x in state.items():
            y = own["state"][k][key]
            assert type(y) is type(x)
            if isinstance(x, torch.Tensor):
                torch.testing.assert_close(y, x, rtol=1e-12, atol=1e-300, msg=f"state {k}, {key}")
            else:
                assert y == x
    for group, same in zip(mine.param_groups, theirs.param_groups, strict=True):
        torch.testing.assert_close(group["params"], same["params"], **weights_alike(type(mine).__name__))


def through_a_file(state_dict: dict[str, Any]) -> Any:
    file = io.BytesIO()
    torch.save(state_dict, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


# ---------------------------------------------------------------- state dicts


@each_case
def test_torch_goes_on_from_ours(name: str, kwargs: dict[str, Any]) -> None:
    ours, torchs = getattr(optgen.torch, name), getattr(torch.optim, name)
    a, b, c = (start(torch.float32, name) for _ in range(3))
    mine, theirs = ours(a, **kwargs), torchs(b, **kwargs)
    steps(0, 5, (mine, a), (theirs, b))
    other = torchs(c, lr=0.5)
    for p, q in zip(c, a, strict=True):
        p.copy_(q)
    other.load_state_dict(through_a_file(mine.state_dict()))
    steps(5, 10, (other, c), (theirs, b))
    assert other.state_dict()["param_groups"] == theirs.state_dict()["param_groups"]
    torch.testing.assert_close(c, b, rtol=1e-5, atol=1e-6 if name != "Muon" else 2e-4)


@each_case
def test_ours_goes_on_from_torchs(name: str, kwargs: dict[str, Any]) -> None:
    ours, torchs = getattr(optgen.torch, name), getattr(torch.optim, name)
    a, b = start(name=name), start(name=name)
    theirs = torchs(b, **kwargs)
    steps(0, 5, (theirs, b))
    mine = ours(a, lr=0.5)
    for p, q in zip(a, b, strict=True):
        p.copy_(q)
    mine.load_state_dict(through_a_file(theirs.state_dict()))
    assert_alike(mine, theirs)
    steps(5, 10, (mine, a), (theirs, b))
    assert_alike(mine, theirs)


@pytest.mark.parametrize(("name", "kwargs"), swept(CASES, FULL), ids=lambda x: x if isinstance(x, str) else "-".join(x))
def test_ours_goes_on_from_its_own_to_the_bit(name: str, kwargs: dict[str, Any]) -> None:
    ours = getattr(optgen.torch, name)
    a, b = start(torch.bfloat16, name), start(torch.bfloat16, name)
    options = {"master": True, "seed": 3, "storage": "bfloat16_stochastic"}
    mine, other = ours(a, **kwargs, **options), ours(b, **options)
    steps(0, 3, (mine, a))
    for p, q in zip(b, a, strict=True):
        p.copy_(q)
    other.load_state_dict(through_a_file(mine.state_dict()))
    steps(3, 6, (mine, a), (other, b))
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))
    assert str(mine.state_dict()) == str(other.state_dict())


def test_numbers_of_old_state_dicts_become_tensors_and_deleted_keys_defaults() -> None:
    for name in CLASSES:
        a, b = start(name=name), start(name=name)
        mine, theirs = getattr(optgen.torch, name)(a), getattr(torch.optim, name)(b)
        steps(0, 3, (mine, a), (theirs, b))
        old = pickle.loads(pickle.dumps(mine.state_dict()))
        for group in old["param_groups"]:
            for key in ("foreach", "differentiable", "capturable", "fused", *(["maximize"] * (name != "Adafactor"))):
                group.pop(key, None)
        for state in old["state"].values():
            state |= {key: float(x) for key, x in state.items() if key in ("step", "mu_product", "eta", "mu")}
            if name == "SparseAdam":
                state["step"] = 3
        mine.load_state_dict(old)
        steps(3, 5, (mine, a), (theirs, b))
        torch.testing.assert_close(a, b, **weights_alike(name))


@pytest.fixture
def float64_is_the_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("float64_is_the_default")
@pytest.mark.parametrize("name", ["NAdam", "ASGD", "Adam"])
def test_numbers_are_float64_where_that_is_the_default_dtype(name: str) -> None:
    a, b = start(), start()
    mine, theirs = getattr(optgen.torch, name)(a), getattr(torch.optim, name)(b)
    steps(0, 20, (mine, a), (theirs, b))
    assert_alike(mine, theirs)


# ---------------------------------------------------------------- values that change between steps

CHANGES: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"momentum": 0.9, "dampening": 0.5},
        {"weight_decay": 0.1, "lr": torch.tensor(0.01, dtype=torch.float64)},
        {"momentum": 0},
        {"momentum": 0.5, "dampening": 0, "nesterov": True},
        {"maximize": True},
    ],
    "Adam": [
        {"weight_decay": 0.1},
        {"decoupled_weight_decay": True, "betas": (0.5, 0.7)},
        {"maximize": True, "eps": 1e-3},
        {"weight_decay": 0, "lr": 0},
    ],
    "RMSprop": [{"weight_decay": 0.1}, {"alpha": 0.5}, {"maximize": True}],
    "NAdam": [{"decoupled_weight_decay": True, "weight_decay": 0.1}, {"momentum_decay": 0.1}],
    "RAdam": [{"weight_decay": 0.1}, {"decoupled_weight_decay": True}],
    "ASGD": [{"lambd": 0.1}, {"t0": 1}, {"alpha": 0.1}],
    "Adagrad": [{"lr_decay": 0.1}, {"initial_accumulator_value": 3.0}, {"weight_decay": 0.1}],
    "Adadelta": [{"rho": 0.5}, {"weight_decay": 0.1}],
    "Rprop": [{"lr": 0.3}, {"etas": (0.3, 1.4)}, {"step_sizes": (1e-3, 0.1)}],
    "Muon": [
        {"adjust_lr_fn": "match_rms_adamw"},
        {"adjust_lr_fn": None, "ns_steps": 3},
        {"ns_coefficients": [3.0, -4.0, 2.0], "nesterov": False},
        {"momentum": 0.3, "eps": 0.1, "weight_decay": 0.0},
    ],
    "Adafactor": [{"weight_decay": 0.1}, {"eps": (1e-8, 1e-2)}, {"eps": (None, 1e-2)}, {"d": 2.0}, {"lr": 1.0}],
}


@pytest.mark.parametrize("name", [name for name in CHANGES if name in CLASSES])
def test_values_change_at_any_time_and_gradients_come_and_go(name: str) -> None:
    a, b = start(name=name), start(name=name)
    mine, theirs = getattr(optgen.torch, name)(a), getattr(torch.optim, name)(b)
    for k, change in enumerate([{}, *CHANGES[name]]):
        for optimizer in (mine, theirs):
            optimizer.param_groups[0].update(change)
        steps(3 * k, 3 * k + 1, (mine, a), (theirs, b), absent=k % 3)
        assert_alike(mine, theirs)
        steps(3 * k + 1, 3 * k + 3, (mine, a), (theirs, b))
        assert_alike(mine, theirs)


@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        ("Adam", {"amsgrad": True}, {"amsgrad": False}),
        ("AdamW", {"amsgrad": True}, {"amsgrad": False}),
        ("RMSprop", {"centered": True, "momentum": 0.9}, {"centered": False, "momentum": 0}),
    ],
)
def test_a_state_that_is_not_read_for_some_steps_stays(name: str, on: dict[str, Any], off: dict[str, Any]) -> None:
    a, b = start(), start()
    mine, theirs = getattr(optgen.torch, name)(a, **on), getattr(torch.optim, name)(b, **on)
    for k, change in enumerate((on, off, on)):
        for optimizer in (mine, theirs):
            optimizer.param_groups[0].update(change)
        steps(3 * k, 3 * k + 3, (mine, a), (theirs, b))
        assert_alike(mine, theirs)


def test_momentum_that_is_switched_on_later_starts_each_buffer_as_its_first_gradient() -> None:
    a, b = start(), start()
    mine, theirs = optgen.torch.SGD(a, dampening=0.5), torch.optim.SGD(b, dampening=0.5)
    steps(0, 2, (mine, a), (theirs, b))
    assert mine.state_dict()["state"] == {}
    for optimizer in (mine, theirs):
        optimizer.param_groups[0]["momentum"] = 0.9
    for k, absent in enumerate((1, 1, None, 0, None)):
        steps(2 + k, 3 + k, (mine, a), (theirs, b), absent=absent)
        assert_alike(mine, theirs)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
def test_dense_and_sparse_gradients_may_follow_each_other() -> None:
    for name, kwargs in (("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adagrad", {})):
        a, b = start(), start()
        mine, theirs = getattr(optgen.torch, name)(a, **kwargs), getattr(torch.optim, name)(b, **kwargs)
        for k in range(8):
            generator = torch.Generator().manual_seed(k)
            for p, q in zip(a, b, strict=True):
                g = torch.randn(p.shape, dtype=p.dtype, generator=generator)
                g[0] = 0
                p.grad, q.grad = (x.to_sparse() if 2 <= k != 5 else x for x in (g.clone(), g))
            mine.step()
            theirs.step()
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", [n for n, row in CLASSES.items() if row.takes_sparse is None])
def test_a_gradient_that_becomes_sparse_is_refused_as_torch_refuses_it(name: str) -> None:
    messages = []
    for module in (optgen.torch, torch.optim):
        params = start(name=name)[1:]
        optimizer = getattr(module, name)(params)
        steps(0, 2, (optimizer, params))
        params[0].grad = params[0].grad.to_sparse()
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


# ---------------------------------------------------------------- replace


@each_case
def test_replace_goes_on_where_torchs_is(name: str, kwargs: dict[str, Any]) -> None:
    torchs = getattr(torch.optim, name)
    a, b = start(name=name), start(name=name)
    replaced, theirs = torchs(a, **kwargs), torchs(b, **kwargs)
    steps(0, 4, (replaced, a), (theirs, b))
    tensors = {id(x) for state in replaced.state.values() for x in state.values() if torch.is_tensor(x) and x.dim()}
    mine = optgen.torch.replace(replaced)
    assert type(mine) is getattr(optgen.torch, name) and isinstance(mine, torchs)
    steps(4, 8, (mine, a), (theirs, b))
    assert_alike(mine, theirs)
    assert tensors == {id(x) for state in mine.state.values() for x in state.values() if torch.is_tensor(x) and x.dim()}
    assert optgen.torch.replace(mine) is mine


@pytest.mark.filterwarnings("ignore:Seems like `optimizer.step..` has been overridden")
def test_replace_before_the_first_step_and_with_what_holds_the_old_one() -> None:
    a, b = start(), start()
    replaced, theirs = (torch.optim.AdamW([{"params": p[:1], "lr": 0.1}, {"params": p[1:]}]) for p in (a, b))
    plans = [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) for optimizer in (replaced, theirs)]
    seen: list[Any] = []
    replaced.register_step_post_hook(lambda optimizer, args, kwargs: seen.append(optimizer))
    mine = optgen.torch.replace(replaced)
    plans[0].optimizer = mine
    for k in range(6):
        steps(k, k + 1, (mine, a), (theirs, b))
        for plan in plans:
            plan.step()
    assert_alike(mine, theirs)
    assert seen == [mine] * 6 and replaced.param_groups[0]["lr"] == mine.param_groups[0]["lr"] == 0.1 / 8


def test_replace_refuses_what_is_not_torchs_own() -> None:
    class Mine(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:
            """None at all."""

    class Named(torch.optim.SGD):
        pass

    p = [torch.zeros(3)]
    with pytest.raises(TypeError, match=r"Mine has a step of its own, which is not that of torch.optim.SGD"):
        optgen.torch.replace(Mine(p, 0.1))
    with pytest.raises(TypeError, match=r"cannot replace torch.optim.lbfgs.LBFGS: it is none of SGD, Adam, "):
        optgen.torch.replace(torch.optim.LBFGS(p))
    p[0].grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="differentiable=True: "):
        optgen.torch.replace(torch.optim.Adam(p, differentiable=True)).step()
    assert type(optgen.torch.replace(Named(p, 0.1))) is optgen.torch.SGD


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_trainer_replaces_a_parameter_and_moves_its_state(name: str) -> None:
    """As programs do whose parameters grow: the new tensor's state is the old one's, with rows more."""
    pairs = []
    for module in (optgen.torch, torch.optim):
        params = start()
        optimizer = getattr(module, name)(params, **({"momentum": 0.9} if name == "SGD" else {}))
        steps(0, 3, (optimizer, params))
        old, new = params[1], torch.cat([params[1], torch.ones(2, 3, dtype=torch.float64)])
        optimizer.param_groups[0]["params"][1] = params[1] = new
        state = optimizer.state.pop(old)
        for key, x in state.items():
            if x.dim():
                state[key] = torch.cat([x, torch.zeros(2, 3, dtype=torch.float64)])
        optimizer.state[new] = state
        steps(3, 6, (optimizer, params))
        pairs.append(optimizer)
    assert_alike(*pairs)


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_a_rate_that_has_changed_stays_when_sparse_gradients_come_and_go(name: str) -> None:
    found = []
    for cls in getattr(torch.optim, name), getattr(optgen.torch, name):
        generator = torch.Generator().manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(7, 3, dtype=torch.float64, generator=generator)) for _ in range(2)]
        optimizer = cls(params, lr=0.1)
        for k in range(6):
            if k == 2:
                optimizer.param_groups[0]["lr"] = 0.2
            for p in params:
                p.grad = torch.randn(7, 3, dtype=torch.float64, generator=generator).to_sparse(1)
            if k == 3:
                params[0].grad = None
            optimizer.step()
        found.append(params)
    torch.testing.assert_close(found[1], found[0], rtol=1e-12, atol=1e-14)


def test_the_attributes_of_an_optimizer_of_torchs_make_one_of_ours() -> None:
    w = torch.nn.Parameter(torch.ones(3))
    theirs = torch.optim.Adam([w], lr=0.5)
    ours = optgen.torch.Adam.__new__(optgen.torch.Adam)
    ours.__setstate__(theirs.__getstate__())
    w.grad = torch.ones(3)
    ours.step()
    assert w.tolist() == pytest.approx([0.5] * 3)
