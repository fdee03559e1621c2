"""Parameters whose memory, dtype or shape changes between steps, or comes only after the optimizer was made."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import Conv2d, Linear, Parameter

import optgen
import optgen.torch
from tests.torch.params import numbers, step

LION = optgen.torch.Lion


def test_memory_that_changes_between_steps() -> None:
    """`p.data = ...`, other dtypes and layouts, storage that was freed and allocated again."""
    model, twin = (torch.nn.Sequential(Conv2d(3, 4, 3), Conv2d(4, 2, 3)) for _ in range(2))
    twin.load_state_dict(model.state_dict())
    opt, plain = LION(model.parameters(), lr=0.01), LION(twin.parameters(), lr=0.01)

    def both(k: int) -> None:
        for p, q in zip(model.parameters(), twin.parameters(), strict=True):
            q.grad = numbers(q.shape, k)
            p.grad = torch.empty_like(p).copy_(q.grad).detach()
        opt.step()
        plain.step()
        for p, q in zip(model.parameters(), twin.parameters(), strict=True):
            assert torch.equal(p, q)

    both(0)
    for p in model.parameters():
        p.data = p.data.clone()
    both(1)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    assert not model[0].weight.is_contiguous()
    both(2)
    for p in model.parameters():
        storage, content = p.untyped_storage(), p.detach().clone()
        size = storage.nbytes()
        storage.resize_(0)
        storage.resize_(size)
        p.data.copy_(content)
    both(3)
    model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    both(4)
    model.double().float()
    both(5)
    assert all(opt.state[p]["step"] == 6 for p in model.parameters())


def test_a_module_that_gets_another_dtype() -> None:
    """States go on in the dtype that the new parameters have them in."""
    model = Linear(3, 2)
    opt = LION(model.parameters(), lr=0.01)
    step(opt)
    for dtype in (torch.float64, torch.bfloat16, torch.float32):
        model.to(dtype)
        m = opt.state[model.weight]["m"].clone()
        before = model.weight.detach().clone()
        opt.param_groups[0]["betas"] = (0.0, 0.5)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        opt.step()
        kept = opt.state[model.weight]
        assert kept["m"].dtype == dtype
        torch.testing.assert_close(kept["m"], (m * 0.5).to(dtype))
        assert torch.equal(model.weight, before) and model.weight.dtype == dtype
    assert kept["step"] == 4


def test_meta_parameters_that_get_memory_later() -> None:
    with torch.device("meta"):
        model = Linear(3, 2)
    params = list(model.parameters())
    opt = LION(params, lr=0.1)
    assert not opt.state
    for p in params:
        torch.utils.swap_tensors(p, Parameter(torch.ones(p.shape)))
    step(opt)
    assert all((p != 1).all() and opt.state[p]["m"].device.type == "cpu" for p in params)


def test_parameters_that_are_frozen_have_no_states_until_they_are_trained() -> None:
    model = torch.nn.Sequential(Linear(3, 2), Linear(2, 2))
    model[0].requires_grad_(False)
    opt = LION(model.parameters(), lr=0.1)
    assert len(opt.state) == 2
    model(torch.ones(1, 3)).sum().backward()
    opt.step()
    assert [p in opt.state for p in model.parameters()] == [False, False, True, True]
    model[0].requires_grad_()
    opt.zero_grad()
    model(torch.ones(1, 3)).sum().backward()
    opt.step()
    assert [int(opt.state[p]["step"]) for p in model.parameters()] == [1, 1, 2, 2]


def test_parameters_that_get_their_shape_from_the_first_batch() -> None:
    model = torch.nn.LazyLinear(2)
    opt = LION(model.parameters(), lr=0.1)
    model(torch.ones(3, 4)).sum().backward()
    opt.step()
    assert opt.state[model.weight]["m"].shape == (2, 4) and opt.state[model.weight]["step"] == 1


@pytest.mark.parametrize("name", ["Lion", "Adam", "Adafactor", "Prodigy"])
@pytest.mark.parametrize("freed", [False, True])
def test_a_parameter_without_memory_and_gradient_waits(name: str, freed: bool) -> None:
    """As it is offloaded: its storage is freed, or another one without elements takes its place."""
    made = [[Parameter(numbers((4, 3), k)) for k in range(2)] for _ in range(2)]
    opt, plain = (getattr(optgen.torch, name)(params, lr=0.01) for params in made)
    for k in range(4):
        for params in made:
            for i, p in enumerate(params):
                p.grad = numbers((4, 3), 10 * k + i) if i or k in (0, 3) else None
        away, content = made[0][0], made[0][0].detach().clone()
        if k in (1, 2) and freed:
            away.untyped_storage().resize_(0)
        elif k in (1, 2):
            away.data = torch.empty(0)
        opt.step()
        plain.step()
        if k in (1, 2) and freed:
            away.untyped_storage().resize_(content.nbytes)
            away.data.copy_(content)
        elif k in (1, 2):
            away.data = content
        assert all(map(torch.equal, *made))
    assert [kept["step"] for kept in opt.state.values()] == [kept["step"] for kept in plain.state.values()]


@pytest.mark.parametrize("name", ["Lion", "Prodigy"])
def test_a_parameter_that_is_freed_when_its_optimizer_is_made(name: str) -> None:
    """It has its states at the first step, as they are of the weights that come back."""
    p, q = Parameter(numbers((4, 3))), Parameter(numbers((4, 3)))
    size = p.untyped_storage().nbytes()
    p.untyped_storage().resize_(0)
    opt, plain = (getattr(optgen.torch, name)([w], lr=0.01) for w in (p, q))
    p.untyped_storage().resize_(size)
    p.data.copy_(q.data)
    for k in range(2):
        step(opt, k)
        step(plain, k)
    assert torch.equal(p, q)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn_x2"])
@pytest.mark.parametrize("name", ["Lion", "Adam", "SGD"])
def test_frozen_parameters_may_have_any_dtype(name: str, kind: str) -> None:
    dtype = getattr(torch, kind, None)
    if dtype is None:
        pytest.skip(f"this PyTorch has no {kind}")
    first, second = (Parameter(torch.zeros(4, dtype=torch.uint8).view(dtype), requires_grad=False) for _ in range(2))
    trained = Parameter(torch.ones(4))
    opt = getattr(optgen.torch, name)([first, trained], lr=0.1)
    opt.add_param_group({"params": [second]})
    trained.grad = torch.ones(4)
    opt.step()
    opt.load_state_dict(opt.state_dict())
    opt.step()
    assert (trained < 0.9).all() and first not in opt.state


@pytest.mark.parametrize("name", ["Lion", "SGD"])
def test_shared_memory_is_told_of_at_construction(name: str) -> None:
    """What the step then refuses; parts of a whole without overlaps, frozen ones, and those with gaps are no such."""
    make, whole = getattr(optgen.torch, name), torch.ones(8)
    shared = [Parameter(torch.ones(2)), Parameter(whole[:4]), Parameter(whole[3:])]
    with pytest.warns(UserWarning, match=rf"^{name}: parameter 1 of group 0, .* and parameter 2 .* share memory"):
        opt = make(shared, lr=0.1)
    for p in shared:
        p.grad = torch.ones_like(p)
    with pytest.raises(ValueError, match="share memory"):
        opt.step()
    table, empty = torch.ones(4, 2), torch.ones(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt = make([Parameter(whole[:4]), Parameter(whole[4:]), Parameter(table[:, 0]), Parameter(table[:, 1])])
        opt.add_param_group({"params": [Parameter(empty), Parameter(empty)]})
        opt.add_param_group({"params": [Parameter(whole, requires_grad=False), Parameter(whole, requires_grad=False)]})


@pytest.mark.parametrize("how", [{}, {"in_backward": True}, {"clip_norm": 1.0}])
@pytest.mark.parametrize("steps_before", [0, 1])
def test_no_step_under_fake_tensor_mode(steps_before: int, how: dict[str, Any]) -> None:
    """Which writes no weight that is real, and is refused in words where parameters are fake, too."""
    p = Parameter(torch.ones(4))
    opt = LION([p], lr=0.1, **how)
    for _ in range(steps_before):
        p.grad = torch.ones(4)
        opt.step()
    before = p.detach().clone()
    p.grad = torch.ones(4)
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(RuntimeError, match="Lion: a step under Fake"):
        opt.step()
    assert torch.equal(p, before) and opt.state[p]["step"] == steps_before
    p.grad = torch.ones(4)
    opt.step()
    assert (p < before).all()
    with FakeTensorMode():
        q = Parameter(torch.ones(4))
        fake = LION([q], **how)
        q.grad = torch.ones(4)
        with pytest.raises(RuntimeError, match="Lion: a step under FakeTensorMode"):
            fake.step()
