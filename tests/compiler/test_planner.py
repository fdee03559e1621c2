"""Which plan is taken: one that reads the fewest bytes, found without trying all of them."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import ir, pipeline, specfiles
from optgen.axes import Kind, length_of
from optgen.backends import target
from optgen.backends.gpu.nvidia import OLDEST
from optgen.ir import Kernel, Phase, Variant, cost
from optgen.ir.text import to_text
from optgen.model import Optimizer
from optgen.passes import place_stores
from optgen.passes.cse_dce import cse_dce
from optgen.passes.hoist_host import hoist_host
from optgen.passes.plan_sweeps import _Schedule, plan_sweeps, schedules
from optgen.stages.layout import offsets
from optgen.stages.plan import KernelStage, Plan
from tests.compiler.harness import KERNELS
from tests.compiler.test_stages import SPECS as STAGED
from tests.conftest import Golden


def many(states: int, *, chained: bool) -> str:
    """Norms of all states; `chained`: each state needs the norm of the one before."""
    lines = ["optimizer Many", "param beta = 0.9 in [0, 1)", *(f"state m{k} = 0" for k in range(states)), "update:"]
    lines.append("  u0 = g")
    for k in range(states):
        lines.append(f"  m{k}' = beta*m{k} + (1 - beta)*{f'u{k}' if chained else 'g'}")
        lines.append(f"  u{k + 1} = u{k} + m{k}'/(norm(m{k}') + 1)")
    return "\n".join([*lines, f"  w' = w - lr*u{states}", ""])


def calls(run: Callable[[], Any], most: int) -> int:
    """How many functions are called; AssertionError beyond `most`."""
    count = 0

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > most:
            sys.setprofile(None)
            raise AssertionError(f"more than {most} calls")

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def update(text: str, storage: str = "float32") -> Kernel:
    """What the planner is given."""
    spec = optgen.parse(text)
    stored = {s.name: storage for s in spec.states if s.kind is Kind.ELEM}
    return hoist_host(cse_dce(pipeline.build(spec, Variant({}, storage=stored))))


@pytest.mark.parametrize("storage", ["float32", "int8_dynamic"])
def test_twice_the_states_take_little_more_than_twice_the_work(storage: str) -> None:
    for chained, growth in ((False, 3), (True, 5)):  # a chain has twice as many sweeps, too
        work = [calls(lambda k=k: plan_sweeps(k), 10**6) for k in kernels(chained, storage)]
        assert work[1] < growth * work[0]


def kernels(chained: bool, storage: str) -> list[Kernel]:
    return [update(many(n, chained=chained), storage) for n in (16, 32)]


def test_the_whole_compiler_takes_little_more_than_twice_the_work() -> None:
    def compile(n: int) -> None:
        spec = pipeline.check(optgen.parse(many(n, chained=False)).source)
        kernel = pipeline.plan(pipeline.build(spec, Variant({}, storage={f"m{k}": "int8_linear" for k in range(n)})))
        pipeline.lower(kernel, "many", target.host())
        pipeline.lower_gpu(kernel, "many", OLDEST)

    compile(1)  # what is made once: the grammar, tables
    work = [calls(lambda n=n: compile(n), 10**8) for n in (8, 16)]
    assert work[1] < 2.5 * work[0]


# ---------------------------------------------------------------- which plan


def read(kernel: Kernel, sweeps: list[Phase]) -> int:
    """The bytes of an element that these sweeps read."""
    ops = [i.op for phase in sweeps for i in phase.instrs if isinstance(i.op, ir.Load)]
    return sum(kernel.buffer(op.buffer).format.bits // 8 for op in ops)


def least(kernel: Kernel) -> int:
    """What the best of all plans reads: each is cut, and judged by what it became."""
    return min(least_of(schedule) for schedule in schedules(kernel))


def least_of(schedule: _Schedule) -> int:
    """The same, with the reductions where they are."""
    kernel, stores = schedule.kernel, schedule.stores
    last = len(schedule.reductions) - 1
    found = []
    for sweeps in itertools.product(*({schedule.earliest(s), last} for s in stores)):
        plan = dict(zip((s.buffer for s in stores), sweeps, strict=True))
        try:
            found.append(read(kernel, [Phase("sweep", schedule.sweep_body(plan, k)) for k in range(last + 1)]))
        except AssertionError as error:
            assert "the old value is gone" in str(error)
    return min(found)


@st.composite
def specs(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """Up to five states and some reductions, each of which may need any of those before; how the states are stored."""
    names = [f"s{k}" for k in range(draw(st.integers(1, 5)))]
    elements, smaller = ["w", "grad", "h", *names], ["lr"]
    lines = []

    def sum_of(most: int) -> str:
        terms = draw(st.lists(st.sampled_from(elements), min_size=1, max_size=most, unique=True))
        return " + ".join(f"{draw(st.sampled_from(smaller))}*{x}" for x in terms)

    waiting = draw(st.permutations(names))
    for k in range(draw(st.integers(2, 8))):
        if waiting and draw(st.booleans()):
            name = waiting.pop()
            lines.append(f"{name}' = {sum_of(3)}")
            elements.append(f"{name}'")
        elif draw(st.booleans()):
            lines.append(f"e{k} = {sum_of(4)}")
            elements.append(f"e{k}")
        else:
            scope = draw(st.sampled_from(("", "", ", per row", ", per col")))
            lines.append(f"r{k} = sum(grad*({sum_of(2)}){scope})")
            smaller.append(f"r{k}")
    lines += [f"{name}' = {sum_of(3)}" for name in waiting] + [f"w' = w - {sum_of(5)}"]
    storages = st.sampled_from(("float32", "float32", "bfloat16", "int8_linear"))
    head = ["optimizer Random", "input h", *(f"state {name} = 0" for name in names), "update:"]
    return "\n".join([*head, *(f"  {x}" for x in lines), ""]), {name: draw(storages) for name in names}


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), st.sampled_from(("float32", "bfloat16")))
def test_no_plan_reads_less(spec: tuple[str, dict[str, str]], dtype: str) -> None:
    text, stored = spec
    kernel = hoist_host(cse_dce(pipeline.build(optgen.parse(text), Variant({}, dtype, storage=stored))))
    planned = plan_sweeps(kernel)
    assert read(kernel, [p for p in planned.phases if p.kind == "sweep"]) == least(kernel), text


def test_the_search_finds_the_same_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all specs that come with optgen, where few choices are not searched but all tried."""
    built = [pipeline.build(case.spec, variant) for case, variant in KERNELS.values()]
    expected = [to_text(pipeline.plan(kernel)) for kernel in built]
    monkeypatch.setattr(place_stores, "MAX_EXHAUSTIVE", -1)
    assert [to_text(pipeline.plan(kernel)) for kernel in built] == expected


# ---------------------------------------------------------------- which plan, of specs with a choice

CHOICES = (
    *("adafactor_factored", "adafactor_scale_parameter_factored", "adai", "adamp_nesterov_matrix", "adashift_spatial"),
    *("batch_matrix", "came_factored", "cautiousadamw", "dadaptsgd", "dog", "everything", "frozen_kept_sums", "kinds"),
    *("lamb", "lans", "lars_heavy", "mars", "novograd", "past", "rows_matrix", "starts", "torchadafactor"),
)
ROWS, COLS = 1024, 512
ADDED = optgen.parse("""\
optimizer Added "a sum that its product takes in, with its number behind the matrix; eigenvalues"
param a = 0.5
state m = 0
update:
  m' = m + g
  x  = m'*a + m'@(g^T@m')
  y  = x@(g^T@m') - m'*a
  w' = w - lr*y@(g^T@x)/max(eigenvalues(g^T@g))
""")


def sweeps_of(name: str) -> Iterator[str]:
    """The sweeps of a kernel, and the bytes of an element that they move: with states in float32, in codes, in codes by
    row, and with donated gradients."""
    case, variant = KERNELS[f"optgen_{name}_f32"]
    states = [s.name for s in case.spec.program(variant.flags).states if s.kind is Kind.ELEM and not s.entries]
    codes = dict.fromkeys(states, "int8_linear")
    found: dict[tuple[str, ...], list[str]] = {}
    for how, own in {
        "float32": variant,
        "int8": replace(variant, storage=codes),
        "int8 by row": replace(variant, storage=codes, by_row=True),
        "donated": replace(variant, donated=True),
    }.items():
        swept = cost.sweeps(pipeline.plan(pipeline.build(case.spec, own)))
        moved = f"{sum(x.bytes_read + x.bytes_written for x in swept):g} bytes"
        found.setdefault((moved, *(f"  {' '.join(x.reads)} -> {' '.join(x.writes)}" for x in swept)), []).append(how)
    for (moved, *lines), hows in found.items():
        yield f"{name}, {', '.join(hows)}: {moved}"
        yield from map(str.rstrip, lines)


def stages_of(name: str, spec: str | Optimizer) -> Iterator[str]:
    """The stages of a matrix, of an update with all timings; its kernels, the numbers of its workspace, and
    what a mean update costs."""
    rule = optgen.load(spec)
    variant = rule.variant((ROWS, COLS))
    found = pipeline.stages(rule.spec, variant, rule.spec.timings, first=False)
    kernels = sum(isinstance(x, KernelStage) for x in found.walk())
    moved, flops = rule.bytes_moved((ROWS, COLS)), rule.flops((ROWS, COLS))
    yield f"{name}: {kernels} kernels, workspace of {workspace(found, rule)}, {moved:.0f} bytes, {flops:.0f} operations"
    yield from (f"  {x}" for x in pipeline.stage_lines(rule.spec, variant, rule.spec.timings, first=False))


def workspace(plan: Plan, rule: optgen.UpdateRule) -> int:
    """The numbers that all arrays between stages have together, where they share memory as they do in a step."""
    lengths = {**rule.values, "rows": ROWS, "cols": COLS}
    return offsets(plan, {x.key: math.prod(length_of(d, lengths) for d in x.axes) for x in plan.arrays})[1]


def test_the_plans_of_specs_with_a_choice(golden: Golden) -> None:
    """A plan that moves more is slower, and nothing else shows it: read the difference."""
    lines = [line for name in CHOICES for line in sweeps_of(name)]
    lines += [line for name in specfiles.available("matrix") for line in stages_of(name, name)]
    lines += [line for name, spec in {**STAGED, "added": ADDED}.items() for line in stages_of(name, spec)]
    golden(Path(__file__).with_name("golden") / "plans.txt", "\n".join([*lines, ""]))
