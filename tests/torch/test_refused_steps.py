"""A step that is refused changes nothing: no weight, state or count of any group."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from optgen.torch.base import SpecOptimizer
from tests.torch.params import params_of

FLOAT, HALF = torch.float32, torch.bfloat16


def made(name: str, kinds: tuple[torch.dtype, ...]) -> SpecOptimizer:
    """An optimizer of a parameter for each dtype: in groups of their own, or in one if the dtypes differ."""
    params = [Parameter(torch.linspace(-1, 1, 12).view(4, 3).to(kind)) for kind in kinds]
    groups = [{"params": [p]} for p in params] if kinds[0] == kinds[1] else params
    values = {"SGD": {"momentum": 0.9, "dampening": 0.5}}.get(name, {})
    return getattr(optgen.torch, name)(groups, lr=0.1, **values)  # type: ignore[no-any-return]


def set_gradients(opt: torch.optim.Optimizer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for p in params_of(opt):
        p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)


def content(opt: torch.optim.Optimizer) -> list[Any]:
    """Weights and states, each as it is."""
    found = copy.deepcopy([*params_of(opt), *opt.state_dict()["state"].items()])
    return [x.detach() if isinstance(x, torch.Tensor) else x for x in found]


def freed(x: torch.Tensor) -> torch.Tensor:
    x.untyped_storage().resize_(0)
    return x


BAD_GRADIENTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the parameter itself": lambda p: p.detach(),
    "freed": lambda p: freed(p.detach().clone()),
}


@pytest.mark.parametrize("bad", BAD_GRADIENTS)
@pytest.mark.parametrize("kinds", [(FLOAT, FLOAT), (FLOAT, HALF)])
@pytest.mark.parametrize("steps_before", [0, 2])
@pytest.mark.parametrize("name", ["Lion", "SGD", "AdamW", "DAdaptAdam"])
def test_by_a_gradient_of_the_last_parameter(
    name: str, steps_before: int, kinds: tuple[torch.dtype, ...], bad: str
) -> None:
    """In another group or, of another dtype, in the same one; the next step is as if there had been no refused one."""
    if name == "DAdaptAdam" and kinds == (FLOAT, HALF):
        return  # which has one dtype for all
    opt, other = made(name, kinds), made(name, kinds)
    for k in range(steps_before):
        for one in (opt, other):
            set_gradients(one, k)
            one.step()
    before = content(opt)
    set_gradients(opt, 7)
    last = params_of(opt)[-1]
    last.grad = BAD_GRADIENTS[bad](last)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=r"parameter 0 of group 1|parameter 1 of group 0"):
            opt.step()
        torch.testing.assert_close(content(opt), before, rtol=0, atol=0)
    for one in (opt, other):
        set_gradients(one, 9)
        one.step()
    torch.testing.assert_close(content(opt), content(other), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["AdamW", "SparseAdam"])
@pytest.mark.parametrize("steps_before", [0, 1])
def test_by_a_gradient_of_the_wrong_layout(name: str, steps_before: int) -> None:
    """AdamW takes no sparse gradients, and SparseAdam no dense ones."""
    opt, other = made(name, (FLOAT, FLOAT)), made(name, (FLOAT, FLOAT))

    def sparse(p: Parameter) -> None:
        assert p.grad is not None
        p.grad = p.grad.to_sparse(1)

    def step(one: SpecOptimizer, seed: int) -> None:
        set_gradients(one, seed)
        if name == "SparseAdam":
            list(map(sparse, params_of(one)))
        one.step()

    for k in range(steps_before):
        step(opt, k)
        step(other, k)
    before = content(opt)
    set_gradients(opt, 7)
    sparse(params_of(opt)[1 if name == "AdamW" else 0])
    with pytest.raises(RuntimeError, match=r"AdamW? does not support"):
        opt.step()
    torch.testing.assert_close(content(opt), before, rtol=0, atol=0)
    step(opt, 9)
    step(other, 9)
    torch.testing.assert_close(content(opt), content(other), rtol=0, atol=0)
