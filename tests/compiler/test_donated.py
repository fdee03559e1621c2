"""Donated gradients: a temporary in their place changes no bit, and a used gradient is not used again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse, State, ir, pipeline
from optgen.execute.cpu import groups
from optgen.execute.tensors.donation import check_donated
from optgen.ir import Variant
from optgen.ir.interp import TensorUpdate, interpret
from optgen.ir.text import from_text, to_text
from tests.compiler.features import FROZEN
from tests.compiler.harness import KERNELS, SHAPES, SPECS, Array, assert_same, copies, numbers, same_bits
from tests.conftest import Golden
from tests.sweeps import swept

TWICE = optgen.parse("""\
optimizer Twice "three sweeps, the last two of which need what the first one keeps"
param lr = 0.1
state m = 0
update:
  a  = sqrt(abs(g))/(1 + w^2)
  b  = a/(1 + norm(a))
  m' = 0.9*m + b
  w' = w - lr*b/(1 + norm(b))
""")
ROWS = optgen.parse("""\
optimizer Lines "rows and columns, and a sum over all of them"
param lr = 0.1
state R: row = 0
state C: col = 0
state m = 0
update:
  R' = 0.9*R + mean(g^2, per row)
  C' = 0.9*C + mean(g^2, per col)
  m' = 0.9*m + g/sqrt(R' + C' + 1)
  u  = sqrt(abs(m'))/(1 + sqrt(abs(w)))
  w' = w - lr*u/(1 + norm(u))
""")


def donated(spec: Any, **how: Any) -> ir.Kernel:
    return pipeline.plan(pipeline.build(spec, Variant({f.name: f.default for f in spec.flags}, donated=True, **how)))


def loads(kernel: ir.Kernel) -> list[list[str]]:
    """What each sweep reads."""
    sweeps = [p for p in kernel.phases if p.kind == "sweep"]
    return [[i.op.buffer for i in p.instrs if isinstance(i.op, ir.Load)] for p in sweeps]


def test_what_is_kept() -> None:
    assert loads(donated(SPECS["lamb"])) == [["m", "grad", "v", "w"], ["w", "grad"]]
    assert loads(donated(SPECS["cautious_adamw"])) == [["m", "grad", "v"], ["w", "grad"]]
    assert loads(donated(TWICE)) == [["grad", "w"], ["grad", "m"], ["w", "grad"]]
    for name in ("adam", "novograd"):  # nothing is computed twice, or less than it takes to write it
        assert not donated(SPECS[name]).buffer("grad").written


@pytest.mark.parametrize(("value", "kept"), [("sqrt(abs(g))/(1 + abs(w))", True), ("abs(g)/(1 + abs(w))", False)])
def test_a_byte_costs_1_and_half_if_it_is_written_and_a_division_or_root_1(value: str, kept: bool) -> None:
    """What is kept saves the 4 bytes of the gradient, and costs 4 read and 2 written ones. One division saves less."""
    spec = optgen.parse(f"optimizer Kept\nupdate:\n  u  = {value}\n  w' = w - lr*u/(1 + norm(u))\n")
    assert donated(spec).buffer("grad").written == kept


def test_the_text_says_where(golden: Golden) -> None:
    kernel = donated(TWICE)
    golden(Path(__file__).parent / "golden" / "twice-donated.txt", to_text(kernel))
    assert from_text(to_text(kernel)) == kernel


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_means_the_same(name: str) -> None:
    """Where a temporary is kept, judged by the interpreter."""
    case, variant = KERNELS[name]
    kernel = pipeline.plan(pipeline.build(case.spec, replace(variant, donated=True)))
    if not kernel.buffer("grad").written:
        return
    plain = pipeline.plan(pipeline.build(case.spec, variant))
    rng = np.random.default_rng(1)
    arrays = {b.name: numbers(rng, (65, 7), b.storage, special=True) for b in kernel.buffers if b.kind.value == "elem"}
    results = []
    for x in (kernel, plain):
        own = {n: a.copy() for n, a in arrays.items()} | {
            b.name: np.ones({"row": 65, "col": 7}.get(b.kind.value, ()), b.storage)
            for b in x.buffers
            if b.name not in arrays
        }
        hyper = {n: 0.25 for n in x.hyper} | {"rows": 65.0, "cols": 7.0, "size": 455.0, "rank": 2.0, "matrices": 1.0}
        interpret(x, [TensorUpdate(own, hyper, 3)])
        results.append(own)
    assert all(same_bits(a, results[1][n]) for n, a in results[0].items() if n != "grad")


def test_a_value_of_more_bits_is_not_kept() -> None:
    """The operand of a sum is float64. A float32 gradient has no room for it, but for what it is made of."""
    flags = {"frozen": False, "kept": "sums"}
    kernel = pipeline.plan(pipeline.build(FROZEN, Variant(flags, gradients=2, donated=True)))
    assert loads(kernel)[-1] == ["grad"]


def test_doubles_stay_subnormal() -> None:
    """One that is kept is what it was, though gradients that are subnormal are zeros. (A float32 cannot be.)"""
    spec = optgen.parse("""\
optimizer Fading "a value that is subnormal, and a result that is not"
param lr = 1
input h
update:
  u  = g*h*1e-20
  w' = w - lr*(u/(1 + norm(u)))*1e30
""")
    kernel = donated(spec, dtype="float64")
    assert kernel.buffer("grad").written and sorted(loads(kernel)[-1]) == ["grad", "w"]
    results = []
    for donate in (False, True):
        w, g = np.zeros(5000), np.tile([3e-303, -2.5e-302, 2e-308, -5e-324, -0.0], 1000)
        h = np.ones(5000)
        arrays = {"w": w.copy(), "grad": g.copy(), "h": h}
        hyper = {p: x for p, x in optgen.load(spec, "float64").values.items() if x is not None}
        plan = kernel if donate else pipeline.plan(pipeline.build(spec, Variant({}, dtype="float64")))
        interpret(plan, [TensorUpdate(arrays, dict.fromkeys(plan.hyper, float("nan")) | hyper, 1)])
        optgen.load(spec, "float64").bind([w], [g], inputs={"h": [h]}, donate_grads=donate)()
        results += [w, arrays["w"]]
    assert all(same_bits(x, results[0]) for x in results)
    assert (results[0][:5] != 0).tolist() == [True, True, False, False, False]


def test_doubles_that_fade() -> None:
    results = []
    for donate in (False, True):
        w, g = np.zeros(9), np.full(9, -5e-324)
        rule = optgen.load("lars", "float64", momentum=0.9)
        step = rule.bind([w], [g], donate_grads=donate)
        step(lr=0.1)
        results.append((w, step.state))
    assert_same("doubles", [results[0][0]], results[0][1], [results[1][0]], results[1][1])


def step_twice(spec: Any, donate: bool, count: int, dtype: str, **how: Any) -> tuple[list[Array], State]:
    rng = np.random.default_rng(2)
    w = [numbers(rng, s, dtype, special=False) for s in SHAPES]

    def grads() -> list[Any]:
        each = [[numbers(rng, s, dtype, special=True) for _ in range(count)] for s in SHAPES]
        return each if count > 1 else [x[0] for x in each]

    step = optgen.load(spec, dtype, **how).bind(w, grads(), donate_grads=donate)
    step()
    step.rebind(grads())
    step(lr=0.02)
    return w, step.state


@pytest.mark.parametrize("in_groups", [False, True], ids=["sweeps", "groups"])
@pytest.mark.parametrize(
    ("count", "dtype"),
    swept([(1, "float32"), (1, "float64"), (2, "float32"), (2, "float64")], [(1, "float32"), (2, "float64")]),
)
@pytest.mark.parametrize("spec", ["lamb", "cautious_adamw", TWICE, ROWS], ids=str)
def test_the_same_bits(spec: Any, count: int, dtype: str, in_groups: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = step_twice(spec, False, count, dtype)
    if in_groups:
        monkeypatch.setattr(groups, "GROUP_BYTES", 1 << 10)
        monkeypatch.setattr(groups, "LEAST_GROUPS", 1)
    assert_same("donated", *step_twice(spec, True, count, dtype), *expected)


def test_codes_in_blocks() -> None:
    expected = step_twice("lamb", False, 1, "float32", storage="int8_linear", scales_gradient=True)
    assert_same(
        "8 bits", *step_twice("lamb", True, 1, "float32", storage="int8_linear", scales_gradient=True), *expected
    )


def test_a_gradient_is_used_once() -> None:
    w, g = np.ones(5000, np.float32), np.full(5000, 0.5, np.float32)
    step = optgen.load("lamb").bind([w], [g], donate_grads=True)
    step()
    assert not (g == 0.5).all()
    with pytest.raises(RuntimeError, match=r"grads: an earlier step has used their memory .*; rebind\(grads\) first"):
        step()
    g[:] = 0.25
    step.rebind([g])
    step()
    assert step.state.t == [2]


def test_gradients_that_backward_made() -> None:
    torch = pytest.importorskip("torch")
    params = [torch.nn.Parameter(torch.ones(5000)) for _ in range(3)]
    step = optgen.load("lamb").bind(params, donate_grads=True)
    for _ in range(3):
        for p in params:
            p.grad = None
        sum((p**2).sum() for p in params).backward()
        version = params[0].grad._version
        step()
        assert params[0].grad._version > version
    with pytest.raises(RuntimeError, match=r"params\[0\].grad: an earlier step has used its memory"):
        step()
    for p in params:
        p.grad.zero_()
    step()  # which PyTorch has seen to change
    assert step.state.t.tolist() == [4] * 3
    shared = torch.ones(10_000)
    for k, p in enumerate(params):
        p.grad = shared[k : k + 5000]
    with pytest.raises(ValueError, match="share memory, and a step writes to it"):
        step()


@pytest.mark.parametrize(
    ("dtype", "grad", "message"),
    [
        ("bfloat16", None, "gradients are bfloat16, and a step computes in float32"),
        ("float32", "read-only", r"grads\[0\]: read-only"),
        ("float32", "sparse", r"grads\[0\]: row-sparse; donate_grads gives away the memory of dense gradients"),
        ("float32", "weight", r"share memory, and a step writes to it"),
    ],
)
def test_what_cannot_be_given_away(dtype: str, grad: str | None, message: str) -> None:
    rule = optgen.load("lamb", dtype)
    (w,) = rule_params = [np.ones((8, 4), optgen.execute.buffers.numpy_dtype(dtype))]
    grads: Sequence[Any] = {
        None: copies(rule_params),
        "read-only": copies(rule_params),
        "sparse": [RowSparse(np.array([1]), np.ones((1, 4), np.float32))],
        "weight": [w],
    }[grad]
    if grad == "read-only":
        grads[0].flags.writeable = False
    with pytest.raises(ValueError, match=message):
        rule.bind(rule_params, grads, donate_grads=True)


def test_gradients_apart() -> None:
    """Two that are only read may be one, two that are written may not."""
    w, g = [np.ones(5, np.float32) for _ in range(2)], np.ones(5, np.float32)
    optgen.load("lamb").bind(w, [g, g])()
    with pytest.raises(ValueError, match=r"grads\[0\] and grads\[1\] share memory"):
        optgen.load("lamb").bind(w, [g, g], donate_grads=True)
    with pytest.raises(ValueError, match="a step on cuda gains nothing"):
        check_donated("float32", "cuda")


def test_gradients_apart_from_inputs() -> None:
    """Also where the step has only the addresses of new gradients looked at; inputs may share memory among them."""
    torch = pytest.importorskip("torch")
    spec = optgen.parse("""\
optimizer Guided "two sweeps and an input"
param lr = 0.1
input h
update:
  u  = sqrt(abs(g))*h
  w' = w - lr*u/(1 + norm(u))
""")
    params, h = [torch.nn.Parameter(torch.ones(300)) for _ in range(2)], torch.ones(400)
    step = optgen.load(spec).bind(params, inputs={"h": [h[:300], h[100:]]}, donate_grads=True)
    for grads in (torch.ones(2, 300), torch.ones(2, 300)):
        for p, g in zip(params, grads, strict=True):
            p.grad = g.clone()
        step()
    params[1].grad = h[60:360]
    params[0].grad = torch.ones(300)
    with pytest.raises(ValueError, match="share memory"):
        step()
    assert torch.equal(h, torch.ones(400))
