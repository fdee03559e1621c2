"""The text form of a kernel: `to_text` and its inverse `from_text`. Kernels with products or loops have a text, too,
which is for people alone.

kernel Adam float32
hyper lr beta1 beta2
buffer w elem float32 written
buffer grad elem float32
buffer m elem float32 written init=0.0

sweep:
  %grad: elem f32 = load grad
  %5: host f64 = const 0.5
  store m %m'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

from optgen import ir
from optgen.axes import Kind, When, count_of, of_kind, shown
from optgen.ir import Buffer, Instr, Kernel, Op, Phase, PhaseKind, Type, Value, operands

_INSTR = re.compile(r"%(?P<id>[^:\s]+): (?P<kind>\w+) (?P<dtype>\w+) = (?P<op>\w+)(?P<rest>.*)")


def to_text(kernel: Kernel) -> str:
    rows = [
        f"kernel {kernel.name} {kernel.dtype}{'' if kernel.advances else ' keeps_t'}{' last_two' * kernel.last_two}",
        " ".join(("hyper", *kernel.hyper)),
    ]
    for b in kernel.buffers:
        rows.append(" ".join(["buffer", b.name, b.kind.value, b.storage, *_marks(b)]))
    for phase in kernel.phases:
        rows += ["", f"{phase.kind}:", *(f"  {line}" for i in phase.instrs for line in _lines(i))]
    return "\n".join(rows) + "\n"


def _marks(b: Buffer) -> list[str]:
    init = [] if b.init is None else [f"init={b.init}"]
    block = [] if b.block is None else [f"block={b.block}"]
    dims = [f"dims={','.join(map(str, b.axes))}"] if b.kind is Kind.MATRIX else []
    history = [f"{key}={x}" for key, x in (("entries", b.entries), ("of", b.of), ("turn", b.turn)) if x]
    marks = ["written"] * b.written + ["nonnegative"] * b.nonnegative + ["late"] * b.starts_late
    return marks + init + block + dims + history


def _lines(instr: Instr) -> Iterator[str]:
    """An instruction, and the turns of a loop between what they take and what they give."""
    if not isinstance(instr.op, ir.Repeat):
        yield _instr(instr)
        return
    region, index = instr.op.region, f" as {instr.op.index}" * bool(instr.op.index)
    starts = " ".join(map(str, instr.op.starts))
    yield f"repeat {instr.op.count}{index}: {' '.join(f'{v}: {v.type}' for v in region.takes)} = {starts}"
    for inner in region.instrs:
        yield from (f"  {line}" for line in _lines(inner))
    yield f"end: {' '.join(f'{v}: {v.type}' for v in region.results)} = {' '.join(map(str, region.gives))}"


def _instr(instr: Instr) -> str:
    op = instr.op
    words = [type(op).__name__.lower()]
    own = [shown(x) if f.type == "Axes" else x for f in fields(op) for x in (getattr(op, f.name),)]
    words += [str(x).replace(" ", "") for x in own if not isinstance(x, Value | tuple | When | None)]
    words += [str(x) for group in own if isinstance(group, tuple) for x in group if not isinstance(x, Value)]
    words += [str(v) for v in operands(op)]
    return " ".join(words) if instr.result is None else f"{instr.result}: {instr.result.type} = {' '.join(words)}"


def from_text(text: str) -> Kernel:
    """Parse the output of `to_text`. Anything else raises ValueError, with the line."""
    name = dtype = ""
    marks: list[str] = []
    hyper: tuple[str, ...] = ()
    buffers: list[Buffer] = []
    phases: list[tuple[PhaseKind, list[Instr]]] = []
    known: dict[str, Value] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            match line.split():
                case []:
                    continue
                case ["kernel", name, dtype, *marks]:
                    continue
                case ["hyper", *names]:
                    hyper = tuple(names)
                case ["buffer", *words]:
                    buffers.append(_buffer(words))
                case [head] if head.endswith(":"):
                    phases.append((cast(PhaseKind, head[:-1]), []))
                case _:
                    phases[-1][1].append(_parse_instr(line.strip(), known))
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ValueError(f"line {number} is not kernel text: {line!r} ({error})") from error
    planned = tuple(Phase(k, tuple(i)) for k, i in phases)
    return Kernel(name, dtype, tuple(buffers), hyper, planned, "keeps_t" not in marks, "last_two" in marks)


def _buffer(words: list[str]) -> Buffer:
    name, kind, storage, *marks = words
    init: float | str | None = None
    block: int | None = None
    entries: int | str = 0
    history = {"of": "", "turn": ""}
    for mark in marks:
        if mark.startswith("init="):
            init = _number_or_name(mark.removeprefix("init="))
        elif mark.startswith("block="):
            block = int(mark.removeprefix("block="))
        elif mark.startswith("entries="):
            entries = count_of(mark.removeprefix("entries="))
        elif mark.partition("=")[0] in history:
            history[mark.partition("=")[0]] = mark.partition("=")[2]
        elif mark not in ("written", "nonnegative", "late"):
            raise ValueError(f"unknown mark {mark!r}")
    written, nonnegative, late = (mark in marks for mark in ("written", "nonnegative", "late"))
    axes, known = of_kind(Kind(kind))
    return Buffer(name, written, init, axes, storage, nonnegative, late, known, block, entries, **history)


def _number_or_name(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def _parse_instr(line: str, known: dict[str, Value]) -> Instr:
    if line.startswith("store "):
        _, buffer, value, *place = line.split()
        return Instr(None, ir.Store(buffer, known[value[1:]], *(known[x[1:]] for x in place)))
    m = _INSTR.fullmatch(line)
    if m is None:
        raise ValueError("expected '%id: kind dtype = op ...'")
    axes, known_when = of_kind(Kind(m["kind"]))
    result = Value(m["id"], Type(axes, cast(ir.DType, m["dtype"]), known_when))
    op = _parse_op(ir.OPS[m["op"]], m["rest"].split(), known)
    known[result.id] = result
    return Instr(result, op)


def _parse_op(cls: type[Op], words: list[str], known: dict[str, Value]) -> Op:
    plain = [w for w in words if not w.startswith("%")]
    values = [known[w[1:]] for w in words if w.startswith("%")]
    args: dict[str, Any] = {}
    for f in fields(cls):
        if f.type == "Value":
            args[f.name] = values.pop(0)
        elif f.type == "Value | None":
            args[f.name] = values.pop(0) if values else None
        elif f.type == "tuple[Value, ...]":
            args[f.name], values = tuple(values), []
        elif f.type == "Table":
            args[f.name] = ir.Table(tuple(map(float, plain.pop(0).split(","))))
        elif f.type in ("int", "float"):
            args[f.name] = (int if f.type == "int" else float)(plain.pop(0))
        else:
            args[f.name] = plain.pop(0)
    if plain or values:
        raise ValueError("too many operands")
    return cls(**args)
