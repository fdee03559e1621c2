"""Numbers that each step is given, as the loss: kernels, PyTorch, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen.diagnostics import SpecErrors

Array = Any


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_alig_beside_numpy(momentum: float) -> None:
    rng = np.random.default_rng(0)
    w, mom = [rng.normal(size=s) for s in ((3, 2), (4,))], [0.0, 0.0]
    bound, g = [x.copy() for x in w], [x.copy() for x in w]
    step = optgen.load("alig", "float64", lr=0.3, momentum=momentum, wd=0.1).bind(bound, g)
    for t in range(6):
        for x in g:
            x[...] = rng.normal(size=x.shape)
        loss = 4.0 / (t + 1)
        d = [x + 0.1 * y for x, y in zip(g, w, strict=True)]
        rate = min(0.3, loss / (sum((x**2).sum() for x in d) + 1e-5))
        mom = [momentum * m - rate * x for m, x in zip(mom, d, strict=True)]
        w = [x - rate * y + momentum * m for x, y, m in zip(w, d, mom, strict=True)]
        step(loss=loss)
        for x, y in zip(bound, w, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13)


def test_each_step_is_given_its_own() -> None:
    w, g = np.ones(3), np.ones(3)
    step = optgen.load("alig", "float64").bind([w], [g])
    for wrong in ({}, {"loss": None}, {"lr": 0.5}):
        with pytest.raises(TypeError, match=r"ALIG reads 'loss', which each step is given: step\(loss=\.\.\.\)"):
            step(**wrong)
    step(loss=1.0)
    with pytest.raises(TypeError, match="ALIG reads 'loss'"):
        step()
    assert step.state.t.tolist() == [1]
    with pytest.raises(TypeError, match=r"'loss' is an input, which each step is given: step\(loss=\.\.\.\)"):
        optgen.load("alig", loss=1.0)
    with pytest.raises(ValueError, match="'loss' must be a number"):
        step(loss=float("nan"))


def test_states_start_from_it_and_phases_have_their_own() -> None:
    spec = optgen.parse("""\
optimizer Two
input loss: host
state first: shared = loss
state s = w
phase one:
  s' = w
  w' = w + loss*g
phase two:
  first' = first
  w' = s - (loss + first)*g
""")
    w, g = np.ones(1), np.ones(1)
    step = optgen.load(spec, "float64").bind([w], [g])
    step.one(loss=2.0)
    assert w == 3
    with pytest.raises(TypeError, match="Two reads 'loss'"):
        step.two()
    step.two(loss=5.0)
    assert w == 1 - 10
    step.one(loss=0.0)
    step.two(loss=1.0)
    assert w == -9 - 6


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("input loss: elem", "'elem' is no kind of an input"),
        ("input lr: host", "is no kind of an input"),
        ("input loss: host\nflag f = loss > 0", "a flag cannot depend on 'loss'"),
        ("input loss: host\neval:\n  w' = loss*w", "'loss' is not known in 'eval:'"),
    ],
)
def test_what_is_refused(line: str, message: str) -> None:
    head, _, tail = line.partition("\neval:")
    text = f"optimizer Bad\n{head}\nupdate:\n  w' = w - loss*g\n" + (f"eval:{tail}\n" if tail else "")
    with pytest.raises(SpecErrors, match=message):
        optgen.parse(text)


def test_pytorch_takes_it_from_closures() -> None:
    torch = pytest.importorskip("torch")
    import optgen.torch

    found = []
    for by_closure in (True, False):
        torch.manual_seed(0)
        net = torch.nn.Linear(3, 1)
        x = torch.ones(2, 3)
        optimizer = optgen.torch.ALIG(net.parameters(), lr=0.5)

        def closure() -> Any:
            optimizer.zero_grad()  # noqa: B023 (called at once)
            loss = net(x).square().mean()  # noqa: B023
            loss.backward()
            return loss

        for _ in range(3):
            if by_closure:
                optimizer.step(closure)
            else:
                optimizer.step(loss=closure())
        found.append(net.weight.detach())
        assert "loss" not in optimizer.param_groups[0]
    assert torch.equal(*found)
    with pytest.raises(TypeError, match="ALIG reads 'loss', which each step is given"):
        optimizer.step()
    with pytest.raises(TypeError, match="ALIG reads no 'value'; it reads loss"):
        optimizer.step(loss=1.0, value=2.0)
    with pytest.raises(TypeError, match="Lion reads no 'loss'; it reads no inputs"):
        optgen.torch.Lion(net.parameters()).step(loss=1.0)
    with pytest.raises(ValueError, match="in_backward=True, but each step is given loss"):
        optgen.torch.ALIG(net.parameters(), in_backward=True)
