"""Programs in stages: against the equations as NumPy has them, and on the CPU against the interpreter, to the bit."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.execute.buffers import numpy_dtype
from optgen.execute.stages import calls
from optgen.execute.stages.stage_run import HOW
from optgen.execute.stages.staged_table import is_due
from optgen.ir import Variant
from optgen.ir.interp import TensorUpdate
from optgen.shapes import sizes
from optgen.stages.build import plan
from optgen.stages.interp import interpret_plan
from optgen.stages.layout import lives, offsets
from optgen.stages.plan import KernelStage, LoopStage
from tests.compiler.harness import same_bits
from tests.equations import agree
from tests.sweeps import swept

Array = np.ndarray[Any, Any]

MUON = optgen.parse("""\
optimizer Muon
param lr = 0.02
param mu = 0.95
param turns: int = 5 in [0, inf)
flag tall = rows > cols
require rank >= 2 "Muon is for matrices"
state m = 0
update:
  m' = mu*m + (1 - mu)*g
  d  = (1 - mu)*g + mu*m'
  X  = d^T   if tall
  X  = d     otherwise
  Y  = X/max(norm(X), 1e-7)
  repeat turns:
    A  = Y@Y^T
    Y' = 3.4445*Y + (2.0315*(A@A) - 4.775*A)@Y
  end
  O  = Y'^T   if tall
  O  = Y'     otherwise
  w' = (1 - lr*wd)*w - lr*sqrt(max(1, rows/cols))*O
""")

STATES = optgen.parse(
    """\
optimizer States "square states, some of them updated now and then, and starts"
param k: int = 3  in [1, inf)
param s: int = 2  in [1, inf)
param r: int = 2  in [1, inf)
state L: rows x rows = 0.5*identity(rows)
state R: cols x cols = g^T@g
state P: rows x rows = identity(rows)
state Q: cols x r    = 0.1
state m = w
state v = 0
state c: col = 0
state n: tensor = 1
state h: host = 0
update:
  h' = h + 1/t
  L' = 0.9*L + g@g^T
  R' = 0.9*R + 0.1*g^T@g
  P' = L'/(1 + trace(L')) + P   every k from s
  Q' = Q + 0.01*g^T@(w@Q)       every k
  m' = 0.9*m + 0.1*(P'@g@R')
  u  = m'@Q'
  v' = 0.5*v + (u@Q'^T)^2
  c' = c + mean(R', per row)*h'
  n' = norm(L', over params)    if false_flag
  n' = n + norm(R') + dot(m', g) + max(c')   otherwise
  w' = w - lr*m'/(1 + sqrt(v')) - lr*c'/n'
""".replace("  n' = norm(L', over params)    if false_flag\n", "").replace("   otherwise", "")
)

FUNCTIONS = optgen.parse(
    """\
optimizer Functions "transposes of squares, vectors in products, diagonals, nested loops"
param n: int = 2 in [0, inf)
state S: rows x rows = 0
state x: rows = 1
update:
  B  = g@(w + g)^T
  S' = 0.5*S + B + 0.1*B^T - diag(diag(B))
  y  = S'@(x - mean(g, per row))
  z  = y@g
  x' = y/(1 + norm(y)) + diag(S')/(1 + abs(trace(S')))
  E  = S'/(1 + norm(S', per col)@norm(S', per row))
  q  = 0
  F  = identity(rows)
  repeat n as i:
    G = F
    repeat 2 as j:
      G' = (0.1*i + 0.01*j)*G@E
    end
    F' = G' + F^T
    q' = q + trace(F')*0.5^i
  end
  w' = w - 0.001*(F'@g*q' + z + x' + mean(E, per col)*sum(E^2))
""".replace("norm(S', per col)@norm(S', per row)", "dot(norm(S', per col), norm(S', per row))")
)

ELEMENTS = optgen.parse("""\
optimizer Elements "a loop and a timing without products"
param n: int = 3 in [0, inf)
state slow = w
state count: host = 0
update:
  x = g
  repeat n as i:
    y  = x*x + i + 0.125*count
    x' = 0.5*x + y/(1 + norm(y))
  end
  slow'  = slow + 0.5*(w - slow)   every 2 from 1
  count' = count + 1               every 2
  w'     = slow'                   every 2 from 1
  w'     = w - lr*x'*count'        otherwise
""")

SINGULAR = optgen.parse("""\
optimizer Singular "singular values and vectors of the tall one of a matrix and its transpose"
require rank >= 2 "Singular is for matrices"
flag wide = cols > rows
state top: tensor = 0
update:
  X    = (g + 0.1*w)^T   if wide
  X    = g + 0.1*w       otherwise
  s    = singular_values(X)
  U    = left_singular_vectors(X)
  V    = right_singular_vectors(X)
  Y    = U@diag(s/(1 + s^2))@V^T + 0.01*U
  O    = Y^T             if wide
  O    = Y               otherwise
  top' = max(s) + 0.5*top
  w'   = w - lr*O/(1 + top')
""")

SKETCH = optgen.parse("""\
optimizer Sketch "vectors along a dimension of their own, and along rows with norms of other dimensions"
param r: int = 3 in [1, inf)
require rank >= 2 "Sketch is for matrices"
state Q: cols x r = 0.1
state D: r        = 1
state E: r        = 0
state F: rows     = 0
update:
  R  = g^T@(g@(Q + 0.1*(w^T@(w@Q))))
  D' = 0.5*D + diag(R^T@R)
  E' = diag(R^T@R)
  z  = E'/(1 + norm(g))
  F' = mean(g^2, per row)/(1 + norm(R))
  Q' = 0.5*Q + 0.1*R@diag(1/(sqrt(D') + 0.1))
  x  = D'
  repeat 2:
    x' = x/(1 + norm(w) + norm(x)) + z
  end
  w' = w - lr*(g@(Q'@diag(x')))@R^T/(1 + norm(D')) - diag(F')@g
""")

DRAWN = optgen.parse("""\
optimizer Drawn "draws of every dimension, held or for states to start from, and triangles"
param r: int = 3 in [1, inf)
param k: int = 2 in [1, inf)
def sketch(A, B) = A@(A^T@B)
require rank >= 2 "Drawn is for matrices"
state z: row      = rademacher()
state q: r        = uniform()
state V: cols x r = normal(cols x r)
update:
  P  = normal(rows x r)      every k from 1
  S  = uniform(cols x cols)
  T  = rademacher(r x cols)  every 3
  d  = normal(r)
  a  = normal(per row)       every k
  b  = uniform(per col)
  e  = normal()
  z' = 0.5*z + a
  q' = 0.5*q + d
  V' = 0.5*V + 0.1*triu(S)@(V@diag(d)) + triu(T^T)
  u  = sketch(g, P)/(1 + norm(P))
  w' = w - lr*(P@identity(r x cols) + u@V'^T + b*g + a*e + (P*q')@T) - lr*z'
""")

DIAGONALS = optgen.parse("""\
optimizer Diagonals "products with diagonal matrices, by names, of rows and columns of squares, in loops"
param n: int = 2 in [0, inf)
state L: rows x rows = 0
state R: cols x cols = identity(cols)
state x: rows        = 1
update:
  D  = diag((mean(g*w, per row) + 0.5*x)/(1 + norm(x)))
  E  = diag(max(g, per col))^T@diag(std(w, per col))
  L' = 0.5*L + g@w^T@D
  R' = E@R@E + 0.1*E - diag(diag(R))@identity(cols)
  x' = D@mean(L', per row) + (D^T@D)@diag(L') - mean(g, per col)@(E@w^T)
  Y  = D@g@E
  repeat n as i:
    H  = diag((norm(Y, per row) + i)/(1 + norm(Y)))
    Y' = 0.1*(H@L'@D)@Y/(1 + norm(L')) + Y@(R'@identity(cols)@E)/(1 + norm(R')) + identity(rows)@w
  end
  Z  = (L'@D)^T@diag(diag(L'@D))@Y' + D@D@Y'
  S  = lr*diag(x')@g@(-E/3) + 2*identity(rows)@(identity(rows)/3)@(0.1*D@identity(rows)/2)@g
  w' = w - lr*Z/(1 + norm(Z)) - 0.1*S/(1 + norm(S)) - 0.01*lr*(L'@diag(x') + diag(x')@L')@w
""")

SPECS = {
    "muon": MUON,
    "states": STATES,
    "functions": FUNCTIONS,
    "elements": ELEMENTS,
    "singular": SINGULAR,
    "sketch": SKETCH,
    "diagonals": DIAGONALS,
}
SHAPES = ((4, 4), (3, 7), (7, 3), (1, 5), (6, 1), (65, 130), (9, 2, 4))
MODES: dict[str, dict[str, Any]] = {
    "float32": {},
    "float64": {"dtype": "float64"},
    "bfloat16": {"dtype": "bfloat16"},
    "float16-master": {"dtype": "float16", "master": True},
    "bfloat16-kahan": {"dtype": "bfloat16", "weights": "kahan"},
    "float16-stochastic": {"dtype": "float16", "weights": "stochastic"},
    "int8": {"storage": "int8_dynamic"},
}


def values_of(rule: optgen.UpdateRule, shape: tuple[int, ...]) -> dict[str, Any]:
    given = {name: math.nan if x is None else x for name, x in rule.values.items()}
    return given | sizes(shape, rule.spec.last_two)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("shape", [(4, 5), (7, 3), (1, 5), (6, 1)], ids=str)
def test_a_step_does_what_the_equations_say(name: str, shape: tuple[int, ...]) -> None:
    rule = optgen.load(SPECS[name], dtype="float64", lr=0.1)
    assert agree.compare(rule, [shape], 1, compiled=True) is None


def interpreted(rule: optgen.UpdateRule, arrays: Mapping[str, Array], count: int, id: int = 0) -> None:
    """One update by the interpreter, with the products of the CPU."""
    shape = arrays["w"].shape
    values, variant = values_of(rule, shape) | {"step": float(count)}, rule.variant(shape)
    due = [timing for timing in rule.spec.timings if is_due(timing, count, values)]
    plan = pipeline.stages(rule.spec, variant, due, first=count == 1)
    interpret_plan(plan, [TensorUpdate(arrays, values, count, id)], calls.call, last_two=rule.spec.last_two)


EVERY = list(itertools.product((*SPECS, "drawn"), MODES))
FEW = [("states", "float64"), ("states", "float16-master"), ("drawn", "float32"), ("functions", "float32")]
FEW += [("sketch", "bfloat16"), ("singular", "float32"), ("muon", "float32"), ("elements", "int8")]
FEW += [
    ("diagonals", "float32"),
    ("states", "bfloat16-kahan"),
    ("muon", "float16-stochastic"),
    ("elements", "bfloat16-kahan"),
]


@pytest.mark.parametrize(("name", "mode"), swept(EVERY, FEW))
def test_a_step_equals_the_interpreter(name: str, mode: str) -> None:
    rng = np.random.default_rng(2)
    rule = optgen.load({**SPECS, "drawn": DRAWN}[name], lr=0.1, wd=0.1 if name == "muon" else 0.0, **MODES[mode])
    dtype = numpy_dtype(rule.dtype)
    shapes = [*SHAPES, *([(70, 80)] if mode == "int8" else [])]
    weights, grads = ([rng.normal(size=s).astype(dtype) for s in shapes] for _ in range(2))
    step = rule.bind(weights, grads)
    copies = []
    for i, w in enumerate(weights):
        own = {state: np.array(arrays[i]) for state, arrays in step.state.arrays.items() if arrays[i] is not None}
        own |= {"copy" if rule.master else "w": w.copy(), "grad": grads[i]}
        copies.append(own)
    for count in range(1, 5):
        for g in grads:
            g[...] = rng.normal(size=g.shape)
        step()
        for i, own in enumerate(copies):
            interpreted(rule, own, count, i)
            for state in step.state.arrays:
                if state in own:
                    assert same_bits(step.state.arrays[state][i], own[state]), (state, shapes[i], count)
            assert same_bits(weights[i], own["copy" if rule.master else "w"]), (shapes[i], count)
            assert not rule.master or same_bits(weights[i], own["w"].astype(dtype)), "of the master"


@pytest.mark.parametrize("mode", ["float32", "float64"])
@pytest.mark.parametrize("matmul", ["float32", "bfloat16", "deterministic"])
def test_a_product_takes_in_a_sum_without_a_change_of_a_bit(mode: str, matmul: str) -> None:
    rng = np.random.default_rng(7)
    rule = optgen.load(MUON, lr=0.1, matmul=matmul, **MODES[mode])
    for shape in ((40, 70), (70, 40), (5, 5)):
        variant, values = rule.variant(shape), values_of(rule, shape) | {"step": 1.0}
        plans = [plan(rule.spec, variant, (), first=False, folds=folds) for folds in (False, True)]
        kernels = [sum(isinstance(x, KernelStage) for x in p.walk()) for p in plans]
        assert kernels == [4, 2]
        w, g = (rng.normal(size=shape).astype(numpy_dtype(rule.dtype)) for _ in range(2))
        results = []
        for p in plans:
            arrays = {"w": w.copy(), "grad": g, "m": np.zeros_like(w)}
            how = "native" if mode == "float64" and matmul == "bfloat16" else HOW[matmul]
            call = functools.partial(calls.call, how=how)
            interpret_plan(
                p,
                [TensorUpdate(arrays, values, 1)],
                call,
            )
            results.append(arrays)
        assert all(same_bits(results[0][name], results[1][name]) for name in ("w", "m"))


@pytest.mark.parametrize("name", ["written between", "turn"])
def test_a_product_adds_what_is_known_before_it(name: str) -> None:
    """No array that is written between the product and the sum, and no number of a turn."""
    equations = {
        "written between": "Q = L@L\n  L' = g@g^T\n  Z' = Q + 2*L'\n  w' = w - lr*(Z'@g)",
        "turn": "Y = g\n  repeat 3 as i:\n    Y' = i*Y + (g@g^T)@Y\n  end\n  L' = L\n  Z' = Z\n  w' = w - lr*Y'",
    }[name]
    states = "state L: rows x rows = identity(rows)\nstate Z: rows x rows = 0"
    spec = optgen.parse(f"optimizer Known\n{states}\nupdate:\n  {equations}\n")
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=(2, 3, 4))
    L, expected, given = np.eye(3), w.copy(), g.copy()
    step = optgen.load(spec, "float64", lr=0.1).bind([w], [g])
    for scale in (1, 2):
        g[...] = given * scale
        step()
        if name == "turn":
            Y = g
            for i in range(3):
                Y = i * Y + g @ g.T @ Y
            expected -= 0.1 * Y
        else:
            L, Q = g @ g.T, L @ L
            expected -= 0.1 * (Q + 2 * L) @ g
    np.testing.assert_allclose(w, expected, rtol=1e-12)


@pytest.mark.parametrize("mode", ["float32", "bfloat16", "float16-master"])
def test_what_is_no_matrix_in_memory_is_not_added_by_a_product(mode: str) -> None:
    spec = optgen.parse("""\
optimizer Added
state r: row = 0.5
state h[2] = 0
update:
  x = g
  y = 1
  repeat 2 as i:
    P  = g@g^T@x
    x' = P + 2*i
    y' = y*2
  end
  a  = g@g^T@g + y'
  b  = g@g^T@a + 3*r
  c  = g@g^T@b - 2*g
  d  = g@g^T@c + w
  e  = g@g^T@d + t
  f  = g@g^T@e + 0.5*h[-1]
  h' = g
  r' = r
  w' = w - lr*(f@g^T)@(x' + 0*norm(f))
""")
    rule, rng = optgen.load(spec, lr=0.001, **MODES[mode]), np.random.default_rng(1)
    w, g = (rng.normal(size=(3, 2)).astype(numpy_dtype(rule.dtype)) for _ in range(2))
    own = {"copy" if rule.master else "w": w.copy(), "grad": g}
    step = rule.bind([w], [g])
    own |= {name: np.array(arrays[0]) for name, arrays in step.state.arrays.items()}
    step()
    interpreted(rule, own, 1)
    assert same_bits(w, own["copy" if rule.master else "w"]) and np.isfinite(w.astype(float)).all()


@pytest.mark.parametrize("shape", [(5,), (), (3, 0), (2, 0, 4)], ids=str)
@pytest.mark.parametrize("name", ["states", "functions"])
def test_vectors_and_matrices_without_columns_beside_another(name: str, shape: tuple[int, ...]) -> None:
    """A vector is one column; what has no elements neither spoils others nor reads what they leave in memory."""
    rule, rng = optgen.load(SPECS[name], lr=0.1), np.random.default_rng(1)
    weights, grads = ([rng.normal(size=s).astype(np.float32) for s in ((6, 7), shape)] for _ in range(2))
    step = rule.bind(weights, grads)
    own = [{"w": w.copy(), "grad": g} for w, g in zip(weights, grads, strict=True)]
    for i, arrays in enumerate(own):
        arrays |= {state: np.array(each[i]) for state, each in step.state.arrays.items()}
    step()
    for i, arrays in enumerate(own):
        interpreted(rule, arrays, 1)
        assert same_bits(weights[i], arrays["w"])
        assert all(same_bits(each[i], arrays[state]) for state, each in step.state.arrays.items())


def test_arrays_share_memory_only_while_they_are_not_needed_together() -> None:
    for spec in SPECS.values():
        for flags in spec.variants():
            found = pipeline.stages(spec, Variant(flags), spec.timings, first=True)
            own = lives(found)
            sizes = {key: 64 * (1 + k % 3) for k, key in enumerate(own)}
            begins, end = offsets(found, sizes)
            for a, b in itertools.combinations(own, 2):
                together = own[a][0] <= own[b][1] and own[b][0] <= own[a][1]
                apart = begins[a] + sizes[a] <= begins[b] or begins[b] + sizes[b] <= begins[a]
                assert apart or not together, (spec.name, a, b)
            assert end <= sum(sizes.values())


def test_an_array_that_a_loop_fills_is_kept_in_all_turns() -> None:
    """What a turn begins with may be in no memory of the elements that earlier turns have put there."""
    spec = optgen.load("lbfgs").spec
    found = pipeline.stages(spec, Variant(next(spec.variants())), spec.timings, first=False)
    loop = next(k for k, stage in enumerate(found.stages) if isinstance(stage, LoopStage))
    filled = [array.key for array in found.arrays if array.entries]
    assert filled and all(lives(found)[key][0] <= loop for key in filled)


def test_a_wide_matrix_is_named_by_its_parameter() -> None:
    for function in ("orthonormal", "singular_values", "left_singular_vectors", "right_singular_vectors"):
        spec = optgen.parse(f"optimizer Wide\nupdate:\n  w' = w - lr*g - sum({function}(g))\n")
        weights, grads = ([np.eye(*shape, dtype=np.float32) for shape in ((3, 2), (2, 3))] for _ in range(2))
        step = optgen.load(spec).bind(weights, grads)
        with pytest.raises(
            ArithmeticError, match=rf"params\[1\]: {function}: .*\(2, 3\).* more columns than rows; take"
        ):
            step()
        assert same_bits(weights[0], np.eye(3, 2, dtype=np.float32)) and step.state.t.tolist() == [0, 0]


@pytest.mark.parametrize("function", ["orthonormal", "singular_values", "left_singular_vectors"])
def test_a_rank_that_is_too_large_for_a_parameter_is_named_when_it_is_bound(function: str) -> None:
    spec = optgen.parse(f"""\
optimizer Low
param r: int = 3 in [1, inf)
state V: cols x r = normal(cols x r)
update:
  V' = V + sum({function}(g@V))
  w' = w - lr*g@V'@V^T
""")
    weights, grads = ([np.ones(shape, np.float32) for shape in ((4, 64), (2, 64), (2, 2))] for _ in range(2))
    optgen.load(spec, r=2).bind(weights, grads)
    with pytest.raises(ValueError, match=rf"params\[1\], of shape \(2, 64\): {function} .* 2 x 3; r is at most 2"):
        optgen.load(spec).bind(weights, grads)


def test_a_loop_carries_rows_that_begin_as_a_number() -> None:
    text = """\
optimizer Scaled
update:
  q = 1
  s = 1
  repeat 5:
    s' = sum(g^2*q, per col)/sum(q^2)
    q' = sum(g^2*s', per row)/sum(s'^2)
  end
  w' = w - lr*g/sqrt(q'*s')
"""
    g = np.random.default_rng(0).standard_normal((6, 4))
    w, q, s = np.ones((6, 4)), np.ones(6), np.ones(4)
    optgen.load(optgen.parse(text), "float64", lr=0.1).bind([w], [g])()
    for _ in range(5):
        s = (g**2 * q[:, None]).sum(0) / (q**2).sum()
        q = (g**2 * s).sum(1) / (s**2).sum()
    np.testing.assert_allclose(w, 1 - 0.1 * g / np.sqrt(q[:, None] * s), rtol=1e-12)


def test_dimensions_that_follow_from_params_and_sizes() -> None:
    spec = optgen.parse("""\
optimizer Sized "dimensions of each parameter's own"
param k: int = 3   in [1, inf)
param f      = 0.5 in (0, 1]
dim r = min(k, rows, cols)
dim s = ceil(f*cols)
require rank == 2 "matrices"
state V: cols x r = normal()
state B: s x s    = 0
update:
  U  = orthonormal(g@V)
  V' = g^T@U
  B' = B + identity(s x s)
  w' = w - lr*r*(U@V'^T) - s*trace(B')
""")
    rng = np.random.default_rng(0)
    weights = [np.zeros(shape) for shape in ((5, 7), (2, 64), (6, 1))]
    grads = [rng.normal(size=w.shape) for w in weights]
    rule = optgen.load(spec, "float64", lr=1, k=2)
    step = rule.bind(weights, grads)
    step()
    assert [v.shape for v in step.state.arrays["V"]] == [(7, 2), (64, 2), (1, 1)]
    assert [b.shape for b in step.state.arrays["B"]] == [(4, 4), (32, 32), (1, 1)]
    for w, g, r, s in zip(weights[1:], grads[1:], (2, 1), (32, 1), strict=True):  # whose rank is r
        np.testing.assert_allclose(w, -r * g - s * s, atol=1e-12)
    with pytest.raises(ValueError, match="'f' is a dimension, which is fixed when the rule is loaded"):
        step(f=0.25)
    guarded = spec.source.text.replace('require rank == 2 "matrices"', "flag matrix = rank == 2")
    guarded = (
        guarded.replace("ceil(f*cols)", "f*cols")
        .replace("normal()", "normal() if matrix")
        .replace("= 0\n", "= 0 if matrix\n")
    )
    head, _, update = guarded.partition("update:\n")
    lines = [f"{line} if matrix" for line in update.splitlines()]
    text = "\n".join([head + "update:", *lines, "  w' = w - lr*g otherwise"])
    vector, rule = [np.zeros(3)], optgen.load(optgen.parse(text), "float64", lr=1)
    rule.bind(vector, [np.ones(3)])()  # of which f*cols is no whole number, and which has no such values
    assert vector[0].tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match=r"the dimension 's' is 1\.5 for a parameter of shape \(2, 3\) and f=0\.5"):
        rule.bind([np.zeros((2, 3))], [np.zeros((2, 3))])
    half = optgen.parse("optimizer Half\ndim r = rows/2\nstate v: r = 0\nupdate:\n  v' = v\n  w' = w - lr*g\n")
    with pytest.raises(ValueError, match=r"params\[0\], of shape \(5, 3\): Half: the dimension 'r' is 2\.5"):
        optgen.load(half).bind([np.zeros((5, 3), np.float32)], [np.zeros((5, 3), np.float32)])


def test_inputs_of_other_dimensions() -> None:
    spec = optgen.parse("""\
optimizer Given "tensors of other shapes than the parameter's"
param r: int = 2 in [1, inf)
input Z: cols x cols
input B: rows x r
input v: row
flag  matrix = rank == 2
update:
  w' = w - (g@Z + B@(B^T@g))*v   if matrix
  w' = w - lr*g                  otherwise
""")
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((3, 4), (5, 2), (6,))]
    grads = [rng.normal(size=w.shape) for w in weights]
    given = [(rng.normal(size=(n, n)), rng.normal(size=(m, 2)), rng.normal(size=m)) for m, n in ((3, 4), (5, 2))]
    inputs = {name: [*each, None] for name, each in zip("ZBv", zip(*given, strict=True), strict=True)}
    before = [w.copy() for w in weights]
    optgen.load(spec, "float64", lr=1).bind(weights, grads, inputs=inputs)()
    for w, x, g, (z, b, v) in zip(weights, before, grads, given, strict=False):
        np.testing.assert_allclose(w, x - (g @ z + b @ (b.T @ g)) * v[:, None], atol=1e-12)
    np.testing.assert_allclose(weights[2], before[2] - grads[2])
    with pytest.raises(ValueError, match=r"shape \(4, 4\), but an input cols x cols .* has \(2, 2\)"):
        optgen.load(spec, "float64").bind(weights, grads, inputs=inputs | {"Z": [given[0][0], given[0][0], None]})
    with pytest.raises(ValueError, match="Given reads 'Z': give inputs"):
        optgen.load(spec, "float64").bind(weights, grads)
