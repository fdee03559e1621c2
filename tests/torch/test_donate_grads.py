"""donate_grads: the numbers of ordinary steps, with gradients that are gone afterwards."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.tensor import Shard, distribute_tensor

import optgen.torch
from optgen.torch import optimizer
from tests.torch.test_in_backward import backward, network, same


def steps(net: nn.Module, opt: Any, step: Callable[[int], Any]) -> None:
    for k in range(3):
        backward(net, k)
        step(k)
        if opt.donate_grads:
            assert [p.grad for p in net.parameters()] == [None] * len(list(net.parameters()))
        opt.zero_grad()


@pytest.mark.parametrize(
    ("dtype", "more"),
    [
        (torch.float32, {}),
        (torch.float32, {"clip_norm": 0.1, "maximize": True}),
        (torch.float32, {"storage": "bfloat16_stochastic"}),
        (torch.float64, {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["lamb", "cautious_adamw", "torch/adamw"])
def test_same_bits_as_ordinary_steps(name: str, dtype: torch.dtype, more: dict[str, Any]) -> None:
    networks = [network().to(dtype) for _ in range(2)]
    for k, net in enumerate(networks):
        opt = optimizer(name)(net.parameters(), lr=0.01, donate_grads=k == 0, **more)
        steps(net, opt, lambda _, opt=opt: opt.step())
    assert same(*networks)


def test_the_memory_is_used_and_autograd_is_told() -> None:
    p = nn.Parameter(torch.ones(5000))
    opt = optgen.torch.LAMB([p], donate_grads=True)
    p.square().sum().backward()
    grad = p.grad
    assert grad is not None
    needed = grad.clone().requires_grad_()
    product = (needed * grad.detach()).sum()
    opt.step()
    assert p.grad is None and not grad.equal(torch.full_like(grad, 2.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    before = p.detach().clone()
    opt.step()
    assert p.equal(before)  # as no parameter has a gradient


def test_what_stands_around_steps() -> None:
    """A closure, hooks, a GradScaler that leaves a step out, groups, and frozen parameters."""
    networks = [network() for _ in range(2)]
    for k, net in enumerate(networks):
        layers = [[*layer.parameters()] for layer in net if isinstance(layer, nn.Linear)]
        layers[0][0].requires_grad_(False)
        groups = [{"params": x, "lr": 0.1 * i} for i, x in enumerate(layers, 1)]
        opt = optgen.torch.LAMB(groups, donate_grads=k == 0)
        seen: list[Any] = []
        opt.register_step_pre_hook(lambda *_, net=net, seen=seen: seen.append([p.grad for p in net.parameters()]))
        steps(net, opt, lambda k, net=net, opt=opt: opt.step(lambda: opt.zero_grad() or backward(net, k)))
        assert [x is None for x in seen[-1]] == [True] + [False] * 4
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for factor in (1.0, float("inf"), 2.0):
            opt.zero_grad()
            scaler.scale(net(torch.ones(2, 5)).sum() * factor).backward()
            scaler.step(opt)
            assert (net[-1].weight.grad is None) == (opt.donate_grads and factor < 9)
            scaler.update()
    assert same(*networks)


def test_parameters_whose_memory_is_looked_at_otherwise() -> None:
    """Views, copies, complex numbers, and gradients that do not lie like their parameters."""
    torch.manual_seed(0)
    values = [
        torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last), torch.randn(40, 30).t(),
        torch.randn(30, 80)[:, ::2], torch.randn(20, 50, dtype=torch.complex64), torch.randn(30, 31),
    ]  # fmt: skip
    results = []
    for donate in (False, True):
        params = [nn.Parameter(x.clone(memory_format=torch.preserve_format)) for x in values]
        params[2] = nn.Parameter(values[2].repeat_interleave(2, 1)[:, ::2])
        opt = optgen.torch.LAMB(params, donate_grads=donate, lr=0.1)
        for k in range(3):
            for p in params:
                p.grad = torch.full_like(p, 0.5 + k).cumsum(-1)
            params[-1].grad = params[-1].grad.t().contiguous().t()
            opt.step()
        results.append(params)
    assert all(p.equal(q) for p, q in zip(*results, strict=True))
    assert all(p.grad is None for p in results[1])


def test_shards() -> None:
    """A DTensor's gradient is one, too; here one process has all of it."""
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = dist.init_device_mesh("cpu", (1,))
        plain, whole = nn.Parameter(torch.ones(300, 7)), torch.ones(300, 7)
        sharded = nn.Parameter(distribute_tensor(whole, mesh, [Shard(0)]))
        for p in (plain, sharded):
            opt = optgen.torch.LAMB([p], lr=0.1, donate_grads=p is sharded)
            for _ in range(2):
                opt.zero_grad()
                (p * p).sum().backward()
                opt.step()
        assert sharded.grad is None and sharded.full_tensor().equal(plain)
    finally:
        dist.destroy_process_group()


def test_copies_keep_it() -> None:
    opt = optgen.torch.LAMB([nn.Parameter(torch.ones(3))], donate_grads=True)
    assert copy.deepcopy(opt).donate_grads and pickle.loads(pickle.dumps(opt)).donate_grads
    other = optgen.torch.replace(torch.optim.Adam([nn.Parameter(torch.ones(3))]))
    assert not other.donate_grads and "donate_grads" not in opt.state_dict()["param_groups"][0]


def test_what_is_refused() -> None:
    p, half = nn.Parameter(torch.ones(40)), nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="LAMB: donate_grads=True with in_backward=True: within backward"):
        optgen.torch.LAMB([p], donate_grads=True, in_backward=True)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0, of shape .*: donate_grads: gradients are bfloat16"):
        optgen.torch.AdamW([half], donate_grads=True)
    opt = optgen.torch.LAMB([("weight", p)], donate_grads=True)
    with pytest.raises(ValueError, match="'other': donate_grads: gradients are bfloat16, and a step computes"):
        opt.add_param_group({"params": [("other", half)]})
    assert len(opt.param_groups) == 1
    table = nn.Embedding(9, 4, sparse=True)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match=r"gradient of parameter 0 .* row-sparse; donate_grads gives away the memory"):
        optgen.torch.Lion(table.parameters(), donate_grads=True).step()
    q = nn.Parameter(torch.ones(40))
    opt = optgen.torch.LAMB([p, q], donate_grads=True)
    p.grad = q.grad = torch.ones(40)
    with pytest.raises(ValueError, match=r"the gradient of parameter 0 .* and the gradient of parameter 1 .* share"):
        opt.step()
    assert p.equal(torch.ones(40)) and p.grad.equal(torch.ones(40))
