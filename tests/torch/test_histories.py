"""Histories of specs in PyTorch: what `state[p]` holds, in state dicts and for parameters in other orders."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch.nn import Parameter

from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer

PAST = """
optimizer Past
param n: int = 3 in [2, inf)
state h[n]         = 0
state T[2]: tensor = 1
state R[2]: row    = 0
update:
  h' = g
  T' = t
  R' = max(g, per row)
  w' = w - lr*(h[-n] + 0.25*h[-1]) + 0.001*T[-2] + 0*R[-1]
"""


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> type[SpecOptimizer]:
    path: Path = tmp_path_factory.mktemp("past") / "past.opt"
    path.write_text(PAST)
    return optimizer(str(path))


def by_torch(w: torch.Tensor, grads: list[torch.Tensor], lr: float, n: int) -> torch.Tensor:
    """The equations of PAST, after as many updates as there are gradients."""
    for t, _ in enumerate(grads, 1):
        oldest, last = (grads[t - 1 - k] if t > k else torch.zeros_like(w) for k in (n, 1))
        w = w - lr * (oldest + 0.25 * last) + 0.001 * (t - 2 if t > 2 else 1)
    return w


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_steps_and_state_dicts(past: type[SpecOptimizer], order: torch.memory_format) -> None:
    torch.manual_seed(0)
    start = torch.randn(2, 3, 4, 5, dtype=torch.float64).to(memory_format=order)
    p = Parameter(start.clone(memory_format=torch.preserve_format))
    ours = past([p], lr=0.5, n=4)
    grads = [torch.randn_like(start) for _ in range(9)]
    for t, grad in enumerate(grads):
        if t == 5:  # goes on from a state dict
            saved, p = copy.deepcopy(ours.state_dict()), Parameter(p.detach().clone())
            ours = past([p], lr=0.5, n=4)
            ours.load_state_dict(saved)
        p.grad = grad.clone()
        ours.step()
    state = ours.state[p]
    assert (state["h"].shape, state["T"].shape, state["R"].shape) == ((4, 2, 3, 4, 5), (2,), (2, 2, 1, 1, 1))
    torch.testing.assert_close(state["h"], torch.stack([grads[8], *grads[5:8]]), rtol=0, atol=0)
    torch.testing.assert_close(state["R"][0].flatten(), grads[8].amax((1, 2, 3)), rtol=0, atol=0)
    torch.testing.assert_close(p.detach(), by_torch(start, grads, 0.5, 4))


def test_a_state_of_another_length_is_refused(past: type[SpecOptimizer]) -> None:
    p, q = (Parameter(torch.ones(3)) for _ in range(2))
    first, other = past([p], n=3), past([q], n=2)
    for x in (p, q):
        x.grad = torch.ones(3)
    first.step()
    other.load_state_dict(first.state_dict())
    other.param_groups[0]["n"] = 2
    what = r"of shape \(3,\): state\['h'\]: shape \(3, 3\), expected \(2, 3\); it follows from n = 2"
    with pytest.raises(ValueError, match=what):
        other.step()


def test_a_complex_parameter_has_pairs(past: type[SpecOptimizer]) -> None:
    p = Parameter(torch.ones(2, 3, dtype=torch.complex64))
    ours = past([p], lr=0.5)
    for k in range(3):
        p.grad = torch.full_like(p, k + 1j)
        ours.step()
    h = ours.state[p]["h"]
    assert h.shape == (3, 2, 3) and h.is_complex()
    assert h[:, 0, 0].tolist() == [1j, 1 + 1j, 2 + 1j]
