"""What PyTorch asks of an optimizer: closures, hooks, profiles, schedulers, averages, graphs, processes."""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict
from torch.distributed.fsdp import fully_shard
from torch.nn import Linear, Parameter
from torch.optim import lr_scheduler as schedulers
from torch.optim import swa_utils
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer
from tests.torch.needs import needs_fsdp_on_cpus
from tests.torch.params import params_of

LION = optgen.torch.Lion


def weights() -> list[Parameter]:
    return [Parameter(torch.arange(12.0).reshape(4, 3)), Parameter(torch.ones(5))]


def lion(**kwargs: Any) -> SpecOptimizer:
    """An optimizer whose parameters have gradients."""
    params = weights()
    for p in params:
        p.grad = torch.cos(p.detach())
    return LION(params, **{"lr": 0.1, **kwargs})  # type: ignore[no-any-return]


# ---------------------------------------------------------------- step, closure, hooks


def test_a_closure_computes_gradients_and_its_loss_is_returned() -> None:
    torch.manual_seed(0)
    model = Linear(3, 1)
    opt = LION(model.parameters(), lr=0.01)

    def closure() -> torch.Tensor:
        assert torch.is_grad_enabled()
        opt.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
        return loss

    with torch.no_grad():
        losses = [opt.step(closure).item() for _ in range(3)]
    assert losses[2] < losses[0] and opt.step() is None
    assert opt.step(closure=closure).item() < losses[2]


def test_hooks_see_the_call_in_order_and_may_change_it() -> None:
    opt, seen = lion(), []

    def note(name: str) -> Callable[..., None]:
        return lambda hooked, args, kwargs: seen.append((name, hooked is opt, args, kwargs, int(count())))

    def count() -> torch.Tensor:
        return opt.state[params_of(opt)[0]]["step"]  # type: ignore[no-any-return]

    handles = [
        register_optimizer_step_pre_hook(note("all before")),
        opt.register_step_pre_hook(note("before")),
        opt.register_step_post_hook(note("after")),
        register_optimizer_step_post_hook(note("all after")),
    ]
    closure = lambda: 7.0  # noqa: E731
    opt.step()
    assert [(name, own, n) for name, own, _, _, n in seen] == [
        ("all before", True, 0), ("before", True, 0), ("after", True, 1), ("all after", True, 1)
    ]  # fmt: skip
    seen.clear()
    assert opt.step(closure) == 7.0
    assert all(args == (opt, closure) and kwargs == {} for _, _, args, kwargs, _ in seen)
    seen.clear()
    opt.step(closure=closure)
    assert all(args == (opt,) and kwargs == {"closure": closure} for _, _, args, kwargs, _ in seen)
    for handle in handles:
        handle.remove()
    seen.clear()
    opt.register_step_pre_hook(lambda hooked, args, kwargs: ((hooked, lambda: 9.0), {}))
    assert opt.step() == 9.0 and not seen
    opt.register_step_pre_hook(lambda hooked, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        opt.step()


def test_a_step_of_a_subclass_gets_hooks_too() -> None:
    class Mine(LION):  # type: ignore[misc, valid-type]
        def step(self, closure: Any = None) -> Any:
            self.steps = getattr(self, "steps", 0) + 1
            return super().step(closure)

    opt = Mine(weights())
    for p in params_of(opt):
        p.grad = torch.ones_like(p)
    opt.step()
    assert opt.steps == 1 and opt.state[params_of(opt)[0]]["step"] == 1


def test_names_in_profiles() -> None:
    opt = lion()
    with torch.profiler.profile() as profile:
        opt.step()
        opt.zero_grad()
    names = {event.key for event in profile.key_averages()}
    assert {"Optimizer.step#Lion.step", "Optimizer.zero_grad#Lion.zero_grad"} <= names


def test_zero_grad() -> None:
    opt = lion()
    opt.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in params_of(opt))
    opt.zero_grad()
    assert all(p.grad is None for p in params_of(opt))
    before = [p.detach().clone() for p in params_of(opt)]
    opt.step()
    assert all(map(torch.equal, before, params_of(opt)))
    assert all(kept["step"] == 0 for kept in opt.state.values())


def test_backward_through_a_weight_that_a_step_changed_is_refused() -> None:
    opt = lion()
    w = params_of(opt)[0]
    loss = (w * w).sum()
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_optimizer_is_freed_with_its_last_reference() -> None:
    opt = lion()
    opt.step()
    params = params_of(opt)
    freed = weakref.ref(opt)
    del opt
    assert freed() is None and params


# ---------------------------------------------------------------- schedulers and averages


def chained(opt: Any) -> Any:
    return schedulers.ChainedScheduler([schedulers.ConstantLR(opt, 0.5, 3), schedulers.ExponentialLR(opt, 0.9)])


def sequential(opt: Any) -> Any:
    return schedulers.SequentialLR(opt, [schedulers.LinearLR(opt, 0.1, 1.0, 3), schedulers.StepLR(opt, 2)], [3])


SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "LambdaLR": lambda opt: schedulers.LambdaLR(opt, lambda k: 0.9**k),
    "MultiplicativeLR": lambda opt: schedulers.MultiplicativeLR(opt, lambda k: 0.9),
    "StepLR": lambda opt: schedulers.StepLR(opt, 2),
    "MultiStepLR": lambda opt: schedulers.MultiStepLR(opt, [2, 4]),
    "ConstantLR": lambda opt: schedulers.ConstantLR(opt, 0.5, 3),
    "LinearLR": lambda opt: schedulers.LinearLR(opt, 0.1, 1.0, 4),
    "ExponentialLR": lambda opt: schedulers.ExponentialLR(opt, 0.9),
    "SequentialLR": sequential,
    "CosineAnnealingLR": lambda opt: schedulers.CosineAnnealingLR(opt, 5),
    "ChainedScheduler": chained,
    "ReduceLROnPlateau": lambda opt: schedulers.ReduceLROnPlateau(opt, patience=0),
    "CyclicLR": lambda opt: schedulers.CyclicLR(opt, 0.01, 0.1, step_size_up=2),
    "CosineAnnealingWarmRestarts": lambda opt: schedulers.CosineAnnealingWarmRestarts(opt, 2),
    "OneCycleLR": lambda opt: schedulers.OneCycleLR(opt, 0.1, total_steps=8),
    "PolynomialLR": lambda opt: schedulers.PolynomialLR(opt, 5),
    "SWALR": lambda opt: swa_utils.SWALR(opt, 0.05, anneal_epochs=3),
}


def test_every_scheduler_is_here() -> None:
    found = {name for name in schedulers.__all__ if name != "LRScheduler"}
    assert found <= SCHEDULERS.keys()


@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name: str, tensors: bool) -> None:
    """Rates and momenta are those that PyTorch's AdamW gets, and each step uses them."""
    rate = torch.tensor(0.1, dtype=torch.float64) if tensors else 0.1
    ours = optimizer("adamw")(weights(), lr=rate, betas=(0.9, 0.999))
    theirs = torch.optim.AdamW(weights(), lr=copy.deepcopy(rate), betas=(0.9, 0.999), foreach=False)
    pair = ours, theirs
    both = [SCHEDULERS[name](opt) for opt in pair]
    plain = optimizer("adamw")(weights())
    for k in range(7):
        for opt in (*pair, plain):
            for p in params_of(opt):
                p.grad = torch.cos(p.detach() + k)
        for key in ("lr", "betas"):
            x, y = (opt.param_groups[0][key] for opt in pair)
            assert x == y, (k, key)
            plain.param_groups[0][key] = float(x) if key == "lr" else tuple(map(float, x))
        for opt in (*pair, plain):
            opt.step()
        assert all(map(torch.equal, params_of(ours), params_of(plain)))
        for scheduler in both:
            scheduler.step(1.0) if name == "ReduceLROnPlateau" else scheduler.step()
    again = SCHEDULERS[name](ours)
    again.load_state_dict(both[0].state_dict())


def test_one_cycle_turns_momentum_where_there_is_one() -> None:
    opt = optimizer("nag")(weights(), lr=0.1, momentum=0.9)
    scheduler = schedulers.OneCycleLR(opt, 0.1, total_steps=4, base_momentum=0.8, max_momentum=0.95)
    for _ in range(3):
        for p in params_of(opt):
            p.grad = torch.ones_like(p)
        opt.step()
        scheduler.step()
    assert opt.param_groups[0]["momentum"] == pytest.approx(0.95)


def test_averaged_models() -> None:
    model = torch.nn.Sequential(Linear(3, 4), torch.nn.BatchNorm1d(4), Linear(4, 1))
    opt = LION(model.parameters(), lr=0.01)
    averaged = swa_utils.AveragedModel(model)
    data = [torch.randn(8, 3) for _ in range(4)]
    for x in data:
        opt.zero_grad()
        model(x).square().sum().backward()
        opt.step()
        averaged.update_parameters(model)
    swa_utils.update_bn(data, averaged)
    assert averaged.n_averaged == 4
    assert not torch.equal(averaged.module[0].weight, model[0].weight)


# ---------------------------------------------------------------- graphs and processes


def test_what_others_put_around_pytorchs_methods_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    class Mixin(torch.optim.Optimizer):
        def zero_grad(self, set_to_none: bool = True) -> None:
            called.append("mixin")
            super().zero_grad(set_to_none)

    class Mixed(LION, Mixin):
        pass

    theirs = torch.optim.Optimizer.add_param_group

    def patched(self: Any, group: dict[str, Any]) -> None:
        called.append("patched")
        theirs(self, group)

    monkeypatch.setattr(torch.optim.Optimizer, "add_param_group", patched)
    optimizer = Mixed([Parameter(torch.ones(3))], lr=0.1)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(3)
    optimizer.zero_grad()
    assert called == ["patched", "mixin"] and optimizer.param_groups[0]["params"][0].grad is None


def test_a_compiled_train_step_has_no_warning_and_compiles_once() -> None:
    import torch._dynamo
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    model = Linear(4, 3)
    opt = LION(model.parameters(), lr=0.1)
    twin = copy.deepcopy(model)
    eager = LION(twin.parameters(), lr=0.1)

    def train(model: Any, opt: Any, x: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = model(x).square().sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    compiled = torch.compile(train, backend="eager")
    both = [schedulers.ExponentialLR(o, 0.9) for o in (opt, eager)]
    frames = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(5):
            x = torch.full((2, 4), k + 1.0)
            assert torch.equal(compiled(model, opt, x), train(twin, eager, x))
            frames.append(dict(counters["frames"]))
            for scheduler in both:
                scheduler.step()
    ours = [str(w.message) for w in caught if "optgen" in str(w.filename) + str(w.message)]
    assert not ours and frames[1] == frames[4]
    assert all(map(torch.equal, model.parameters(), twin.parameters()))
    torch._dynamo.reset()


def test_a_compiled_call_of_step_alone() -> None:
    import torch._dynamo

    torch._dynamo.reset()
    opt, eager = lion(), lion()
    compiled = torch.compile(lambda: opt.step(), backend="eager")
    for _ in range(3):
        compiled()
        eager.step()
    assert all(map(torch.equal, params_of(opt), params_of(eager)))
    torch._dynamo.reset()


@pytest.mark.parametrize("name", ["Lion", "Adam"])
def test_an_optimizer_is_made_within_a_compiled_function(name: str) -> None:
    import torch._dynamo

    def train(w: Parameter) -> Any:
        opt = getattr(optgen.torch, name)([w], lr=0.1, clip_norm=1.0)
        (w * w).sum().backward()
        opt.step()
        return opt

    torch._dynamo.reset()
    one, other = Parameter(torch.ones(4)), Parameter(torch.ones(4))
    compiled = torch.compile(train, backend="eager")
    for _ in range(2):
        made, eager = compiled(one), train(other)
        assert torch.equal(one, other) and str(made.state_dict()) == str(eager.state_dict())
        assert torch.equal(made.grad_norm, eager.grad_norm)
    torch._dynamo.reset()


def test_a_forked_child_steps() -> None:
    params = [Parameter(torch.ones(300_000))]  # enough for all threads
    opt = LION(params, lr=0.1)
    params[0].grad = torch.ones(300_000)
    opt.step()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 1
        try:
            opt.step()
            # With NumPy: PyTorch's own threads are not there in a child.
            code = 0 if np.allclose(params[0].detach().numpy(), 0.8) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert torch.allclose(params[0], torch.tensor(0.9))


def _step_and_send(opt: SpecOptimizer, pipe: Any) -> None:
    for p in params_of(opt):
        p.grad = torch.cos(p.detach())
    opt.step()
    pipe.send([p.detach().tolist() for p in params_of(opt)])


def test_an_optimizer_is_sent_to_a_spawned_process() -> None:
    opt = lion()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_step_and_send, args=(copy.deepcopy(opt), theirs))
    worker.start()
    assert ours.poll(100)
    found = ours.recv()
    worker.join()
    opt.step()
    for p, numbers in zip(params_of(opt), found, strict=True):
        assert torch.equal(p, torch.tensor(numbers))


@pytest.fixture
def one_process(tmp_path: Path) -> Iterator[None]:
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("one_process")
def test_zero_redundancy_optimizer() -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    params = weights()
    plain = lion(weight_decay=0.1)
    opt = ZeroRedundancyOptimizer(params, optimizer_class=LION, lr=0.1, weight_decay=0.1)
    for k in range(3):
        for o in (opt, plain):
            for p in params_of(o):
                p.grad = torch.cos(p.detach() + k)
            o.step()
        opt.param_groups[0]["lr"] = plain.param_groups[0]["lr"] = 0.05
    assert all(map(torch.equal, params, params_of(plain)))
    opt.consolidate_state_dict()
    saved = opt.state_dict()
    other = ZeroRedundancyOptimizer(weights(), optimizer_class=LION, lr=0.3)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.05
    assert torch.equal(other.optim.state[params_of(other)[0]]["m"], opt.optim.state[params[0]]["m"])


@needs_fsdp_on_cpus
@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("name", ["lion", "prodigy", "muon_adamw", "torch/adam"])
@pytest.mark.parametrize("steps_first", [False, True])
def test_parameters_that_are_sharded_after_the_optimizer_was_made(name: str, steps_first: bool) -> None:
    """As accelerate does for FSDP2: states of the unsharded ones go, and checkpoints have those of the DTensors."""
    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    net = torch.nn.Sequential(Linear(4, 3), Linear(3, 2))
    opt: Any = optimizer(name)(net.parameters(), lr=0.1)  # type: ignore[call-arg]
    names, before = [name for name, _ in net.named_parameters()], [weakref.ref(p) for p in net.parameters()]
    fully_shard(net, mesh=mesh)
    opt.param_groups[0]["params"] = [dict(net.named_parameters())[name] for name in names]
    if steps_first:
        net(torch.ones(2, 4)).sum().backward()
        opt.step()
    saved = copy.deepcopy(get_optimizer_state_dict(net, opt))  # which has the states themselves
    assert list(saved["state"]) == names and [ref() for ref in before] == [None] * 4
    assert list(opt.state) == opt.param_groups[0]["params"]
    net(torch.ones(2, 4)).sum().backward()
    opt.step()
    set_optimizer_state_dict(net, opt, saved)
    counts = [kept["step"] for kept in saved["state"].values()]
    assert [kept["step"] for kept in opt.state.values()] == counts
    assert name == "torch/adam" or counts == [steps_first] * 4, "PyTorch makes states by a step"


def test_states_of_parameters_that_left_their_group() -> None:
    """Those that were updated stay, for a parameter that comes back, and are in no state dict."""
    opt = lion()
    opt.step()
    first, second = params_of(opt)
    opt.param_groups[0]["params"] = [second]
    opt.step()
    assert opt.state[first]["step"] == 1 and list(opt.state_dict()["state"]) == [0]
    opt.param_groups[0]["params"] = [first, second]
    opt.step()
    assert [opt.state[p]["step"] for p in (first, second)] == [2, 3]


@pytest.mark.parametrize("name", ["adafactor", "came", "adammini", "torch/adafactor"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 1)])
def test_matrices_without_elements_step(name: str, shape: tuple[int, ...]) -> None:
    w, beside = torch.nn.Parameter(torch.zeros(shape)), torch.nn.Parameter(torch.ones(4, 4))
    opt: Any = optgen.torch.optimizer(name)([w, beside])  # type: ignore[call-arg]
    for _ in range(2):
        w.grad, beside.grad = torch.zeros(shape), torch.ones(4, 4)
        opt.step()
    assert opt.state[w]["step"] == 2
    assert (beside < 1).all()
