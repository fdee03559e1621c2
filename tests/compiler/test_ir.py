"""The kernel IR: what the verifier refuses, the text form, and what the passes make of the specs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import optgen
from optgen import pipeline
from optgen.ir.cost import cost
from optgen.ir.text import from_text, to_text
from optgen.ir.verify import InvalidKernel, verify
from tests.compiler.harness import EVERYTHING, VARIANTS, Variant, variants
from tests.conftest import Golden

HERE = Path(__file__).parent
GOOD = """\
kernel K float32
hyper lr
buffer w written
buffer grad

host:
  %lr: host f64 = hyper lr
  %h: host f32 = convert %lr

sweep:
  %w: elem f32 = load w
  %wide: elem f64 = convert %w
  %r: tensor f64 = reduce sum %wide

scalar:
  %s: tensor f64 = sqrt %r
  %n: tensor f32 = convert %s

sweep:
  %w2: elem f32 = load w
  %a: elem f32 = mul %w2 %h
  %b: elem f32 = mul %a %n
  store w %b
"""
BROKEN: dict[str, list[tuple[str, str]]] = {
    "an operand is an element of another phase": [("mul %w2 %h", "mul %w %h")],
    "an operand is a reduction that this sweep has not completed": [
        ("%r: tensor f64 = reduce sum %wide", "%r: tensor f64 = reduce sum %wide\n  %z: elem f64 = add %wide %r")
    ],
    "no such buffer": [("load w\n  %a", "load q\n  %a")],
    "used after its store in one phase": [("store w %b", "store w %b\n  %late: elem f32 = load w")],
    "stored twice": [("%r: tensor", "store w %w\n  %r: tensor")],
    "a read-only buffer": [("store w %b", "store grad %b")],
    "not of the compute dtype": [("store w %b", "%d: elem f64 = convert %b\n  store w %d")],
    "never stored": [("  store w %b\n", "")],
    "not among the kernel's hyper-parameters": [("hyper lr\nbuffer", "hyper beta\nbuffer")],
    "the result has another type": [
        ("%a: elem f32", "%a: tensor f32"),
        ("%b: elem f32 = mul %a", "%b: elem f32 = mul %w2"),
    ],
    "a value of a kind that this phase does not hold": [("%b: elem", "%q: host f32 = neg %h\n  %b: elem")],
    "defined twice": [("%b: elem", "%a: elem f32 = neg %w2\n  %b: elem")],
    "phases in the wrong order": [("scalar:", "host:")],
    "operands must be of one floating dtype": [("mul %w2 %h", "mul %w2 %lr")],
    "reduces f64 elements only": [("reduce sum %wide", "reduce sum %w")],
    "compares two numbers of one dtype": [("%b: elem", "%c: elem b1 = compare lt %w2 %lr\n  %b: elem")],
    "an operand of the wrong dtype": [("%b: elem", "%c: elem b1 = not %w2\n  %b: elem")],
    "operands of the wrong dtypes": [("%b: elem", "%c: elem f32 = select %w2 %w2 %w2\n  %b: elem")],
    "converts f32 and f64 only": [
        ("%b: elem", "%c: elem b1 = compare lt %w2 %h\n  %e: elem f32 = convert %c\n  %b: elem")
    ],
    "the wrong number of arguments": [("%s: tensor f64 = sqrt %r", "%s: tensor f64 = math pow %r")],
}


def test_good_kernel() -> None:
    kernel = verify(from_text(GOOD))
    assert to_text(kernel) == GOOD
    assert cost(kernel).sweeps == 2


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
    for k, phase in enumerate(kernel.phases):
        for instr in phase.instrs[: len(phase.instrs) - (k == len(kernel.phases) - 1)]:
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
        "buffer v something 1",
        "buffer v init",
    ],
)
def test_text_that_is_no_kernel(line: str) -> None:
    with pytest.raises(ValueError, match=r"line 13 is not kernel text"):
        from_text(GOOD.replace("  %r: tensor", f"{line}\n  %r: tensor"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("variant", (*VARIANTS, *variants(EVERYTHING)), ids=str)
def test_text_round_trip(variant: Variant, dtype: str) -> None:
    built = variant.build(dtype)
    for kernel in (built, pipeline.plan(built)):
        text = to_text(kernel)
        assert from_text(text) == kernel
        assert to_text(from_text(text)) == text


@pytest.mark.parametrize("name", ["adam", "lamb-bias_correction", "sgd-heavy", "rmsprop-centered"])
def test_golden(name: str, golden: Golden) -> None:
    variant = next(v for v in VARIANTS if str(v) == name)
    built = variant.build("float32")
    golden(HERE / "golden" / f"{name}.ir", to_text(built))
    golden(HERE / "golden" / f"{name}.plan.ir", to_text(pipeline.plan(built)))


STREAMS = {  # sweeps, reads, writes
    "adadelta": (1, 4, 3),
    "adagrad": (1, 3, 2),
    "adam": (1, 4, 3),
    "adam-amsgrad": (1, 5, 4),
    "ftrl": (1, 4, 3),
    "lamb": (2, 7, 3),
    "lamb-bias_correction": (2, 7, 3),
    "nag": (1, 2, 1),
    "nag-heavy": (1, 3, 2),
    "rmsprop": (1, 3, 2),
    "rmsprop-centered": (1, 5, 4),
    "sgd": (1, 2, 1),
    "sgd-heavy": (1, 3, 2),
    "signum": (1, 2, 1),
    "signum-heavy": (1, 3, 2),
}


def test_streams() -> None:
    """Each stream is read once and each changed one written once; LAMB's first sweep leaves the weight alone."""
    costs = {str(v): cost(pipeline.plan(v.build("float32"))) for v in VARIANTS}
    assert {name: (c.sweeps, c.reads, c.writes) for name, c in costs.items()} == STREAMS
    assert costs["adam"].streams == 7 and costs["lamb"].streams == 10
    assert costs["adam"].bytes == 28 and optgen.load("adam", "float64").cost.bytes == 56


def test_share_knows_signed_zeros() -> None:
    spec = optgen.parse("""\
optimizer Zeros "two zeros, one expression twice, one that nothing needs"
update:
  a  = w*grad + 0.0
  b  = w*grad - -0.0
  c  = a/b
  w' = a + b
""")
    plan = pipeline.plan(pipeline.build(spec, {}, "float64"))
    ops = [type(i.op).__name__ for i in plan.instrs()]
    assert ops.count("Mul") == 1 and ops.count("Div") == 0
