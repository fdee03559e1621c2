"""What goes through layers as inputs of specs: `capture`, beside sums over samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import optgen
import optgen.torch

SPEC = optgen.parse("""\
optimizer Factors "shows the factors"
input A: cols x cols
input G: rows x rows
state R: cols x cols = 0 for users
state L: rows x rows = 0 for users
update:
  R' = A
  L' = G
  w' = w - lr*g
""")


class Conv(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, (3, 2), stride=2, padding=1, dilation=(1, 2), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.conv(x)
        return found


def each_use(layer: Any, x: torch.Tensor, loss: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Activations and gradients of the loss of one sample after the other, (N, uses, columns) and (N, uses, rows)."""
    a, b = [], []
    for one in x.split(1):
        out = type(layer).forward(layer, one)  # without hooks
        (gradient,) = torch.autograd.grad(loss(out), out)
        if isinstance(layer, torch.nn.Conv2d):
            a.append(
                torch.nn.functional.unfold(one, layer.kernel_size, layer.dilation, layer.padding, layer.stride)[0].T
            )
            b.append(gradient[0].flatten(1).T)
        else:
            a.append(one.reshape(-1, one.shape[-1]))
            b.append(gradient.reshape(-1, gradient.shape[-1]))
    return torch.stack(a).double(), torch.stack(b).double()


@pytest.mark.parametrize("sharing", ["expand", "reduce"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("kind", ["linear", "tokens", "conv"])
def test_factors_are_means_over_samples(kind: str, reduction: str, sharing: str) -> None:
    torch.manual_seed(0)
    net: Any = Conv() if kind == "conv" else torch.nn.Linear(4, 3, bias=False)
    layer = net.conv if kind == "conv" else net
    shape = {"linear": (6, 4), "tokens": (6, 5, 4), "conv": (6, 2, 7, 8)}[kind]
    opt: Any = optgen.torch.optimizer(SPEC)(net.parameters(), lr=0.1)
    handle = opt.capture(net, sharing=sharing, loss=reduction)

    def loss(out: torch.Tensor) -> torch.Tensor:
        return out.square().flatten(1).sum(1).sum()

    for _ in range(2):
        batches = torch.randn(shape), torch.randn(shape)
        found = [each_use(layer, x, loss) for x in batches]
        a, b = (torch.cat(x) for x in zip(*found, strict=True))
        opt.zero_grad()
        for x in batches:  # gradients are summed over both
            value = loss(net(x))
            (value / 12 if reduction == "mean" else value).backward()
        opt.step()
        if sharing == "reduce":
            a, b = a.mean(1, keepdim=True), b.sum(1, keepdim=True)
        kept = opt.state[layer.weight]
        torch.testing.assert_close(
            kept["R"].double(), torch.einsum("nri,nrj->ij", a, a) / a.shape[1] / 12, rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(kept["L"].double(), torch.einsum("nri,nrj->ij", b, b) / 12, rtol=1e-4, atol=1e-4)
    handle.remove()
    net(batches[0]).sum().backward()
    assert not handle.sums


def test_kfac_beside_its_formula() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    opt: Any = optgen.torch.optimizer("kfac otherwise adamw(lr = 0.01)")(
        net.parameters(), lr=0.1, damping=0.01, weight_decay=0.1, k=2
    )
    opt.capture(net)
    x, y = torch.randn(32, 4), torch.randn(32, 2)
    weights = {layer.weight: np.asarray(layer.weight.detach(), float) for layer in (net[0], net[2])}
    R, L, m, P, Q = ({p: 0.0 for p in weights} for _ in range(5))
    losses = []
    for t in range(1, 6):
        opt.zero_grad()
        hidden = net[0](x)
        hidden.retain_grad()
        out = net[2](torch.tanh(hidden))
        out.retain_grad()
        loss = torch.nn.functional.mse_loss(out, y) * 2  # the mean over samples of a sum
        losses.append(loss.item())
        loss.backward()
        given = {net[0].weight: (x, hidden.grad), net[2].weight: (torch.tanh(hidden), out.grad)}
        opt.step()
        for p, (a, b) in given.items():
            a, b = np.asarray(a.detach(), float), np.asarray(b, float)
            R[p] = 0.95 * R[p] + 0.05 * a.T @ a / 32
            L[p] = 0.95 * L[p] + 0.05 * b.T @ b * 32
            pi = np.sqrt(np.trace(R[p]) / len(R[p]) / (np.trace(L[p]) / len(L[p])))
            if t % 2:
                c = 1 - 0.95**t
                P[p] = np.linalg.inv(R[p] / c + pi * 0.1 * np.eye(len(R[p])))
                Q[p] = np.linalg.inv(L[p] / c + 0.1 / pi * np.eye(len(L[p])))
            m[p] = 0.9 * m[p] + Q[p] @ np.asarray(p.grad, float) @ P[p]
            weights[p] = (1 - 0.1 * 0.1) * weights[p] - 0.1 * m[p]
            np.testing.assert_allclose(p.detach().numpy(), weights[p], rtol=2e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_what_cannot_be_captured() -> None:
    net: Any = torch.nn.Linear(4, 3)
    with pytest.raises(TypeError, match="Adam: capture"):
        optgen.torch.Adam(net.parameters()).capture(net)
    opt: Any = optgen.torch.optimizer(SPEC)([net.weight], lr=0.1)
    with pytest.raises(ValueError, match="sharing is 'expand' or 'reduce', not 'both'"):
        opt.capture(net, sharing="both")
    with pytest.raises(ValueError, match="no Linear and no Conv2d whose weight"):
        opt.capture(torch.nn.Linear(2, 2))
    net(torch.ones(2, 4)).sum().backward()
    with pytest.raises(ValueError, match="reads 'A', which nobody has given"):
        opt.step()
    grouped: Any = torch.nn.Conv2d(4, 4, 3, groups=2)
    with pytest.raises(ValueError, match="a convolution in groups"):
        optgen.torch.optimizer(SPEC)([grouped.weight], lr=0.1).capture(grouped)  # type: ignore[attr-defined]


def test_a_rank_that_is_too_large_is_told_when_an_optimizer_is_made() -> None:
    spec = optgen.parse("""\
optimizer Sketched
param r: int = 3 in [1, inf)
require rank == 2 "matrices"
state V: cols x r = normal()
update:
  U  = orthonormal(g@V)
  V' = g^T@U
  w' = w - lr*(U@V'^T)
""")
    with pytest.raises(ValueError, match=r"rows x r matrix is 2 x 3; r is at most 2 here"):
        optgen.torch.optimizer(spec)([torch.nn.Parameter(torch.zeros(2, 64))])
    sized = optgen.parse(spec.source.text.replace("param r: int = 3 in [1, inf)", "dim r = min(3, rows, cols)"))
    p = torch.nn.Parameter(torch.zeros(2, 64))
    opt: Any = optgen.torch.optimizer(sized)([p], lr=1.0)
    p.grad = torch.ones(2, 64)
    opt.step()
    assert opt.state[p]["V"].shape == (64, 2)


def test_layers_of_the_other_part_are_not_captured() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    opt: Any = optgen.torch.optimizer("kfac otherwise adamw")(net, lr=0.1)  # the last layer is the head
    assert [*opt.capture(net).sums] == [net[0].weight]
