"""Values for each index of an axis, and for each block of rows: against NumPy and, to the bit, the interpreter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute.buffers import numpy_dtype
from optgen.execute.stages import group_calls, group_loops
from tests.compiler.harness import same_bits
from tests.compiler.test_stages import MODES, interpreted
from tests.sweeps import swept

Array = np.ndarray[Any, Any]

GROUPS = optgen.parse("""\
optimizer Groups "every reduction of axes and blocks, states of them, and what meets what"
param n: int = 2 in [1, inf)
require rank >= 3 "Groups has an axis 2"
state A: axis 1   = 0.25
state B: axis 2   = 0
state C: axis -1  = 0.5
state D: block n  = 0
state E: block 1  = mean(g^2, per block 1)
state R: row      = 1
state Q: col      = 0
state T: tensor   = 0
update:
  a  = max(abs(g) + A, per axis 1) + min(w*A, per axis 1)
  b  = norm(g + C, per axis 2)*rms(w, per axis 2) + std(g, per axis 2)
  c  = mean(g^2, per axis -1) + dot(g, w, per axis -1)
  d  = mean(g^2, per block n) + norm(w*R, per block n)
  q  = min(a, c, Q)
  A' = 0.9*A + 0.1*a + lr*max(q, per axis 1) + mean(q, per axis 1)
  B' = b
  C' = C + 0.1*c*rms(A)
  D' = 0.5*D + d*sum(d)
  E' = E + sum(w, per block 1)
  R' = 0.5*R + mean(R, per block n) + D'
  T' = T + sum(A') + norm(C') + max(E)
  Q' = Q + A'*C'
  v  = where(A' > C', abs(g), q) + B'
  w' = w - lr*g/(1 + sqrt(abs(v))) - lr*R'*Q'/(1 + T'^2)
""")
SHAPES = ((6, 1, 1), (4, 3, 5), (2, 3, 4, 5), (130, 7, 1, 2))


def over(x: Array, axis: int) -> tuple[int, ...]:
    """All axes but one."""
    return tuple(i for i in range(x.ndim) if i != axis % x.ndim)


def along(v: Array, x: Array, axis: int) -> Array:
    """Values along an axis, as they meet elements."""
    return v.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def by_numpy(known: dict[str, Array], g: Array, lr: float, *, first: bool) -> dict[str, Array]:
    """The equations for a parameter with blocks of two rows."""
    w, A, C, R, Q, T = (known[name] for name in "wACRQT")
    A1, C1, R0 = along(A, w, 1), along(C, w, -1), along(R, w, 0)
    E = np.mean(g**2, over(w, 0)) if first else known["E"]
    a = np.max(np.abs(g) + A1, over(w, 1)) + np.min(w * A1, over(w, 1))
    c = np.mean(g**2, over(w, -1)) + np.sum(g * w, over(w, -1))
    d = np.mean((g**2).reshape(len(w) // 2, -1), 1) + np.sqrt(np.sum(((w * R0) ** 2).reshape(len(w) // 2, -1), 1))
    q = np.minimum(np.minimum(along(a, w, 1), along(c, w, -1)), Q.reshape(1, *w.shape[1:]))
    new = {"A": 0.9 * A + 0.1 * a + lr * np.max(q, over(w, 1)) + np.mean(q, over(w, 1))}
    new["C"] = C + 0.1 * c * np.sqrt(np.mean(A**2))
    new["D"] = 0.5 * known["D"] + d * np.sum(d)
    new["E"] = E + np.sum(w, over(w, 0))
    new["R"] = 0.5 * R + np.repeat(np.mean(R.reshape(-1, 2), 1) + new["D"], 2)
    new["T"] = T + np.sum(new["A"]) + np.sqrt(np.sum(new["C"] ** 2)) + np.max(E)
    new["Q"] = (Q.reshape(1, *w.shape[1:]) + along(new["A"], w, 1) * along(new["C"], w, -1)).reshape(-1)
    v = np.where(along(new["A"], w, 1) > along(new["C"], w, -1), np.abs(g), q)
    x = g + C1
    new["B"] = np.sqrt(np.sum(x**2, over(w, 2))) * np.sqrt(np.mean(w**2, over(w, 2))) + np.std(g, over(w, 2))
    v = v + along(new["B"], w, 2)
    steps = along(new["R"], w, 0) * new["Q"].reshape(1, *w.shape[1:]) / (1 + new["T"] ** 2)
    new["w"] = w - lr * g / (1 + np.sqrt(np.abs(v))) - lr * steps
    return new


@pytest.mark.parametrize("shape", [*SHAPES, (2, 300, 2, 3)], ids=str)
def test_equations_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=shape), np.zeros(shape)
    step = optgen.load(GROUPS, "float64", lr=0.1).bind([w], [g])
    known = {name: np.array(each[0]) for name, each in step.state.arrays.items()} | {"w": w.copy()}
    assert known["A"].shape == shape[1:2] and known["C"].shape == shape[-1:] and known["D"].shape == (len(w) // 2,)
    for count in range(3):
        g[...] = rng.normal(size=shape)
        step()
        known = by_numpy(known, g, 0.1, first=not count)
        for name in step.state.arrays:
            if name in known:
                np.testing.assert_allclose(step.state.arrays[name][0], known[name], rtol=1e-9, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(w, known["w"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", swept(["float32", "float16-master"], ["float16-master"]))  # computed in float32
def test_a_step_equals_the_interpreter(mode: str) -> None:
    rng = np.random.default_rng(2)
    rule = optgen.load(GROUPS, lr=0.1, **MODES[mode])
    dtype = numpy_dtype(rule.dtype)
    shapes = [*SHAPES, (4, 0, 3), (4, 3, 0)]
    weights, grads = ([rng.normal(size=s).astype(dtype) for s in shapes] for _ in range(2))
    step = rule.bind(weights, grads)
    held = "copy" if rule.master else "w"
    copies = [{held: w.copy(), "grad": g} for w, g in zip(weights, grads, strict=True)]
    for i, own in enumerate(copies):
        own |= {name: np.array(each[i]) for name, each in step.state.arrays.items() if each[i] is not None}
    for count in range(1, 4):
        for g in grads:
            g[...] = rng.normal(size=g.shape)
        step()
        for i, own in enumerate(copies):
            interpreted(rule, own, count)
            assert same_bits(weights[i], own[held]), shapes[i]
            for name in step.state.arrays.keys() & own.keys():
                assert same_bits(step.state.arrays[name][i], own[name]), (name, shapes[i], count)


@pytest.mark.parametrize("function", ["sum", "mean", "max", "min"])
def test_a_compiled_call_has_the_bits_of_one_by_arrays(function: str) -> None:
    """Whatever the library, and with NaNs, infinities and zeros of both signs."""
    rng = np.random.default_rng(3)
    for count, length, repeats in itertools.product((1, 3, 64), (1, 2, 9), (0, 1, 5, 128)):
        x = rng.normal(size=count * length * repeats)
        x[rng.random(x.size) < 0.02] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
        numbers = [count, length, repeats, *([7] if function == "mean" else [])]
        compiled, by_arrays = np.empty(count), np.empty(count)
        group_loops.compute(function, x, numbers, compiled)
        group_calls.compute(np, function, x, numbers, by_arrays)
        assert same_bits(compiled, by_arrays), numbers


def test_what_a_parameter_has_not_is_named_with_it() -> None:
    params, grads = ([np.zeros(shape) for shape in ((2, 3, 4), (3, 3, 4))] for _ in range(2))
    with pytest.raises(ValueError, match=r"params\[1\], of shape \(3, 3, 4\): 'block n' .* 3 rows are no blocks of 2"):
        optgen.load(GROUPS, "float64").bind(params, grads)
    spec = optgen.parse("optimizer Third\nupdate:\n  w' = w - lr*g/max(abs(g), per axis -2)\n")
    with pytest.raises(ValueError, match=r"of shape \(2, 3\): 'axis -2' is of tensors of more than 2 dimensions"):
        optgen.load(spec).bind([np.zeros((2, 3), np.float32)], [np.zeros((2, 3), np.float32)])
    step = optgen.load(GROUPS, "float64").bind(params[:1], grads[:1])
    with pytest.raises(ValueError, match="'n' is a dimension of states, which is fixed when the rule is loaded"):
        step(n=1)


def test_deviations_of_groups_are_those_of_their_rows_and_columns() -> None:
    """In doubles, as all reductions: float32 has no third of 4 beside 2^24."""
    spec = optgen.parse("""\
optimizer Deviations
require rank >= 2 "matrices"
state a: block 1 = 0
state b: row     = 0
state c: axis 1  = 0
state d: col     = 0
update:
  a' = std(g, per block 1)
  b' = std(g, per row)
  c' = std(g, per axis 1)
  d' = std(g, per col)
  w' = w
""")
    g = np.array([[16777216, 16777218, 16777218], [1, 2, 4]], np.float32)
    step = optgen.load(spec).bind([np.zeros_like(g)], [g])
    step()
    a, b, c, d = (step.state.arrays[name][0].ravel() for name in "abcd")
    np.testing.assert_allclose(a, g.astype(float).std(1), rtol=1e-6)
    assert a.tobytes() == b.tobytes() and c.tobytes() == d.tobytes()
