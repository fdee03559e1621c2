"""optgen.torch on a GPU: the bits of the CPU, captured graphs, GradScaler without a wait, PyTorch's fused AdamW."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
optgen_torch: Any = pytest.importorskip("optgen.torch", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this PyTorch finds no GPU")

SHAPES = ((33, 65), (129,), (), (8, 3, 5))
TORCHS = [f"torch/{name}" for name in (
    "sgd", "adam", "adamw", "adamax", "nadam", "radam", "adagrad", "adadelta", "rmsprop", "rprop", "asgd", "adafactor"
)]  # fmt: skip
NAMES = [*TORCHS, "lion", "lamb", "came", "prodigy", "sgld", "nadam", "schedulefree_adamw"]
"""PyTorch's; own: elementwise, sums, rows and columns, sums over all, draws, host states, states like weights."""
HOW = {"torch/sgd": {"momentum": 0.9, "dampening": 0.1}, "torch/adam": {"amsgrad": True}}
RATES = [0.1, 0.03, 0.2, 0.01, 0.05]


def on(device: str) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(device)) for shape in SHAPES]


def gradients(params: Sequence[Any], k: int) -> None:
    """Those of step k, the same on every device, in memory that stays."""
    generator = torch.Generator().manual_seed(k + 1)
    for p in params:
        value = torch.randn(p.shape, generator=generator)
        p.grad = torch.empty_like(p) if p.grad is None else p.grad
        p.grad.copy_(value)


def run(opt: Any, params: Sequence[Any], rates: Sequence[float], begin: int = 0) -> None:
    for k, rate in enumerate(rates, begin):
        for group in opt.param_groups:
            group["lr"] = rate
        gradients(params, k)
        opt.step()


def replaying(step: Callable[[], object]) -> Callable[[], None]:
    """What replays a step that has been called before."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def assert_same(there: Any, here: Any) -> None:
    """The same bits in parameters and states; counts may have another dtype."""
    torch.cuda.synchronize()
    both = zip(params_of(there), params_of(here), strict=True)
    for k, (p, q) in enumerate(both):
        assert torch.equal(p.cpu(), q), f"parameter {k}"
        assert there.state[p].keys() == here.state[q].keys()
        for key, x in there.state[p].items():
            assert torch.equal(x.cpu().double(), here.state[q][key].double()), f"{key} of parameter {k}"


def params_of(opt: Any) -> list[Any]:
    return [p for group in opt.param_groups for p in group["params"]]


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_bits_of_the_cpu(name: str, capturable: bool) -> None:
    cls, how = optgen_torch.optimizer(name), HOW.get(name, {})
    there, here = on("cuda"), on("cpu")
    mine, other = cls(there, capturable=capturable, **how), cls(here, **how)
    run(mine, there, RATES)
    run(other, here, RATES)
    assert_same(mine, other)
    steps = [states["step"].is_cuda for states in mine.state.values() if "step" in states]
    assert all(is_cuda == capturable for is_cuda in steps)


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_alone_is_a_step(name: str) -> None:
    cls, how = optgen_torch.optimizer(name), HOW.get(name, {})
    there, here = on("cuda"), on("cpu")
    rate = torch.tensor(RATES[0], device="cuda")
    mine, other = cls(there, capturable=True, **how), cls(here, **how)
    run(mine, there, [rate])
    replay = replaying(mine.step)
    for k, value in enumerate(RATES[1:], 1):
        gradients(there, k)
        rate.fill_(value)
        replay()
    run(other, here, [torch.tensor(value).item() for value in RATES])
    assert_same(mine, other)
    gradients(there, 9)
    gradients(here, 9)
    mine.step()  # and a call goes on from there
    other.step()
    assert_same(mine, other)


@pytest.mark.parametrize("name", [*NAMES, "muon_adamw"])
def test_states_on_the_host(name: str) -> None:
    """The bits of the CPU, with copies beside what the GPU computes, and parameters that the GPU writes in between."""
    cls, how = optgen_torch.optimizer(name), HOW.get(name, {})
    there, here = on("cuda"), on("cpu")
    mine, other = cls(there, states="cpu", **how), cls(here, **how)
    for k in range(3):
        run(mine, there, RATES, begin=5 * k)
        run(other, here, RATES, begin=5 * k)
        with torch.no_grad():
            for p in (*there, *here):
                p.mul_(0.5)
    assert all(x.device.type == "cpu" for states in mine.state.values() for x in states.values())
    assert_same(mine, other)


def test_state_dicts_go_from_ours_to_torchs_and_back() -> None:
    a, b = on("cuda"), on("cuda")
    ours = optgen_torch.AdamW(a, lr=0.01, capturable=True)
    theirs = torch.optim.AdamW(b, lr=0.01, capturable=True)
    run(ours, a, RATES)
    run(theirs, b, RATES)
    for mine, other in ((ours, theirs), (theirs, ours)):
        other.load_state_dict(copy.deepcopy(mine.state_dict()))
        with torch.no_grad():
            for p, q in zip(params_of(other), params_of(mine), strict=True):
                p.copy_(q)
        run(ours, a, RATES, begin=5)
        run(theirs, b, RATES, begin=5)
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    assert ours.state[a[0]]["step"].item() == theirs.state[b[0]]["step"].item()


def test_beside_fused_adamw() -> None:
    a, b = on("cuda"), on("cuda")
    for cls, params, how in ((optgen_torch.AdamW, a, {}), (torch.optim.AdamW, b, {"fused": True})):
        run(cls(params, weight_decay=0.1, **how), params, [0.01] * 20)
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("name", ["torch/adamw", "torch/sgd", "lamb", "prodigy", "sgld"])
def test_a_grad_scaler_waits_for_nothing(name: str, capturable: bool) -> None:
    """Of five steps, the second one has infinite gradients: nothing changes, draws of the third are its own."""
    found = []
    for device in ("cuda", "cpu"):
        params = on(device)
        opt = optgen_torch.optimizer(name)(params, capturable=capturable, fused=True)
        scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=2)
        factors = [torch.tensor(x, device=device) for x in (1.0, float("inf"), 0.5, 2.0, 1.0)]
        for k, factor in enumerate(factors):
            if k and device == "cuda":
                torch.cuda.set_sync_debug_mode("error")
            try:
                opt.zero_grad()
                scaler.scale(sum((p * factor).sum() for p in params)).backward()
                scaler.step(opt)
                scaler.update()
            finally:
                torch.cuda.set_sync_debug_mode("default")
        found.append(opt)
    assert_same(*found)
    there = found[0]
    gradients(params_of(there), 0)
    gradients(params_of(found[1]), 0)
    there.step()  # without a scaler
    found[1].step()
    assert_same(*found)


def test_what_cannot_be_captured() -> None:
    params = on("cuda")
    plain = optgen_torch.AdamW(params)
    run(plain, params, RATES)
    with pytest.raises(
        RuntimeError, match=r"capture of step\(\) for an instance of AdamW but param_groups' capturable"
    ):
        replaying(plain.step)
    new = optgen_torch.AdamW(params, capturable=True)
    with pytest.raises(RuntimeError, match=r"AdamW: call step\(\) before it is captured"):
        replaying(new.step)
    clipped = optgen_torch.AdamW(params, capturable=True, clip_norm=1.0)
    run(clipped, params, RATES)
    with pytest.raises(RuntimeError, match="the host reads the norm"):
        replaying(clipped.step)


def test_sparse_gradients_are_refused_by_name() -> None:
    table = torch.nn.Parameter(torch.ones(6, 3, device="cuda"))
    opt = optgen_torch.SGD([("emb.weight", table)], lr=0.1, capturable=True)
    table.grad = torch.ones(6, 3, device="cuda").to_sparse(1)
    with pytest.raises(ValueError, match=r"gradient of parameter 'emb.weight': row-sparse; the host reads"):
        opt.step()


def test_clipping_on_a_gpu() -> None:
    found = []
    for device in ("cuda", "cpu"):
        params = on(device)
        opt = optgen_torch.AdamW(params, clip_norm=1.0, capturable=True)
        run(opt, params, RATES)
        found.append(params)
    for p, q in zip(*found, strict=True):  # the norm is PyTorch's, whose sums have another order there
        torch.testing.assert_close(p.cpu(), q, rtol=1e-5, atol=1e-6)
