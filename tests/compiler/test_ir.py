"""The kernel IR: what the verifier refuses, the text form, and what the passes make of the specs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import optgen
from optgen import ir, pipeline
from optgen.axes import Kind
from optgen.ir import Variant
from optgen.ir.cost import cost, own_ceiling, sweeps
from optgen.ir.text import from_text, to_text
from optgen.ir.verify import InvalidKernel, verify
from optgen.passes.expand_math import expand_math
from optgen.passes.hoist_host import hoist_host
from tests.compiler.features import EVERYTHING, FEATURES, KINDS
from tests.compiler.harness import ALL, DIFFERENT, KERNELS, Case, kernels
from tests.conftest import Golden

HERE = Path(__file__).parent
GOOD = """\
kernel K float32
hyper lr beta
buffer w elem float32 written
buffer grad elem float32
buffer q elem int8_linear written nonnegative init=0.0
buffer q.scale elem scale written init=0.0 block=256
buffer S host float64 written init=1.0
buffer D shared float64 written init=beta
buffer T tensor float64 written init=0.0
buffer R row float32 written init=0.0
buffer C col float32 written init=0.0

host:
  %lr: host f64 = hyper lr
  %beta: uniform f64 = hyper beta
  %h: host f32 = convert %lr
  %S: host f64 = load S
  %S': host f64 = mul %S %beta
  store S %S'

sweep:
  %w: elem f32 = load w
  %wide: elem f64 = convert %w
  %r: tensor f64 = reduce sum all %wide
  %rows: row f64 = reduce max row %wide
  %cols: col f64 = reduce min col %wide

row:
  %R: row f64 = load R
  %R': row f64 = add %R %rows
  %n: row f32 = convert %R'
  store R %R'

col:
  %c: col f64 = sqrt %cols
  %t: tensor f64 = reduce sum all %c
  store C %c

scalar:
  %s: tensor f64 = sub %r %t
  store T %s

shared:
  %d: shared f64 = reduceoverparams sum %s
  %e: shared f32 = convert %d
  store D %d

sweep:
  %w2: elem f32 = load w
  %q: elem f32 = load q
  %word: elem i32 = word 3
  %bits: elem i32 = shift shr 9 %word
  %u: elem f32 = tofloat %bits
  %a: elem f32 = mul %w2 %h
  %b: elem f32 = mul %a %n
  %z: elem f32 = add %b %u
  %y: elem f32 = add %z %e
  store w %y
  store q %q
"""
BROKEN: dict[str, list[tuple[str, str]]] = {
    "an operand is an element of another phase": [("mul %w2 %h", "mul %w %h")],
    "an operand is a reduction that this phase has not completed": [
        ("%rows: row", "%early: tensor f64 = add %lr %r\n  %rows: row")
    ],
    "no such buffer": [("load w\n  %q", "load nothing\n  %q")],
    "used after its store in one phase": [("store w %y", "store w %y\n  %late: elem f32 = load w")],
    "stored twice": [("%r: tensor", "store w %w\n  %r: tensor")],
    "a read-only buffer": [("store w %y", "store grad %y")],
    "not of the dtype the buffer holds": [("store w %y", "%i: elem f64 = convert %y\n  store w %i")],
    "not of the kind the buffer holds": [("store T %s", "store S %s"), ("store S %S'\n", "")],
    "a buffer of another phase": [("store T %s", "store R %s"), ("store R %R'\n", "")],
    "never stored": [("  store w %y\n", "")],
    "not among the kernel's hyper-parameters": [("hyper lr beta\n", "hyper lr\n")],
    "the result has another type": [("%a: elem f32 = mul", "%a: tensor f32 = mul")],
    "a value of a kind that this phase does not hold": [("%s: tensor", "%i: row f64 = neg %R'\n  %s: tensor")],
    "defined twice": [("%b: elem", "%a: elem f32 = neg %w2\n  %b: elem")],
    "phases in the wrong order": [("scalar:", "host:")],
    "operands must be of one floating dtype": [("mul %w2 %h", "mul %w2 %lr")],
    "operands must be of one integer dtype": [("shift shr 9 %word", "shift shr 9 %w2")],
    "reduces f64 elements only": [("reduce sum all %wide", "reduce sum all %w")],
    "not of tensors": [("reduceoverparams sum %s", "reduceoverparams sum %R'")],
    "compares two numbers of one dtype": [("%b: elem", "%i: elem b1 = compare lt %w2 %lr\n  %b: elem")],
    "an operand of the wrong dtype": [("%b: elem", "%i: elem b1 = not %w2\n  %b: elem")],
    "operands of the wrong dtypes": [("%b: elem", "%i: elem f32 = select %w2 %w2 %w2\n  %b: elem")],
    "converts f32 and f64 only": [
        ("%b: elem", "%i: elem b1 = compare lt %w2 %h\n  %j: elem f32 = convert %i\n  %b: elem")
    ],
    "the wrong number of arguments": [("%s: tensor", "%i: tensor f64 = math pow %r\n  %s: tensor")],
}


def test_good_kernel() -> None:
    kernel = verify(from_text(GOOD))
    assert to_text(kernel) == GOOD
    kept = replace(kernel, advances=False)
    assert to_text(kept).startswith("kernel K float32 keeps_t\n") and from_text(to_text(kept)) == kept
    assert cost(kernel).sweeps == 2
    assert not kernel.rows_independent


@pytest.mark.parametrize("message", BROKEN)
def test_verifier(message: str) -> None:
    text = GOOD
    for old, new in BROKEN[message]:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(InvalidKernel, match=message):
        verify(from_text(text))


def test_every_operand_is_defined() -> None:
    kernel = from_text(GOOD)
    used = {v.id for i in kernel.instrs() for v in ir.operands(i.op)}
    for k, phase in enumerate(kernel.phases):
        for instr in phase.instrs:
            if instr.result is None or instr.result.id not in used:
                continue
            less = replace(phase, instrs=tuple(i for i in phase.instrs if i is not instr))
            with pytest.raises(InvalidKernel, match="an operand is not defined before"):
                verify(replace(kernel, phases=(*kernel.phases[:k], less, *kernel.phases[k + 1 :])))


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "  %x: elem f32 = nosuch %w",
        "  %x: elem f32 = neg %y",
        "  %x: elem f32 = neg",
        "  store w",
        "  %x: elem f32 = neg %w %w",
        "  %x: blob f32 = neg %w",
        "  %x: elem i32 = word",
        "  %x: elem i32 = word one",
        "buffer v elem float32 1",
        "buffer v blob float32",
        "buffer v elem",
    ],
)
def test_text_that_is_no_kernel(line: str) -> None:
    number = GOOD[: GOOD.index("  %r: tensor")].count("\n") + 1
    with pytest.raises(ValueError, match=f"line {number} is not kernel text"):
        from_text(GOOD.replace("  %r: tensor", f"{line}\n  %r: tensor"))


def round_trip(kernel: ir.Kernel) -> None:
    text = to_text(kernel)
    assert from_text(text) == kernel
    assert to_text(from_text(text)) == text


@pytest.mark.parametrize(
    ("dtype", "cases"),
    [("float32", ALL), ("float64", DIFFERENT), pytest.param("float64", ALL, marks=pytest.mark.stress)],
    ids=lambda x: x if isinstance(x, str) else f"{len(x)} cases",
)
def test_text_round_trip(dtype: str, cases: tuple[Case, ...]) -> None:
    for case, variant in kernels(*cases).values():
        built = pipeline.build(case.spec, replace(variant, dtype=dtype))
        round_trip(built)
        round_trip(pipeline.plan(built))


def test_text_round_trip_of_storages_and_constants() -> None:
    stored = {s.name: "int8_linear" for s in KINDS.states if s.kind is Kind.ELEM}
    for variant in (Variant({}, "bfloat16", True, stored), Variant({}, evaluate=True)):
        round_trip(pipeline.plan(pipeline.build(KINDS, variant)))
    text = to_text(expand_math(pipeline.plan(pipeline.build(EVERYTHING, Variant({})))))
    assert to_text(from_text(text)) == text  # NaN among its constants makes kernels unequal


@pytest.mark.parametrize(
    "name",
    [
        "adam",
        "lamb_bias_correction",  # a reduction
        "adafactor_factored",  # per row and per column
        "nadam",  # host state
        "prodigy",  # shared by all tensors
    ],
)
def test_golden(name: str, golden: Golden) -> None:
    case, variant = KERNELS[f"optgen_{name}_f32"]
    built = pipeline.build(case.spec, variant)
    golden(HERE / "golden" / f"{name}.ir", to_text(built))
    golden(HERE / "golden" / f"{name}.plan.ir", to_text(pipeline.plan(built)))


BEFORE = """\
kernel K float32
hyper lr
buffer w elem float32 written
buffer grad elem float32

update:
  %w: elem f32 = load w
  %lr: host f64 = hyper lr
  %rate: host f32 = convert %lr
  %grad: elem f32 = load grad
  %step: elem f32 = mul %rate %grad
  %w': elem f32 = sub %w %step
  store w %w'
"""
AFTER = """\
kernel K float32
hyper lr
buffer w elem float32 written
buffer grad elem float32

host:
  %lr: host f64 = hyper lr
  %rate: host f32 = convert %lr

update:
  %w: elem f32 = load w
  %grad: elem f32 = load grad
  %step: elem f32 = mul %rate %grad
  %w': elem f32 = sub %w %step
  store w %w'
"""


def test_a_pass_before_and_after() -> None:
    """The pattern for the test of a pass (CONTRIBUTING.md): the text of a small kernel, and what becomes of it."""
    assert to_text(verify(hoist_host(verify(from_text(BEFORE))))) == AFTER


STREAMS = {  # sweeps, reads, writes
    "adafactor_factored": (3, 4, 1),
    "adafactor_scale_parameter_factored": (3, 5, 1),  # rms(w) needs no sweep of its own
    "adafactor_scale_parameter": (2, 6, 2),
    "adagrad": (1, 3, 2),
    "adam": (1, 4, 3),
    "adam_amsgrad": (1, 5, 4),
    "adan": (1, 6, 5),
    "came_factored": (4, 6, 2),
    "dadaptadam": (1, 5, 4),  # its sum is of no use to the weights before the next step
    "groupadagrad": (2, 3, 1),
    "lamb": (2, 7, 3),  # the first sweep leaves the weight alone
    "lans": (3, 9, 3),
    "lars_heavy": (2, 5, 2),
    "lars_heavy_skip": (1, 3, 2),
    "mars": (2, 7, 4),
    "nag": (1, 2, 1),
    "novograd": (2, 4, 2),
    "prodigy": (1, 6, 4),  # x0 is only read
    "rmsprop_centered": (1, 5, 4),
    "sgd_heavy": (1, 3, 2),
    "sgld": (1, 2, 1),
    "signum": (1, 2, 1),
    "sophia": (1, 5, 3),
}


def test_streams() -> None:
    costs = {name: cost(pipeline.plan(pipeline.build(c.spec, v))) for name, (c, v) in KERNELS.items()}
    found = {name: costs[f"optgen_{name}_f32"] for name in STREAMS}
    assert {name: (c.sweeps, c.reads, c.writes) for name, c in found.items()} == STREAMS
    assert found["adam"].streams == 7 and found["lamb"].streams == 10
    assert found["adam"].bytes == 28 and optgen.load("adam", "float64").cost.bytes == 56
    assert optgen.load("adam", storage="int8_dynamic").cost.bytes == 16 + 4 * 4 / 256
    assert optgen.load("adam", "bfloat16", master=True).cost.bytes == 2 + 3 * 8 + 2


def test_the_sweeps_and_their_ceiling() -> None:
    lamb, adam = (
        pipeline.plan(pipeline.build(rule.spec, rule.variant((8, 8)))) for rule in map(optgen.load, ("lamb", "adam"))
    )
    first, second = sweeps(lamb)
    assert (first.reads, first.writes) == (("w", "grad", "m", "v"), ("m", "v"))
    assert (first.bytes_read, first.bytes_written) == (16, 8)
    assert (second.reads, second.writes, second.bytes_read) == (("w", "m", "v"), ("w",), 12)
    assert own_ceiling(lamb) == 16 / 28 and own_ceiling(adam) == 1


def test_nothing_is_moved_twice() -> None:
    """A sweep reads a stream once at most, and a step writes each changed one once."""
    for case, variant in KERNELS.values():
        kernel = pipeline.plan(pipeline.build(case.spec, variant))
        sweeps = [[i.op for i in p.instrs] for p in kernel.phases if p.kind == "sweep"]
        for ops in sweeps:
            assert max(Counter(op.buffer for op in ops if isinstance(op, ir.Load)).values(), default=0) <= 1
        stored = Counter(op.buffer for ops in sweeps for op in ops if isinstance(op, ir.Store))
        assert stored == Counter(b.name for b in kernel.buffers if b.written and b.kind is Kind.ELEM)


def test_lazy() -> None:
    """Which specs update rows without the others: those whose values depend on one row at most."""
    lazy = {
        name
        for name, (c, v) in KERNELS.items()
        if c.spec not in FEATURES and pipeline.build(c.spec, v).rows_independent
    }
    assert {"optgen_groupadagrad_f32", "optgen_sgld_f32"} <= lazy
    whole = {c.spec.name for name, (c, _) in KERNELS.items() if c.spec not in FEATURES and name not in lazy}
    assert whole == {
        *("Adafactor", "CAME", "CautiousAdamW", "DAdaptAdam", "LAMB", "LANS", "LARS", "LBSGD", "MARS"),
        *("NovoGrad", "Prodigy", "TorchAdafactor", "Adai", "AdamP", "Amos", "DAdaptSGD", "DoG", "AdaShift"),
    }


def test_share_knows_signed_zeros() -> None:
    spec = optgen.parse("""\
optimizer Zeros "two zeros, one expression twice, one that nothing needs"
update:
  a  = w*grad + 0.0
  b  = w*grad - -0.0
  c  = a/b
  w' = a + b
""")
    plan = pipeline.plan(pipeline.build(spec, Variant({}, "float64")))
    ops = [type(i.op).__name__ for i in plan.instrs()]
    assert ops.count("Mul") == 1 and ops.count("Div") == 0


def test_a_flag_changes_no_draw() -> None:
    """Draws are numbered as they stand in the text, whether a variant has them or not."""
    spec = optgen.parse("""\
optimizer Draws "two draws, one of them optional"
flag more = false
update:
  x  = normal()   if more
  x  = 0          otherwise
  y  = uniform()
  w' = w + x + y
""")
    words = {
        more: [i.op.draw for i in pipeline.build(spec, Variant({"more": more})).instrs() if isinstance(i.op, ir.Word)]
        for more in (False, True)
    }
    assert words == {False: [1], True: [0, 1]}
