"""The interpreter of LLVM IR: it refuses planted faults, naming the instruction, and agrees with the machine."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

import numpy as np
import pytest

from optgen.backends import target
from optgen.objectcode import link
from tests.llvm import LlvmError, Machine

DYNAMIC = '"denormal-fp-math"="dynamic,dynamic"'


def body(lines: str, parameters: str = "ptr %p, ptr %q, i64 %n", result: str = "void", before: str = "") -> str:
    """A function f whose lines are these, one after a semicolon each; the last one returns unless it ends a block."""
    ends = re.search(r"(ret|br|unreachable)[^;]*$", lines.strip("; "))
    text = "\n".join(f"  {line.strip()}" for line in lines.split(";")) + ("" if ends else f"\n  ret {result}")
    return f"{before}\ndefine {result} @f({parameters}) {{\nentry:\n{text}\n}}\n"


SLOT = "%s = alloca i64"
"""Faults in functions of an array of 4 doubles, of one that is read-only, and of a number, which is 3; and what the
error says of the instruction."""
FAULTS: dict[str, tuple[str, str]] = {
    "behind the end": ("%a = getelementptr double, ptr %p, i64 4; %x = load double, ptr %a", "8 bytes at byte 32 of"),
    "across the end": (
        "%a = getelementptr i8, ptr %p, i64 16; %x = load <4 x double>, ptr %a, align 8",
        "at byte 16 of an array",
    ),
    "before the start": ("%a = getelementptr double, ptr %p, i64 -1; store double 0.0, ptr %a", "8 bytes at byte -8"),
    "another allocation": (
        f"{SLOT}; %b = ptrtoint ptr %s to i64; %c = ptrtoint ptr %p to i64; %d = sub i64 %b, %c; "
        "%a = getelementptr i8, ptr %p, i64 %d; %x = load i64, ptr %a",
        "an array of 32 bytes, which has 32",
    ),
    "null": ("%x = load i64, ptr null", "null pointer"),
    "misaligned": ("%a = getelementptr i8, ptr %p, i64 4; %x = load double, ptr %a", "is no multiple of 8"),
    "misaligned vector": (
        "%s = alloca double, i32 4, align 8; store <4 x double> zeroinitializer, ptr %s",
        "is no multiple of 32",
    ),
    "without a value": (f"{SLOT}; %x = load i64, ptr %s", "nothing was written"),
    "without a value in part": (f"{SLOT}; store i32 1, ptr %s; %x = load i64, ptr %s", "reads byte 4"),
    "read-only": ("store double 1.0, ptr %q", "read-only"),
    "after the return": ("%s = call ptr @local(); %x = load i64, ptr %s", "local has returned"),
    "nsw": (
        "%a = add nsw i64 9223372036854775807, %n; %c = icmp slt i64 %a, 0; br i1 %c, label %entry, label %entry",
        "%a = add nsw .*nsw is broken by",
    ),
    "nuw": ("%a = sub nuw i64 %n, 4; store i64 %a, ptr %p", "stores what is undefined in .*nuw is broken"),
    "mul nsw": ("%a = mul nsw i64 4611686018427387904, %n; store i64 %a, ptr %p", "nsw is broken"),
    "exact": ("%a = sdiv exact i64 %n, 2; store i64 %a, ptr %p", "exact is broken"),
    "lshr exact": ("%a = lshr exact i64 %n, 1; store i64 %a, ptr %p", "exact is broken"),
    "inbounds": ("%a = getelementptr inbounds double, ptr %p, i64 5; %x = load i8, ptr %a", "inbounds is broken"),
    "prefetch": (
        "%a = getelementptr inbounds double, ptr %p, i64 5; call void @llvm.prefetch.p0(ptr %a, i32 0, i32 2, i32 1)",
        "inbounds is broken",
    ),
    "shift": ("%w = mul i64 %n, 30; %a = shl i64 1, %w; store i64 %a, ptr %p", "the width is broken by"),
    "undef": ("%a = add i64 undef, 1; store i64 %a, ptr %p", "the constant undef"),
    "lane": (
        "%a = insertelement <2 x double> undef, double 1.0, i32 0; store <2 x double> %a, ptr %p, align 8",
        "stores what is undefined",
    ),
    "conversion": ("%a = fptosi double 0x43E0000000000000 to i64; store i64 %a, ptr %p", "does not fit i64"),
    "address": (f"%a = add nuw i64 -1, %n; {SLOT}; %b = getelementptr i8, ptr %s, i64 %a; store i8 0, ptr %b", "undef"),
    "zero divisor": ("%z = sub i64 %n, 3; %a = udiv i64 %n, %z", "the divisor is zero"),
    "quotient": ("%a = sdiv i64 -9223372036854775808, -1", "does not fit i64"),
    "unreachable": ("unreachable", "was reached"),
    "unknown function": ("call void @nowhere()", "the function nowhere is not known"),
    "unknown address": ("call void %p()", "is no function that is known"),
    "unknown intrinsic": ("%a = call i64 @llvm.ctpop.i64(i64 %n)", "llvm.ctpop.i64 is not known"),
    "unknown instruction": ("%a = freeze i64 %n", "freeze is not known"),
    "fast": ("%a = fadd fast double 1.0, 1.0", "the flag fast is not known"),
    "endless": ("br label %loop;loop:;br label %loop", "block loop.*without an end"),
    "noalias": ("call void @two(ptr %p, ptr %p)", "noalias of two"),
    "noalias beside another": ("call void @one(ptr %p, ptr %p)", "and another pointer of one"),
    "readonly": ("call void @reading(ptr %p)", "%x leads to, which is readonly"),
    "noundef": ("call void @defined(i64 undef)", "%x is noundef"),
    "nonnull": ("call void @there(ptr null)", "%x is nonnull, and null"),
    "range": ("call void @few(i64 %n)", "is 3, and not from 0 to 3"),
    "range of an argument": ("call void @defined(i64 range(i64 4, 9) %n)", "argument 1 is 3"),
    "assumption": ("%c = icmp eq i64 %n, 4; call void @llvm.assume(i1 %c)", "does not hold"),
    "metadata": ("store i64 5, ptr %p; %x = load i64, ptr %p, !range !0", "5, which is out of its range"),
    "mode": ("%s = alloca i32; store i32 0, ptr %s; call void @llvm.x86.sse.ldmxcsr(ptr %s)", "the mode 0x0"),
    "flushing": (
        "%s = alloca i32; store i32 40896, ptr %s; call void @llvm.x86.sse.ldmxcsr(ptr %s); %x = fadd double 0.0, 1.0",
        "no denormal-fp-math of dynamic",
    ),
    "overlapping copy": (
        "%a = getelementptr i8, ptr %p, i64 8; call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %p, i64 16, i1 false)",
        "overlaps",
    ),
    "no number": (f"{SLOT}; store i8 2, ptr %s; %x = load i1, ptr %s", "2 is no i1"),
    "name": ("store i64 %m, ptr %p", "m: used and never set"),
}
BESIDE = """\
define ptr @local() {
  %s = alloca i64
  store i64 1, ptr %s
  ret ptr %s
}
define void @two(ptr noalias %x, ptr noalias %y) {
  %a = getelementptr i8, ptr %x, i64 8
  %v = load i8, ptr %a
  store i64 1, ptr %y
  %b = getelementptr i64, ptr %y, i64 1
  store i64 2, ptr %b
  ret void
}
define void @one(ptr noalias %x, ptr %y) {
  %v = load i64, ptr %y
  store i64 %v, ptr %x
  ret void
}
define void @reading(ptr readonly %x) {
  %a = getelementptr i64, ptr %x, i64 1
  store i64 1, ptr %a
  ret void
}
define void @defined(i64 noundef %x) {
  ret void
}
define void @there(ptr nonnull %x) {
  ret void
}
define void @few(i64 range(i64 0, 3) %x) {
  ret void
}
declare void @nowhere()
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.assume(i1)
!0 = !{ i64 0, i64 5 }
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named(fault: str) -> None:
    lines, message = FAULTS[fault]
    machine = Machine(body(lines) + BESIDE, limit=1000)
    x, y = np.zeros(4), np.zeros(4)
    with pytest.raises(LlvmError, match=message) as error:
        machine.call("f", machine.memory.register(x), machine.memory.register(y, writable=False), 3)
    assert re.search(
        r"(f|two|one|few|there|defined|local|reading), (block \w+, )?line \d+: |f, block loop: ", str(error.value)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (body("ret void", parameters="ptr sret %p"), "the attribute sret is not known"),
        ("define void @f() minsize {\n  ret void\n}", "line 1: .*the attribute minsize is not known"),
        ('!0 = distinct !{!0, !{!"llvm.loop.parallel_accesses", !1}}', "line 1: .*metadata is not known"),
        ("@x = external thread_local global i64", "'thread_local' is not known"),
        ('target datalayout = "e-p:32:32"', "line 1: "),
        ("define void @f() {\n  ret void", "line 2: the text ends within f"),
        ("define void @f() {\n  %x = add i64 1, 2\n}", "a block ends with one instruction that leaves it"),
        ("define void @f() {\n  %x = load x86_fp80, ptr null\n  ret void\n}", "'x86_fp80' is no type"),
    ],
)
def test_what_is_not_known_is_refused(text: str, message: str) -> None:
    with pytest.raises(LlvmError, match=message):
        Machine(text).call("f", *[0] * text.count("ptr sret"))


def test_what_is_undefined_may_pass() -> None:
    """Nothing is wrong with it until something depends on it."""
    chosen = "%a = add nuw i64 -1, %n; %b = select i1 true, i64 %n, i64 %a; store i64 %b, ptr %p"
    copied = f"{SLOT}; store i64 undef, ptr %s; store i64 %n, ptr %s; %c = load i64, ptr %s; store i64 %c, ptr %p"
    splat = "%v = insertelement <4 x double> undef, double 2.0, i32 0; "
    splat += "%w = shufflevector <4 x double> %v, <4 x double> undef, <4 x i32> zeroinitializer; "
    splat += "store <4 x double> %w, ptr %p, align 8"
    for lines in (chosen, copied, splat):
        x = np.zeros(4)
        machine = Machine(body(lines))
        machine.call("f", machine.memory.register(x), 0, 3)
        assert (x == 2).all() if lines == splat else x.view(np.int64)[0] == 3


# ---------------------------------------------------------------- beside the machine

INTS, REALS = ("i8", "i16", "i32", "i64"), ("float", "double")
CASES: list[tuple[str, tuple[str, ...], str]] = [
    *((t, (t, t), f"{op} {t} A, B") for t in INTS for op in ("add", "sub", "mul", "and", "or", "xor", "udiv", "srem")),
    *((t, (t, t), f"{op} {t} A, B") for t in ("i32", "i64") for op in ("sdiv", "urem", "shl", "lshr", "ashr")),
    *((t, (t, t), f"{op} nsw {t} A, B") for t in ("i32", "i64") for op in ("add", "sub", "mul", "shl")),
    *((t, (t, t), f"{op} nuw {t} A, B") for t in ("i32", "i64") for op in ("add", "sub", "mul")),
    *(
        ("i1", (t, t), f"icmp {op} {t} A, B")
        for t in ("i8", "i64")
        for op in ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
    ),
    *((t, (t, t), f"{op} {t} A, B") for t in REALS for op in ("fadd", "fsub", "fmul", "fdiv")),
    *(
        ("i1", (t, t), f"fcmp {op} {t} A, B")
        for t in REALS
        for op in ("oeq", "one", "olt", "ole", "ogt", "oge", "ord", "ueq", "une", "ult", "ule", "ugt", "uge", "uno")
    ),
    *((t, (t,), f"fneg {t} A") for t in REALS),
    *((to, (t,), f"trunc {t} A to {to}") for t, to in (("i64", "i32"), ("i32", "i8"), ("i64", "i16"), ("i16", "i1"))),
    *((to, (t,), f"{op} {t} A to {to}") for op in ("zext", "sext") for t, to in (("i8", "i32"), ("i32", "i64"))),
    ("float", ("double",), "fptrunc double A to float"),
    ("half", ("float",), "fptrunc float A to half"),
    ("double", ("float",), "fpext float A to double"),
    ("float", ("half",), "fpext half A to float"),
    *((to, (t,), f"fptosi {t} A to {to}") for t in REALS for to in ("i32", "i64")),
    *((to, (t,), f"{op} {t} A to {to}") for op in ("sitofp", "uitofp") for t in ("i32", "i64") for to in REALS),
    ("i64", ("double",), "bitcast double A to i64"),
    ("float", ("i32",), "bitcast i32 A to float"),
    *((t, ("i1", t, t), f"select i1 A, {t} B, {t} C") for t in ("i32", "double")),
]
ONLY: list[tuple[str, tuple[str, ...], str]] = [
    ("i32", ("<4 x i8>",), "bitcast <4 x i8> A to i32"),
    ("i16", ("<16 x i1>",), "bitcast <16 x i1> A to i16"),
    ("<8 x i64>", ("<16 x i32>",), "bitcast <16 x i32> A to <8 x i64>"),
    ("<4 x i32>", ("<4 x i32>", "i32"), "insertelement <4 x i32> A, i32 B, i32 2"),
    ("double", ("<4 x double>",), "extractelement <4 x double> A, i32 3"),
    ("<2 x i64>", ("<4 x i64>", "<4 x i64>"), "shufflevector <4 x i64> A, <4 x i64> B, <2 x i32> <i32 7, i32 1>"),
    ("i64", ("<8 x i64>",), "call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> A)"),
    ("i32", ("<16 x i32>",), "call i32 @llvm.vector.reduce.smax.v16i32(<16 x i32> A)"),
    ("float", ("float", "<16 x float>"), "call float @llvm.vector.reduce.fadd.v16f32(float A, <16 x float> B)"),
    ("i128", ("i128", "i128"), "mul i128 A, B"),
    *(
        (t, (t,), f"call {t} @llvm.{name}.{suffix}({t} A)")
        for t, suffix in (("float", "f32"), ("double", "f64"), ("<8 x float>", "v8f32"), ("<4 x double>", "v4f64"))
        for name in ("fabs", "sqrt", "floor", "rint")
    ),
    *(
        (t, (t, t, t), f"call {t} @llvm.fma.{suffix}({t} A, {t} B, {t} C)")
        for t, suffix in (("float", "f32"), ("double", "f64"), ("<8 x float>", "v8f32"))
    ),
]  # fmt: skip
WIDTHS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16, "half": 2, "float": 4, "double": 8}
LANES = 8


def on_vectors(case: tuple[str, tuple[str, ...], str]) -> tuple[str, tuple[str, ...], str]:
    """The same instruction on vectors."""
    result, types, text = case
    wide = re.sub(r"\b(i\d+|half|float|double)\b", rf"<{LANES} x \1>", text)
    return f"<{LANES} x {result}>", tuple(f"<{LANES} x {t}>" for t in types), wide


def module(cases: Sequence[tuple[str, tuple[str, ...], str]]) -> str:
    """Functions @f0, @f1, ..., which read their operands from memory and write their result there, and @in, which calls
    one of them in a mode."""
    lines, declared = [], set()
    for k, (result, types, text) in enumerate(cases):
        lines.append(f"define void @f{k}(ptr %r, {', '.join(f'ptr %p{j}' for j in range(len(types)))}) {DYNAMIC} {{")
        for j, (type, letter) in enumerate(zip(types, "ABC", strict=False)):
            bits = re.fullmatch(r"(?:<(\d+) x )?i1>?", type)  # a byte each in memory
            if bits:
                octets = type.replace("i1", "i8")
                zeros = "zeroinitializer" if bits[1] else "0"
                lines += [f"  %o{j} = load {octets}, ptr %p{j}, align 1", f"  %a{j} = icmp ne {octets} %o{j}, {zeros}"]
            else:
                lines.append(f"  %a{j} = load {type}, ptr %p{j}, align 1")
            text = re.sub(rf"\b{letter}\b", f"%a{j}", text)
        lines.append(f"  %x = {text}")
        value = f"{result} %x"
        if re.fullmatch(r"(?:<(\d+) x )?i1>?", result):
            value = f"{result.replace('i1', 'i8')} %y"
            lines.append(f"  %y = zext {result} %x to {result.replace('i1', 'i8')}")
        lines += [f"  store {value}, ptr %r, align 1", "  ret void", "}"]
        if match := re.search(r"call (.+) (@llvm\.[\w.]+)\((.*)\)", text):
            arguments = ", ".join(x.rsplit(" ", 1)[0] for x in re.split(r", (?=[<a-z])", match[3]))
            declared.add(f"declare {match[1]} {match[2]}({arguments})")
    return "\n".join([*lines, IN, *sorted(declared)])


IN = f"""\
define void @in(i32 %mode, ptr %f, ptr %r, ptr %x, ptr %y, ptr %z) noinline optnone {DYNAMIC} {{
  %before = alloca i32
  %s = alloca i32
  store i32 %mode, ptr %s
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  call void @llvm.x86.sse.ldmxcsr(ptr %s)
  call void %f(ptr %r, ptr %x, ptr %y, ptr %z)
  call void @llvm.x86.sse.ldmxcsr(ptr %before)
  ret void
}}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""


def size(type: str) -> int:
    match = re.fullmatch(r"<(\d+) x (\w+)>", type)
    return int(match[1]) * WIDTHS[match[2]] if match else WIDTHS[type]


def operand(rng: np.random.Generator, type: str) -> np.ndarray:
    """Bytes: any, or numbers at the limits and near one."""
    element = type.split()[-1].rstrip(">")
    if element == "i1":
        return rng.integers(0, 2, size(type)).astype(np.uint8)
    if element in ("half", "float", "double"):
        dtype = np.dtype(f"f{WIDTHS[element]}")
        info = np.finfo(dtype)
        strange = [0.0, -0.0, 1.5, -2.5, 3e9, np.inf, -np.inf, np.nan, info.max, info.tiny, -info.tiny]
        strange += [info.smallest_subnormal, info.tiny * 0.75, np.sqrt(info.tiny), np.sqrt(info.tiny) * (1 - info.eps)]
        count = size(type) // dtype.itemsize
        with np.errstate(all="ignore"):
            usual = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)
            chosen = rng.choice(np.array(strange).astype(dtype), count)
        return np.where(rng.random(count) < rng.choice([0.5, 1]), usual, chosen).view(np.uint8)
    found = rng.integers(0, 256, size(type)).astype(np.uint8)
    small = np.zeros(size(type), np.uint8)
    small[:: WIDTHS[element]] = rng.integers(0, 9, len(small[:: WIDTHS[element]]))
    return found if rng.random() < 0.5 else small


@pytest.mark.skipif("f16c" not in target.host().required(), reason="it sets the mode of x86, and converts to half")
def test_every_instruction_agrees_with_the_machine() -> None:
    """In both modes; where the interpreter says that the result is undefined, the machine is not asked."""
    cases = [*CASES, *map(on_vectors, CASES), *ONLY]
    text = module(cases)
    machine = Machine(text)
    names = [f"f{k}" for k in range(len(cases))]
    code = target.compile_ir(text, target.host(), "none").object
    addresses = link.link(code, *names, "in")
    call = ctypes.CFUNCTYPE(None, ctypes.c_int32, *[ctypes.c_void_p] * 5)(addresses["in"])
    rng, agreed = np.random.default_rng(3), dict.fromkeys(names, 0)
    for name, (result, types, instruction) in zip(names, cases, strict=True):
        for turn in range(40):
            if agreed[name] == 4:
                break
            mode = 0x9FC0 if turn % 2 else 0x1F80
            given = [operand(rng, type) for type in (*types, *["i8"] * (3 - len(types)))]
            ours, theirs = (np.zeros(size(result), np.uint8) for _ in range(2))
            machine.memory.clear()
            places = [machine.memory.register(x) for x in (ours, *given)]
            machine.control.set(mode)
            try:
                machine.call(name, *places[: 1 + len(types)])
            except LlvmError as error:
                assert re.search("undefined|divisor|fit", str(error)), error
                continue
            call(mode, addresses[name], theirs.ctypes.data, *(x.ctypes.data for x in given))
            element = result.split()[-1].rstrip(">")
            if element in ("half", "float", "double"):
                kind = f"f{WIDTHS[element]}"
                nan = np.isnan(ours.view(kind)) & np.isnan(theirs.view(kind))
                ours.view(kind)[nan] = theirs.view(kind)[nan] = 0
            assert ours.tobytes() == theirs.tobytes(), (instruction, hex(mode), [x.tobytes() for x in given])
            agreed[name] += 1
    assert [cases[names.index(name)] for name, count in agreed.items() if not count] == []
    assert sum(agreed.values()) > 3.7 * len(cases)
