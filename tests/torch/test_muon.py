"""`optgen.torch.Muon` beside `torch.optim.Muon`, and `MuonAdamW` with groups of a network."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import optgen.torch
from tests.sweeps import swept
from tests.torch.needs import needs_muon, needs_unclamped

SHAPES = ((64, 96), (96, 64), (80, 80), (1, 50), (50, 1))
CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"nesterov": False},
    {"momentum": 0.3},
    {"momentum": 0.0, "weight_decay": 0.0},
    {"momentum": 0.0, "nesterov": False},
    {"momentum": 1.0, "nesterov": True, "eps": 10.0},
    {"adjust_lr_fn": "original", "weight_decay": 1.0},
    {"adjust_lr_fn": "match_rms_adamw"},
    {"adjust_lr_fn": "match_rms_adamw", "nesterov": False, "momentum": 0.8},
    {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "weight_decay": 0.0},
    {"ns_steps": 0},
    {"ns_steps": 1, "eps": 0.0},
    {"ns_steps": 7, "nesterov": False},
    {"ns_steps": 3, "ns_coefficients": (3.0, -4.0, 2.0), "eps": 10.0},
    {"ns_steps": 9, "ns_coefficients": [2.0, -1.5, 0.5]},
    {"ns_coefficients": (1.5, -0.5, 0.0), "momentum": 0.9, "eps": 1e-3},
)
ALIKE = (
    {"nesterov": False},
    {"momentum": 0.3},
    {"momentum": 0.0, "weight_decay": 0.0},
    {"adjust_lr_fn": "match_rms_adamw"},
    {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "weight_decay": 0.0},
    {"ns_steps": 7, "nesterov": False},
    {"ns_coefficients": (1.5, -0.5, 0.0), "momentum": 0.9, "eps": 1e-3},
)
"""Those of which others have each argument, with another one besides."""
Params = list[torch.nn.Parameter]


def matrices(dtype: torch.dtype = torch.float32, seed: int = 0) -> Params:
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(s, generator=generator).to(dtype)) for s in SHAPES]


def give_gradients(seed: int, *several: Params) -> None:
    for params in several:
        for p, q in zip(params, matrices(params[0].dtype, seed + 1), strict=False):
            p.grad = q.detach()


def updates(optimizer: torch.optim.Optimizer, params: Params) -> list[torch.Tensor]:
    """What a step adds to parameters, in float64."""
    before = [p.detach().double().clone() for p in params]
    optimizer.step()
    return [p.detach() - b for p, b in zip(params, before, strict=True)]


def assert_updates_alike(mine: Any, a: Params, theirs: Any, b: Params) -> None:
    """Within 2e-2 of PyTorch's, which computes in bfloat16; all matrices are of full rank."""
    for x, y in zip(updates(mine, a), updates(theirs, b), strict=True):
        assert (x - y).norm() <= 2e-2 * y.norm(), tuple(x.shape)


@needs_muon
@pytest.mark.parametrize(
    "config",
    swept(CONFIGURATIONS, lambda x: x not in ALIKE),
    ids=lambda x: "-".join(f"{k}={v}" for k, v in x.items()),
)
def test_updates_are_torchs_with_any_arguments(config: dict[str, Any]) -> None:
    a, b = matrices(), matrices()
    mine, theirs = optgen.torch.Muon(a, lr=0.05, **config), torch.optim.Muon(b, lr=0.05, **config)
    for k in range(3):
        give_gradients(k, a, b)
        assert_updates_alike(mine, a, theirs, b)
    assert mine.state_dict()["param_groups"] == theirs.state_dict()["param_groups"]


def test_the_factor_without_a_clamp() -> None:
    """That of 'original', which is at least 1, times the root of rows/cols where that is less."""
    clamped, unclamped = matrices(), matrices()
    for factor, params in (("original", clamped), ("spectral_unclamped", unclamped)):
        opt: Any = optgen.torch.optimizer("torch/muon")(params, lr=0.05, weight_decay=0.0)  # type: ignore[call-arg]
        opt.param_groups[0]["adjust_lr_fn"] = factor
        give_gradients(0, params)
        opt.step()
    for shape, start, p, q in zip(SHAPES, matrices(), clamped, unclamped, strict=True):
        root = min(1.0, shape[0] / shape[1]) ** 0.5
        torch.testing.assert_close(q - start, root * (p - start), rtol=1e-4, atol=1e-6)


@needs_unclamped
def test_the_factor_without_a_clamp_is_torchs() -> None:
    a, b = matrices(), matrices()
    how = {"lr": 0.05, "adjust_lr_fn": "spectral_unclamped"}
    mine, theirs = optgen.torch.Muon(a, **how), torch.optim.Muon(b, **how)
    give_gradients(0, a, b)
    assert_updates_alike(mine, a, theirs, b)


@needs_muon
def test_groups_rates_that_are_tensors_schedules_and_closures() -> None:
    pairs = []
    for cls in (optgen.torch.Muon, torch.optim.Muon):
        params = matrices()
        groups = [
            {"params": params[:2], "lr": torch.tensor(0.1), "nesterov": False},
            {"params": params[2:3], "ns_steps": 3, "weight_decay": 0.5},
            {"params": params[3:], "adjust_lr_fn": "match_rms_adamw", "momentum": 0.5},
        ]
        optimizer = cls(groups, lr=0.02)
        pairs.append((optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5), params))
    for k in range(4):
        for (mine, _, a), (theirs, _, b) in [pairs]:
            give_gradients(k, a, b)
            if k == 2:
                mine.param_groups[2]["adjust_lr_fn"] = theirs.param_groups[2]["adjust_lr_fn"] = None
            assert_updates_alike(mine, a, theirs, b)
        for _, schedule, _ in pairs:
            schedule.step()

    def closure() -> torch.Tensor:
        give_gradients(9, pairs[0][2])
        return torch.tensor(2.5)

    assert pairs[0][0].step(closure) == 2.5


@needs_muon
@pytest.mark.parametrize(
    "dtype", swept([torch.bfloat16, torch.float16, torch.float64], [torch.bfloat16, torch.float64])
)
def test_dtypes(dtype: torch.dtype) -> None:
    """Of 16 bits, weights are small beside updates, as these are rounded with them. Matrices of one row or column are
    left out: the iteration makes more of what PyTorch rounds besides."""
    a, b = matrices(dtype)[:3], matrices(dtype)[:3]
    for p in (*a, *b):
        p.data *= 0.01
    mine, theirs = (module.Muon(params, lr=0.5) for module, params in ((optgen.torch, a), (torch.optim, b)))
    for k in range(3):
        give_gradients(k, a, b)
        assert_updates_alike(mine, a, theirs, b)
        assert all(mine.state[p]["momentum_buffer"].dtype == dtype for p in a)
    if dtype != torch.float64:
        master = optgen.torch.Muon(a, lr=0.5, master=True)
        give_gradients(5, a)
        master.step()
        assert all(torch.equal(p, master.state[p]["master"].to(dtype)) for p in a)


@needs_muon
def test_matmul_chooses_the_products() -> None:
    """In float32, an update is the one of a float64 run without rounding; unlike PyTorch's."""
    params, own = {how: matrices() for how in ("bfloat16", "float32", "deterministic")}, matrices(torch.float64)
    found = {}
    for how, some in params.items():
        give_gradients(0, some)
        found[how] = updates(optgen.torch.Muon(some, lr=1.0, matmul=how), some)
    give_gradients(0, own)
    for p, q in zip(own, params["float32"], strict=True):
        assert q.grad is not None
        p.grad = q.grad.double()
    exact = updates(optgen.torch.Muon(own, lr=1.0, matmul="float32"), own)
    for how, limit in (("bfloat16", 4e-2), ("float32", 1e-4), ("deterministic", 1e-4)):
        errors = [(x - y).norm() / y.norm() for x, y in zip(found[how], exact, strict=True)]
        assert max(errors) <= limit and (how != "bfloat16" or max(errors) > 1e-3)
    with pytest.raises(ValueError, match="matmul must be one of float32, bfloat16, deterministic, not 'half'"):
        optgen.torch.Muon(matrices(), matmul="half")
    with pytest.raises(TypeError, match="no equation reads an argument 'matmul'"):
        optgen.torch.Lion(matrices(), matmul="float32")


@needs_muon
def test_what_torch_refuses_is_refused() -> None:
    for bad in (torch.zeros(3), torch.zeros(2, 3, 4), torch.zeros(())):
        errors = []
        for module in (optgen.torch, torch.optim):
            with pytest.raises(ValueError, match="Muon only supports 2D parameters") as error:
                module.Muon([bad])
            errors.append(str(error.value))
        assert errors[0] == errors[1]
    for wrong, message in (
        ({"ns_steps": 100}, r"'ns_steps'.*\[0, 100\)"),
        ({"ns_coefficients": (1.0, 2.0)}, r"ns_coefficients: expected 3 numbers \(a, b, c\), not 2"),
        ({"adjust_lr_fn": "arbitrary"}, "Adjust learning rate function arbitrary is not supported"),
    ):
        with pytest.raises(ValueError, match=message):
            optgen.torch.Muon(matrices(), **wrong)
    optimizer = optgen.torch.Muon(matrices())
    vector = torch.nn.Parameter(torch.ones(3))
    optimizer.add_param_group({"params": [vector]})
    vector.grad = torch.ones(3)
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        optimizer.step()


def test_one_optimizer_for_a_network() -> None:
    """Embedding and head are plain; what each matrix gets is what muon and adamw alone give it."""
    torch.manual_seed(0)
    net = torch.nn.ModuleDict(
        {
            "embedding": torch.nn.Embedding(11, 6),
            "hidden": torch.nn.Linear(6, 8),
            "norm": torch.nn.LayerNorm(8),
            "head": torch.nn.Linear(8, 11, bias=False),
        }
    )
    names = dict(net.named_parameters())
    plain = {name for name in names if name.split(".")[0] in ("embedding", "head")}
    groups = [
        {"params": [(n, p) for n, p in names.items() if n not in plain]},
        {"params": [(n, p) for n, p in names.items() if n in plain], "plain": True, "adam_lr": 0.003},
    ]
    opt = optgen.torch.MuonAdamW(groups, lr=0.02, weight_decay=0.1)
    alone = {name: p.detach().clone() for name, p in names.items()}
    muon = optgen.torch.optimizer("muon")([alone["hidden.weight"]], lr=0.02)
    adamw = optgen.torch.optimizer("adamw")(
        [
            {"params": [alone[n] for n in names if n not in (*plain, "hidden.weight")], "lr": 0.001},
            {"params": [alone[n] for n in plain], "lr": 0.003},
        ],
        weight_decay=0.1,
    )
    for k in range(3):
        for i, (name, p) in enumerate(names.items()):
            generator = torch.Generator().manual_seed(10 * k + i)
            p.grad = torch.randn(p.shape, generator=generator)
            alone[name].grad = p.grad.clone()
        for optimizer in (opt, muon, adamw):
            optimizer.step()
        if k == 1:
            kept = opt.state_dict()
            opt = optgen.torch.MuonAdamW(groups, lr=0.02, weight_decay=0.1)
            opt.load_state_dict(kept)
    assert all(torch.equal(p, alone[name]) for name, p in names.items())
    assert set(opt.state[names["hidden.weight"]]) == {"step", "muon_m"}
    assert all(set(opt.state[names[name]]) == {"step", "adam_m", "adam_v"} for name in (*plain, "hidden.bias"))
