"""Kernels before they are cut: text, what the verifier refuses, and updates beside those of their stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import ir
from optgen.axes import Axis
from optgen.execute.buffers import numpy_dtype
from optgen.ir import Instr, Kernel, Value, Variant
from optgen.ir.interp import TensorUpdate
from optgen.ir.text import to_text
from optgen.ir.verify import InvalidKernel, verify
from optgen.stages import build
from optgen.stages.lower import build_whole
from optgen.stages.orient import oriented
from tests.compiler import whole
from tests.compiler.test_stages import DRAWN, MODES, MUON, SPECS, values_of
from tests.sweeps import swept

GOLDEN = Path(__file__).parent / "golden" / "muon.whole.ir"
EVERY = [(name, mode) for name in (*SPECS, "drawn") for mode in MODES]
FEW = [("states", "float32"), ("functions", "float64"), ("drawn", "float16-master"), ("elements", "bfloat16-kahan")]
FEW += [("sketch", "float32"), ("singular", "int8"), ("muon", "float16-stochastic")]
FEW += [("diagonals", "float32"), ("diagonals", "float64")]


@pytest.mark.parametrize(("name", "mode"), swept(EVERY, FEW))
def test_an_update_has_the_bits_of_its_stages(name: str, mode: str) -> None:
    rng = np.random.default_rng(2)
    rule = optgen.load({**SPECS, "drawn": DRAWN}[name], lr=0.1, **MODES[mode])
    for k, shape in enumerate([(4, 4), (3, 7), (7, 3), (9, 2, 4)]):
        w, g = (rng.normal(size=shape).astype(numpy_dtype(rule.dtype)) for _ in range(2))
        state = rule.bind([w.copy()], [g]).state
        own = {x: np.array(arrays[0]) for x, arrays in state.arrays.items() if arrays[0] is not None}
        own |= {"copy" if rule.master else "w": w, "grad": g}
        for count in (1, 2, 3):
            values = values_of(rule, shape) | {"step": float(count)}
            update = TensorUpdate(own, values, count, k)
            assert whole.difference(rule.spec, rule.variant(shape), [update], count, values, 5) is None


def muon() -> Kernel:
    return build_whole(MUON, Variant({"tall": False}), (), first=False)


def test_golden_text(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(to_text(muon()), encoding="utf-8", newline="")
    assert to_text(muon()) == GOLDEN.read_text(encoding="utf-8")


def changed(kernel: Kernel, instrs: tuple[Instr, ...]) -> Kernel:
    return replace(kernel, phases=(replace(kernel.phases[0], instrs=instrs),))


def with_region(kernel: Kernel, region: ir.Region) -> Kernel:
    """The kernel with another turn of its loop."""
    found = kernel.phases[0].instrs
    return changed(
        kernel, tuple(Instr(None, replace(i.op, region=region)) if isinstance(i.op, ir.Repeat) else i for i in found)
    )


def region_of(kernel: Kernel) -> ir.Region:
    return next(i.op.region for i in kernel.instrs() if isinstance(i.op, ir.Repeat))


def test_a_product_has_equal_inner_dimensions() -> None:
    kernel, region = muon(), region_of(muon())
    (y,) = region.takes
    wrong = Instr(Value("X", ir.Type(("rows", "cols"), "f32")), ir.MatMul(y, y))
    with pytest.raises(InvalidKernel, match="no product"):
        verify(with_region(kernel, replace(region, instrs=(wrong, *region.instrs))))


def test_what_a_turn_gives_is_what_the_next_one_takes() -> None:
    kernel, region = muon(), region_of(muon())
    a = next(i.result for i in region.instrs if i.result is not None and i.result.id == "A")
    with pytest.raises(InvalidKernel, match="a turn takes what it is not given"):
        verify(with_region(kernel, replace(region, gives=(a,))))


def test_a_value_of_a_turn_is_not_known_behind_the_loop() -> None:
    kernel, region = muon(), region_of(muon())
    (y,) = region.gives
    late = Instr(Value("late", y.type), ir.Neg(y))
    with pytest.raises(InvalidKernel, match="not defined before"):
        verify(changed(kernel, (*kernel.phases[0].instrs, late)))


def test_values_and_turns_have_names_of_their_own() -> None:
    kernel, region = muon(), region_of(muon())
    (y,) = region.takes
    with pytest.raises(InvalidKernel, match="defined twice"):  # behind the loop, as in its turns
        again = Instr(Value("A", y.type), ir.Neg(region.results[0]))
        verify(changed(kernel, (*kernel.phases[0].instrs, again)))
    (loop,) = (i.op for i in kernel.instrs() if isinstance(i.op, ir.Repeat))
    outer = replace(region, instrs=(Instr(None, replace(loop, index="i", starts=(y,))), *region.instrs))
    nested = replace(loop, index="i", region=outer)
    instrs = (replace(x, op=nested) if x.op is loop else x for x in kernel.phases[0].instrs)
    with pytest.raises(InvalidKernel, match="a loop around it calls the number of its turn the same"):
        verify(changed(kernel, tuple(instrs)))


def test_a_loop_of_no_turn_gives_what_it_starts_with() -> None:
    rule = optgen.load(MUON, turns=0)
    w, g = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    own = {"w": w, "grad": g, "m": np.zeros_like(w)}
    update = TensorUpdate(own, values_of(rule, w.shape) | {"step": 1.0}, 1)
    assert whole.difference(rule.spec, rule.variant(w.shape), [update], 1, update.hyper) is None


# ---------------------------------------------------------------- kernels whose values have one orientation

CALLS = """\
optimizer Calls "a call of each form"
require rank >= 2 "matrices"
update:
  L  = g@g^T + identity(rows)
  d  = diag(L)
  y  = solve(L, d)
  Q  = orthonormal(inverse_root(L, 2))
  s  = sum(g^2, per axis 1)
  w' = w - lr*(Q@L)@g - trace(L)*y - s
"""


def oriented_calls() -> Kernel:
    return oriented(build_whole(optgen.parse(CALLS), Variant({}), (), first=False), ())[0]


def with_call(kernel: Kernel, of: str, **parts: Any) -> Kernel:
    """The kernel with another one in the place of the first call of a function. Its result has the type of the call."""

    def other(instr: Instr) -> Instr:
        call = replace(instr.op, **parts)  # type: ignore[type-var]
        assert isinstance(call, ir.ArrayCall) and instr.result is not None
        return Instr(replace(instr.result, type=call.type), call)

    found = [*kernel.phases[0].instrs]
    k = next(k for k, i in enumerate(found) if isinstance(i.op, ir.ArrayCall) and i.op.function == of)
    return changed(kernel, (*found[:k], other(found[k]), *found[k + 1 :]))


def type_of(*axes: Axis, dtype: ir.DType = "f32") -> ir.Type:
    return ir.Type(axes, dtype)


@pytest.mark.parametrize(
    ("function", "parts", "message"),
    [
        ("product", {"transposed": (False, False)}, "no product of these dimensions"),
        ("product", {"transposed": (True, False)}, "a result of other dimensions"),
        ("product", {"transposed": (False,)}, "not as many operands"),
        ("diagonal", {"type": type_of("cols", dtype="f64")}, "a result of other dimensions"),
        ("solve", {"type": type_of("rows", "cols")}, "a result of other dimensions"),
        ("orthonormal", {"type": type_of("rows", "cols"), "turned": True}, "a result of other dimensions"),
        ("inverse_root", {"numbers": ()}, "no call of these operands"),
        ("trace", {"function": "nothing"}, "no call of these operands"),
        ("sum", {"type": type_of("rows", dtype="f64")}, "reduces the rows or columns of groups"),
        ("spread", {"type": type_of("rows", dtype="f64")}, "a result of other dimensions"),
    ],
)
def test_operands_fit_their_call(function: str, parts: dict[str, Any], message: str) -> None:
    kernel = verify(oriented_calls())
    with pytest.raises(InvalidKernel, match=message):
        verify(with_call(kernel, function, **parts))


def test_what_is_planned_was_verified_in_its_orientation(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = with_call(oriented_calls(), "product", transposed=(False, False))
    monkeypatch.setattr(build, "oriented", lambda kernel, exact: (broken, set()))
    with pytest.raises(InvalidKernel, match="no product"):
        build.plan(optgen.parse(CALLS), Variant({}), (), first=False)
