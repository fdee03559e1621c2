"""in_backward: the same numbers as a step after backward, with each gradient freed as soon as it is used."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import Shard, distribute_tensor
from torch.multiprocessing.reductions import StorageWeakRef

import optgen.torch
from optgen import specfiles
from optgen.torch import optimizer
from tests.process import run

ROOT = Path(__file__).parents[2]

PARSED = {name: optgen.load(name).spec for name in specfiles.available()}
SPECS = [name for name, spec in PARSED.items() if not (spec.joins_params or spec.inputs or spec.phases)]


def network(bias: bool = True) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Linear(5, 12, bias=bias), nn.Linear(12, 12, bias=bias), nn.Linear(12, 3, bias=False)]
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def backward(net: nn.Module, step: int) -> torch.Tensor:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(step))
    loss = net(x.to(next(net.parameters()).dtype)).square().sum()
    loss.backward()
    return loss


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(p.equal(q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("name", SPECS)
def test_same_bits_as_steps(name: str) -> None:
    """Every spec that does not sum over parameters, with draws and reductions, and a rate that is scheduled."""
    networks = [network(bias=name != "groupadagrad") for _ in range(2)]  # which updates matrices
    opts = [optimizer(name)(net.parameters(), lr=0.01, seed=3, in_backward=k == 0) for k, net in enumerate(networks)]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(opt, 0.5) for opt in opts]
    for k in range(3):
        for net, opt, schedule in zip(networks, opts, schedules, strict=True):
            opt.zero_grad()
            backward(net, k)
            opt.step()
            schedule.step()
        assert all(p.grad is None for p in networks[0].parameters())
        assert same(*networks)
    ours, theirs = (opt.state_dict() for opt in opts)
    torch.testing.assert_close(ours["state"], theirs["state"], rtol=0, atol=0)
    assert ours["param_groups"] == theirs["param_groups"]


def test_each_gradient_is_freed_before_the_next_layer() -> None:
    """At most one gradient is there whenever a layer has made its own."""
    net = network()
    opt = optgen.torch.Lion(net.parameters(), in_backward=True)
    found = []
    for layer in list(net)[1:]:
        layer.register_full_backward_hook(lambda *_: found.append(sum(p.grad is not None for p in net.parameters())))
    backward(net, 0)
    opt.step()
    assert len(found) == 4 and max(found) <= 1


LAYOUTS: dict[str, Callable[[], torch.Tensor]] = {
    "contiguous": lambda: torch.randn(8, 8, 3, 3),
    "channels_last": lambda: torch.randn(8, 8, 3, 3).to(memory_format=torch.channels_last),
    "complex": lambda: torch.randn(8, 8, dtype=torch.complex64),
    "with gaps": lambda: torch.randn(8, 16)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_of_gradients_is_free_after_backward(layout: str) -> None:
    """Nothing of a step holds a gradient, in whatever way it was read."""
    p = nn.Parameter(LAYOUTS[layout]())
    memory = []
    p.register_post_accumulate_grad_hook(lambda p: memory.append(StorageWeakRef(p.grad.untyped_storage())))
    opt = optimizer("adam")([p], in_backward=True)
    for _ in range(3):
        p.abs().square().sum().backward()
        assert memory[-1].expired()
    assert opt.state[p]["step"] == 3


PEAK = """
import os
import torch
import optgen.torch

for in_backward in (False, True):
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        continue
    layers = [torch.nn.Linear(1024, 1024, bias=False) for _ in range(20)]
    net = torch.nn.Sequential(*layers)
    opt = optgen.torch.Lion(net.parameters(), in_backward=in_backward)
    for _ in range(2):
        net(torch.ones(1, 1024)).sum().backward()
        opt.step()
        opt.zero_grad()
    with open("/proc/self/status") as lines:
        print(next(line for line in lines if line.startswith("VmHWM")).split()[1], flush=True)
    os._exit(0)
"""


def test_peak_memory_of_twenty_layers() -> None:
    """Gradients of 80 MiB are never there together: the process is smaller by most of that. Both are forks of one,
    which imports PyTorch once."""
    # Blocks of a gradient's size go back to the system when they are freed. VmHWM is in KiB; `ru_maxrss` would
    # count the memory of the process that starts this one, too.
    env = {"MALLOC_MMAP_THRESHOLD_": "1000000", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = run([sys.executable, "-c", PEAK], timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    after, within = (int(peak) / 1024 for peak in done.stdout.split())
    assert after - within > 50


def test_step_runs_hooks_and_closures() -> None:
    """A closure's backward updates; its loss is returned; the hooks run once a step, the profiler sees it."""
    early, late = network(), network()
    called = []
    for net, opt in [(net, optimizer("adam")(net.parameters(), in_backward=net is early)) for net in (early, late)]:
        opt.register_step_pre_hook(lambda *_: called.append("before"))
        opt.register_step_post_hook(lambda *_: called.append("after"))
        losses = [opt.step(lambda net=net, opt=opt: (opt.zero_grad(), backward(net, 1))[1]) for _ in range(2)]
        assert losses[1] < losses[0]
    assert called == ["before", "after"] * 4
    assert same(early, late)


def test_each_backward_updates() -> None:
    """As in PyTorch's recipe: gradients of several passes are not summed, each is an update."""
    early, late = network(), network()
    now = optimizer("adam")(early.parameters(), in_backward=True)
    after = optimizer("adam")(late.parameters())
    for k in range(3):
        backward(early, k)
        backward(late, k)
        after.step()
        after.zero_grad()
    now.step()
    assert same(early, late)
    assert all(now.state[p]["step"] == 3 for p in early.parameters())


def test_gradients_that_no_backward_made_wait_for_the_step() -> None:
    p = nn.Parameter(torch.ones(3))
    opt = optimizer("sgd")([p], lr=0.5, in_backward=True)
    p.grad = torch.ones(3)
    opt.step()
    assert p.tolist() == [0.5] * 3 and p.grad is None


def test_groups_and_parameters_that_come_later() -> None:
    """Values changed between steps, an added group, a parameter that requires a gradient later, a replaced one."""
    early, late = network(), network()
    opts = []
    for net in (early, late):
        first, _, second, _, third = net
        second.weight.requires_grad_(False)
        opts.append(optimizer("adam")([*first.parameters(), *second.parameters()], in_backward=net is early))
        opts[-1].add_param_group({"params": list(third.parameters()), "lr": 0.5})
    for k in range(5):
        for net, opt in zip((early, late), opts, strict=True):
            if k == 1:
                opt.param_groups[0]["lr"] = 0.25
                opt.param_groups[1]["eps"] = 0.125
            if k == 2:
                net[2].weight.requires_grad_(True)
            if k == 3:
                old = net[4].weight
                net[4].weight = new = nn.Parameter(old.detach().clone())
                opt.param_groups[1]["params"][0] = new
                opt.state[new] = opt.state.pop(old)
            backward(net, k)
            opt.step()
            opt.zero_grad()
        assert same(early, late), k
    assert opts[0].state[early[4].weight]["step"] == 5


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_update_their_own_parameters(way: Callable[[Any], Any]) -> None:
    net = network()
    opt = optimizer("adam")(net.parameters(), in_backward=True)
    backward(net, 0)
    other, own = way((net, opt))
    backward(other, 1)
    assert not same(net, other)
    backward(net, 1)
    assert same(net, other)
    assert [own.state[p]["step"].item() for p in other.parameters()] == [2] * 5


def test_a_loaded_state_is_gone_on_with() -> None:
    net = network()
    opt = optimizer("adam")(net.parameters(), in_backward=True)
    backward(net, 0)
    other = copy.deepcopy(net)
    own = optimizer("adam")(other.parameters(), in_backward=True)
    own.load_state_dict(opt.state_dict())
    backward(net, 1)
    backward(other, 1)
    assert same(net, other)  # updated once, not by the hooks from before loading as well


def test_hooks_go_with_the_optimizer() -> None:
    net = network()
    first = optimizer("sgd")(net.parameters(), in_backward=True)
    backward(net, 0)
    gone = weakref.ref(first)
    gc.disable()
    try:
        del first
        assert gone() is None
    finally:
        gc.enable()
    before = copy.deepcopy(net)
    backward(net, 1)
    assert same(net, before) and all(p.grad is not None for p in net.parameters())


def test_sparse_gradients() -> None:
    index, weights = torch.tensor([1, 3, 1]), []
    for in_backward in (True, False):
        torch.manual_seed(0)
        table = nn.Embedding(6, 3, sparse=True)
        opt = optimizer("adam")(table.parameters(), in_backward=in_backward)
        for _ in range(3):
            table(index).square().sum().backward()
            assert (table.weight.grad is None) == in_backward
            opt.step()
            opt.zero_grad()
        weights.append(table.weight)
    assert weights[0].equal(weights[1])


def test_tensors_that_a_graph_still_needs_are_not_changed_silently() -> None:
    net = network()
    opt = optimizer("sgd")(net.parameters(), in_backward=True)
    loss = net(torch.ones(2, 5)).square().sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    opt.step()


def test_what_needs_all_gradients_is_refused() -> None:
    net = network()
    with pytest.raises(ValueError, match="Lion: in_backward=True with clip_norm=1: the norm of all gradients"):
        optgen.torch.Lion(net.parameters(), in_backward=True, clip_norm=1.0)
    with pytest.raises(ValueError, match="Prodigy: in_backward=True, but Prodigy shares values between all parameters"):
        optgen.torch.Prodigy(net.parameters(), in_backward=True)
    opt = optgen.torch.Lion(net.parameters(), in_backward=True)
    opt.clip_norm = 2.0
    with pytest.raises(ValueError, match="clip_norm=2"):
        opt.step()


@pytest.mark.parametrize("unscale", [False, True])
def test_grad_scaler_is_refused(unscale: bool) -> None:
    net = network()
    opt = optgen.torch.Lion(net.parameters(), in_backward=True)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(net(torch.ones(2, 5)).sum()).backward()
    if unscale:
        scaler.unscale_(opt)
    with pytest.raises(RuntimeError, match="Lion: in_backward=True with a GradScaler"):
        scaler.step(opt)
    off = torch.amp.GradScaler("cpu", enabled=False)
    opt = optgen.torch.Lion(net.parameters(), in_backward=True)
    off.scale(net(torch.ones(2, 5)).sum()).backward()
    off.step(opt)


def test_shards_are_refused_where_they_are_summed(tmp_path: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        p = nn.Parameter(distribute_tensor(torch.ones(4, 3), dist.init_device_mesh("cpu", (1,)), [Shard(0)]))
        with pytest.raises(
            ValueError, match=r"LAMB: in_backward=True, but params\[0\] is a shard \(S\(0\)\), and LAMB"
        ):
            optgen.torch.LAMB([p], in_backward=True)
    finally:
        dist.destroy_process_group()
