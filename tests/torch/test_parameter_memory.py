"""Parameters whose memory, dtype or shape changes between steps, or comes only after the optimizer was made."""

from __future__ import annotations

import torch
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
