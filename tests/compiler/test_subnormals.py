"""No float32 is subnormal inside a sweep: the interpreter, the mode of x86, and compare and select agree on that."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import ir as ll

import optgen
from optgen import ir, pipeline
from optgen.axes import ELEMENTS
from optgen.backends import target
from optgen.backends.control_flow import loop, text
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.llvm import at, inline, integer
from optgen.backends.llvm import load as element
from optgen.backends.llvm_types import I64, PTR, TYPES
from optgen.execute.buffers import numpy_dtype
from optgen.functions.table import EXPANSIONS
from optgen.ir import Type, Value, Variant
from optgen.ir.interp import DTYPES, call, evaluate
from optgen.objectcode import link
from tests.compiler.harness import (
    SPECS,
    Array,
    Case,
    Shape,
    assert_same,
    copies,
    copy_state,
    interpret_step,
    same_bits,
)
from tests.compiler.test_differential import MODES, load
from tests.conftest import Golden
from tests.floats import ARM, arm_functions, x86_only
from tests.ir.test_math import points
from tests.sweeps import swept

NAMES: dict[Any, ir.DType] = {np.dtype(t): name for name, t in DTYPES.items()}


def native(function: Callable[..., Any], args: Sequence[Array], *, machine_flushes: bool) -> Array:
    """A function of an IR builder on arrays, compiled as a sweep's loop is, in the mode that it has there."""
    kernel = pipeline.plan(pipeline.build(SPECS["sgd"], Variant(optgen.load("sgd").flags)))
    m = CpuModuleBuilder(kernel, "judged", target.host())
    m.machine_flushes &= machine_flushes
    body, b = m.function("judged.body", ll.FunctionType(VOID, [I64, *[PTR] * (len(args) + 1)]))
    body.attributes.add("noinline")
    for arg in body.args[1:]:
        arg.add_attribute("noalias")
    n, *inputs, out = body.args
    with loop(b, integer(0), n, lanes=16) as i:
        values = [element(b, p, i, TYPES[NAMES[x.dtype]]) for p, x in zip(inputs, args, strict=True)]
        y = inline(b, function, values, machine_flushes=m.machine_flushes)
        b.store(y, at(b, out, i, y.type))
    b.ret_void()
    f, b = m.cold_function("judged", ll.FunctionType(VOID, [I64, *[PTR] * (len(args) + 1)]))
    saved = m.float_mode.set(b, flushing=m.machine_flushes)
    b.call(body, f.args)
    m.float_mode.restore(b, saved)
    b.ret_void()
    result = np.empty(args[0].size, {ll.FloatType(): np.float32, ll.DoubleType(): np.float64}[y.type])
    code = target.compile_ir(text(m.module), target.host()).object
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(args) + 1))
    run(link.link(code, "judged")["judged"])(result.size, *(x.ctypes.data for x in (*args, result)))
    return result


# ---------------------------------------------------------------- numbers

LEAST = np.float32(ir.LEAST_NORMAL)
STRANGE = np.array([0, np.inf, np.nan, LEAST, np.finfo(np.float32).max, 1, 2, 0.5, 1 + 2**-23], np.float32)


def significands(rng: np.random.Generator, n: int) -> Array:
    """Of [1, 2), many of them at the ends, as float64."""
    at_end = rng.choice([0, 1, 2, 2**23 - 2, 2**23 - 1], n)
    return 1 + np.where(rng.random(n) < 0.3, at_end, rng.integers(0, 2**23, n)) * 2.0**-23


def nudged(rng: np.random.Generator, x: Array) -> Array:
    """x as float32, some units in the last place away, normal or 0, of either sign; some are other numbers."""
    with np.errstate(all="ignore"):
        x = (np.abs(x).astype(np.float32).view(np.int32) + rng.integers(-3, 4, x.shape)).view(np.float32)
    x = np.where(rng.random(x.shape) < 0.02, rng.choice(STRANGE, x.shape), x)
    x = np.where(np.abs(x) < LEAST, np.float32(0), x)
    return np.array(x * rng.choice(np.array([-1, 1], np.float32), x.shape), np.float32)


def near_the_least(op: type[ir.Op], rng: np.random.Generator, n: int) -> list[Array]:
    """Operands with results around 2^-126: those of a product or a quotient are less than 4 units from it or 1 of 2^k
    times as large."""
    goal = LEAST * (1 - rng.choice([0, 2.0**-25, 2.0**-24, 2.0**-23], n)) * 2.0 ** rng.choice([0, 0, 0, 0, 1, -1, 9], n)
    exponent = rng.integers(-126, 127, n)
    a = significands(rng, n) * 2.0**exponent
    match op:
        case ir.Mul:
            return [nudged(rng, a), nudged(rng, goal / a)]
        case ir.Div:
            return [nudged(rng, a * goal), nudged(rng, a)]
        case ir.Convert:
            return [goal * (1 + rng.integers(-4, 5, n) * 2.0**-53) * rng.choice([-1.0, 1.0], n)]
    a = significands(rng, n) * 2.0 ** rng.integers(-126, -122, n)
    return [nudged(rng, a), nudged(rng, a + rng.choice([0, 1, -1, 3], n) * 2.0**-126)]


OPS: dict[type[ir.Op], Callable[..., Any]] = {
    ir.Add: lambda b, x, y: b.add(x, y),
    ir.Sub: lambda b, x, y: b.sub(x, y),
    ir.Mul: lambda b, x, y: b.mul(x, y),
    ir.Div: lambda b, x, y: b.div(x, y),
    ir.Convert: lambda b, x: b.convert(x),
}


# ---------------------------------------------------------------- operations


@x86_only
@pytest.mark.parametrize("machine_flushes", [True, False], ids=["mode", "select"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_results_at_the_least_number(op: type[ir.Op], machine_flushes: bool) -> None:
    args = near_the_least(op, np.random.default_rng(0), 1 << 20)
    expected = call(OPS[op], *args)
    assert not ((expected != 0) & (np.abs(expected) < LEAST)).any()
    assert 0.1 < np.mean(expected == 0) < 0.9
    assert same_bits(native(OPS[op], args, machine_flushes=machine_flushes), expected)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_a_result_vanishes_below_the_least_number(op: type[ir.Op]) -> None:
    """That is, once it is rounded to 24 bits, computed here in float64 with all of its bits, or those that matter."""
    args = near_the_least(op, np.random.default_rng(1), 1 << 16)
    wide = [np.asarray(x, np.float64) for x in args]
    with np.errstate(all="ignore"):
        exact = (
            evaluate(op(*[Value("", Type(ELEMENTS, "f64"))] * len(wide)), wide, np.float64)
            if len(wide) > 1
            else wide[0]
        )
        rounded = (exact * 2.0**64).astype(np.float32)  # no float32 overflows or is subnormal here, but far ones
        expected = np.where(np.abs(rounded) < 2.0**-62, np.copysign(0, exact), exact).astype(np.float32)
    assert same_bits(call(OPS[op], *args), expected)


@x86_only
@pytest.mark.parametrize("machine_flushes", [True, False], ids=["mode", "select"])
def test_bits_of_subnormals_become_zeros(machine_flushes: bool) -> None:
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 1 << 20).astype(np.int32)
    bits[::2] &= np.int32(-(2**31) | 0x00FFFFFF)
    x = bits.view(np.float32)
    expected = np.where(np.abs(x) < LEAST, np.copysign(np.float32(0), x), x)
    assert same_bits(call(lambda b, i: b.from_bits(i), bits), expected)
    assert same_bits(native(lambda b, i: b.from_bits(i), [bits], machine_flushes=machine_flushes), expected)


@x86_only
@pytest.mark.parametrize("name", EXPANSIONS)
def test_the_mode_changes_no_elementary_function(name: str) -> None:
    """They are computed in float64, whose subnormals the mode takes away too; a float32 result has the same bits."""

    def rounded(b: Any, *x: Any) -> Any:
        return b.convert(EXPANSIONS[name][1](b, *(b.convert(a) for a in x)))

    args = [np.where(np.abs(x) < LEAST, np.float32(0), x) for x in points(name, np.float32, 20000)]
    bits = np.random.default_rng(2).integers(-(2**31), 2**31, (len(args), 100000)).astype(np.int32).view(np.float32)
    args = [
        np.concatenate([x, np.where(np.abs(y) < LEAST, np.float32(0), y), STRANGE, -STRANGE])
        for x, y in zip(args, bits, strict=True)
    ]
    assert same_bits(native(rounded, args, machine_flushes=True), call(rounded, *args))


def test_constants_are_never_subnormal() -> None:
    tie = ir.LEAST_ROUNDED
    assert ir.constant_f32(tie) == LEAST
    below = -np.nextafter(tie, 0)
    assert ir.constant_f32(below) == 0 and np.signbit(ir.constant_f32(below))
    assert np.isnan(ir.constant_f32(np.nan)) and ir.constant_f32(1e300) == np.inf


# ---------------------------------------------------------------- steps

FAINT = optgen.parse("""\
optimizer Faint "what is read is kept, chosen, widened, and multiplied with what LLVM takes for nothing"
param lr  = 1e-30
param one = 1

input h

state a         = w
state b         = w
state c         = w
state d         = w
state T: tensor = 0
state R: row    = 0
state C: col    = 0

update:
  a' = where(grad > 0, a, -a)
  b' = max(abs(b), h)
  c' = 1*c + 0
  d' = sign(d)*(-1*d/1)*one + clip(grad, lr)
  T' = sum(abs(grad)) + max(h) + norm(w)
  R' = max(abs(h), per row) + mean(grad, per row)
  C' = max(abs(h), per col) + mean(grad, per col)
  w' = w*h + where(w == 0, R'*C', tanh(w)*one) - 0*grad
""")
FAINTEST = {"float32": -149, "float64": -1074, "float16": -24, "bfloat16": -133}
"""The exponent of the smallest number."""


def faint(rng: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Zeros, subnormal numbers, and some ordinary ones that have subnormal products."""
    exponent = FAINTEST[dtype] + rng.uniform(-2, 30 if dtype == "float16" else 80, shape)
    x = np.exp2(exponent) * rng.choice([-1.0, 1.0], shape)
    return np.array(x, numpy_dtype(dtype))


@pytest.mark.parametrize("mode", swept(["float32", *MODES], ["float32", "float64", "float16", "codes", "mixed-master"]))
def test_a_step_makes_no_subnormal(mode: str) -> None:
    """And reads none: two steps of the kernels and of the interpreter, with faint numbers everywhere."""
    rule = load(Case(FAINT, {}), MODES.get(mode, {}))
    rng = np.random.default_rng(0)
    shapes: tuple[Shape, ...] = ((17, 300), (4099,), (3, 5))
    params, grads, h = ([faint(rng, shape, rule.dtype) for shape in shapes] for _ in range(3))
    state = rule.init(params)
    for arrays in state.arrays.values():
        for x in arrays:
            if x is not None and x.dtype != np.uint8:
                x[...] = faint(rng, x.shape, x.dtype.name)
    reference, reference_state = copies(params), copy_state(state)
    step = rule.bind(params, grads, state, {"h": h})
    for _ in range(2):
        step()
        interpret_step(rule, reference, grads, reference_state, rule.values, inputs={"h": h})
        assert_same(mode, params, state, reference, reference_state)
    elements = [x for name in "abcd" for x in state.arrays[name] if x is not None]
    for x in (*params, *elements):
        if x.dtype.name in ("float32", "float64", "bfloat16"):
            tiny = np.abs(x.astype(np.float64)) < (2.0**-1022 if x.dtype == np.float64 else ir.LEAST_NORMAL)
            assert not (tiny & (x != 0)).any()


def test_gradients_that_are_subnormal_are_zeros() -> None:
    faintest = np.full((70, 3), 1e-40, np.float32)
    step = optgen.load(FAINT).bind([np.zeros((70, 3), np.float32)], [faintest], inputs={"h": [-faintest]})
    step()
    for name in "TRC":
        assert not step.state.arrays[name][0].any()


def test_hyper_parameters_that_vanish_are_named() -> None:
    with pytest.warns(UserWarning, match=r"Adam: 'epsilon' is 1e-40, which is 0 where it meets float32") as found:
        rule = optgen.load("adam", epsilon=1e-40)
    w = np.ones(3, np.float32)
    step = rule.bind([w], [w.copy()])
    with pytest.warns(UserWarning, match=r"Adam: 'lr' is 1e-39") as later:
        step(lr=[1e-39])
    assert {x.filename for x in (*found, *later)} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optgen.load("adam", "float64", epsilon=1e-40)
        step(lr=0.0, wd=ir.LEAST_NORMAL)
    assert (w == 1).all()


def test_arm_compares_and_selects(golden: Golden) -> None:
    """64-bit Arm has no mode that looks at results after they are rounded. Nothing of it runs here."""
    spec = optgen.parse("""\
optimizer Quotient "one of each operation"
update:
  w' = (w - lr*grad)/(w + grad)
""")
    kernel = pipeline.plan(pipeline.build(spec, Variant({})))
    lines = arm_functions(pipeline.lower(kernel, "quotient", ARM))["quotient.1.sweep.tensor.elements"]
    *_, before, end = (k for k, line in enumerate(lines) if line.startswith("b.lt"))  # the loop over single elements
    golden(Path(__file__).with_name("golden") / "flush.s", "\n".join(lines[before + 1 : end + 1]) + "\n")
