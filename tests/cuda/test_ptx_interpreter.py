"""The PTX interpreter of the tests: each instruction beside Python's integers and fractions, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.cuda.assemble import assemble, ptxas
from tests.cuda.snippets import HEADER, execute, kernel

TYPES = {f"{k}{8 * n}": np.dtype(f"{'i' if k == 's' else 'u'}{n}") for k in "sub" for n in (1, 2, 4, 8)}
TYPES |= {"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8")}
REG = {2: "%h", 4: "%r", 8: "%d"}


def operation(instruction: str, to: str, *of: str, name: str = "k") -> str:
    """A kernel that loads A, B, C of these types, executes the instruction, and stores D; P is a predicate."""
    out = TYPES[to].itemsize
    lines, names = [], {"D": f"{REG[max(2, out)]}19", "P": "%p19", "Q": "%p18"}
    for k, (letter, type) in enumerate(zip("ABC", of, strict=False)):
        size = TYPES[type].itemsize
        names[letter] = f"{REG[max(2, size)]}{10 + k}"
        kind = "b" if size > 1 else type[0]
        lines.append(f"mul.wide.u32 %d9, %r0, {size}; add.s64 %d9, %d{k + 1}, %d9;")
        lines.append(f"ld.global.{kind}{8 * size} {names[letter]}, [%d9];")
    for letter, register in names.items():
        instruction = instruction.replace(letter, register)
    lines += [instruction, f"mul.wide.u32 %d9, %r0, {out}; add.s64 %d9, %d0, %d9;"]
    lines.append(f"st.global.b{8 * out} [%d9], {names['D']};")
    return kernel("\n".join(lines), 1 + len(of), name)


def apply(instruction: str, to: str, *sources: tuple[str, np.ndarray]) -> np.ndarray:
    count = len(sources[0][1])
    result = np.zeros(count, TYPES[to])
    text = HEADER + operation(instruction, to, *(type for type, _ in sources))
    execute(text, [result, *(x for _, x in sources)], grid=count // 16, block=16)
    return result


def integers(type: str, count: int, seed: int) -> np.ndarray:
    """Random ones, small ones, and those at the limits."""
    dtype = TYPES[type]
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    values = rng.integers(info.min, info.max, count, dtype, endpoint=True)
    edges = [info.min, info.max, 0, 1, 31, 32, 33, 64, info.max // 2]
    return np.where(rng.random(count) < 0.5, rng.choice(np.array(edges, dtype), count), values)


def floats(type: str, count: int, seed: int) -> np.ndarray:
    """Any bits, numbers near one, and special ones."""
    dtype, rng = TYPES[type], np.random.default_rng(seed)
    bits = rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    near = (rng.standard_normal(count) * 4).astype(dtype)
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.5, 2.5, math.inf, -math.inf, math.nan, info.max, info.tiny, info.smallest_subnormal]
    kind = rng.integers(0, 3, count)
    return np.select([kind == 0, kind == 1], [bits, near], rng.choice(np.array(edges, dtype), count))


def unsigned(x: int, bits: int) -> int:
    return x % (1 << bits)


def signed(x: int, bits: int) -> int:
    return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def extract(a: int, start: int, length: int, bits: int, sign: bool) -> int:
    """PTX's definition of bfe, bit by bit."""
    start, length = start & 255, length & 255
    top = a >> min(start + length - 1, bits - 1) & 1 if sign and length else 0
    taken = [a >> (start + k) & 1 if k < length and start + k < bits else top for k in range(bits)]
    return sum(bit << k for k, bit in enumerate(taken))


def insert(a: int, b: int, start: int, length: int) -> int:
    for k in range(length & 255):
        if (start & 255) + k < 32:
            place = (start & 255) + k
            b = b & ~(1 << place) | (a >> k & 1) << place
    return b


def permute(a: int, b: int, selector: int) -> int:
    octets = (b << 32 | a).to_bytes(8, "little")
    chosen = [selector >> 4 * k & 15 for k in range(4)]
    return int.from_bytes([octets[n & 7] if n < 8 else 255 * (octets[n & 7] >> 7) for n in chosen], "little")


# instruction, type of the result, types of the sources, what it is of Python's integers (taken modulo the result).
INTEGERS: list[tuple[str, str, tuple[str, ...], Callable[..., int]]] = [
    *((f"add.{t} D, A, B;", t, (t, t), lambda a, b: a + b) for t in ("s16", "u32", "s64")),
    *((f"sub.{t} D, A, B;", t, (t, t), lambda a, b: a - b) for t in ("u16", "s32", "u64")),
    *((f"mul.lo.{t} D, A, B;", t, (t, t), lambda a, b: a * b) for t in ("s16", "u32", "s64")),
    *((f"mul.hi.{t} D, A, B;", t, (t, t), lambda a, b, n=int(t[1:]): a * b >> n) for t in ("s32", "u32", "s64", "u64")),
    *((f"mul.wide.{t}16 D, A, B;", f"{t}32", (f"{t}16",) * 2, lambda a, b: a * b) for t in "su"),
    *((f"mul.wide.{t}32 D, A, B;", f"{t}64", (f"{t}32",) * 2, lambda a, b: a * b) for t in "su"),
    ("mad.lo.s32 D, A, B, C;", "s32", ("s32",) * 3, lambda a, b, c: a * b + c),
    ("mad.hi.u64 D, A, B, C;", "u64", ("u64",) * 3, lambda a, b, c: (a * b >> 64) + c),
    ("mad.wide.s32 D, A, B, C;", "s64", ("s32", "s32", "s64"), lambda a, b, c: a * b + c),
    *((f"div.{t} D, A, B;", t, (t, t), quotient) for t in ("s32", "u32", "s64", "u64", "s16")),
    *((f"rem.{t} D, A, B;", t, (t, t), lambda a, b: a - b * quotient(a, b)) for t in ("s32", "u64")),
    *((f"min.{t} D, A, B;", t, (t, t), min) for t in ("s32", "u64")),
    *((f"max.{t} D, A, B;", t, (t, t), max) for t in ("u32", "s64", "s16")),
    ("and.b32 D, A, B;", "b32", ("b32",) * 2, lambda a, b: a & b),
    ("or.b64 D, A, B;", "b64", ("b64",) * 2, lambda a, b: a | b),
    ("xor.b16 D, A, B;", "b16", ("b16",) * 2, lambda a, b: a ^ b),
    ("xor.b32 D, A, -5;", "b32", ("b32",), lambda a: a ^ -5),
    ("not.b64 D, A;", "b64", ("b64",), lambda a: ~a),
    ("neg.s32 D, A;", "s32", ("s32",), lambda a: -a),
    ("abs.s64 D, A;", "s64", ("s64",), abs),
    *((f"shl.b{n} D, A, B;", f"b{n}", (f"b{n}", "u32"), lambda a, b: a << min(b, 64)) for n in (16, 32, 64)),
    *((f"shr.{t} D, A, B;", t, (t, "u32"), lambda a, b: a >> b) for t in ("s16", "u32", "s32", "b64", "s64")),
    ("shl.b32 D, A, 31;", "b32", ("b32",), lambda a: a << 31),
    ("shr.s64 D, A, 77;", "s64", ("s64",), lambda a: a >> 77),
    ("shf.l.wrap.b32 D, A, B, C;", "b32", ("b32",) * 3, lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
    ("shf.r.wrap.b32 D, A, B, C;", "b32", ("b32",) * 3, lambda a, b, c: (b << 32 | a) >> (c & 31)),
    ("shf.l.clamp.b32 D, A, B, C;", "b32", ("b32",) * 3, lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32),
    ("shf.r.clamp.b32 D, A, B, C;", "b32", ("b32",) * 3, lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ("prmt.b32 D, A, B, C;", "b32", ("b32",) * 3, permute),
    ("prmt.b32 D, A, B, 0x7b90;", "b32", ("b32",) * 2, lambda a, b: permute(a, b, 0x7B90)),
    ("bfe.u32 D, A, B, C;", "u32", ("u32",) * 3, lambda a, b, c: extract(a, b, c, 32, False)),
    ("bfe.s32 D, A, B, C;", "s32", ("s32", "u32", "u32"), lambda a, b, c: extract(a, b, c, 32, True)),
    ("bfe.s64 D, A, B, C;", "s64", ("s64", "u32", "u32"), lambda a, b, c: extract(a, b, c, 64, True)),
    ("bfi.b32 D, A, B, 5, C;", "b32", ("b32",) * 3, lambda a, b, c: insert(a, b, 5, c)),
    ("bfi.b32 D, A, B, C, 9;", "b32", ("b32",) * 3, lambda a, b, c: insert(a, b, c, 9)),
    ("popc.b64 D, A;", "u32", ("b64",), int.bit_count),
    ("clz.b32 D, A;", "u32", ("b32",), lambda a: 32 - a.bit_length()),
    ("clz.b64 D, A;", "u32", ("b64",), lambda a: 64 - a.bit_length()),
    ("brev.b32 D, A;", "b32", ("b32",), lambda a: int(f"{a:032b}"[::-1], 2)),
    ("cvt.s64.s32 D, A;", "s64", ("s32",), lambda a: a),
    ("cvt.u64.u32 D, A;", "u64", ("u32",), lambda a: a),
    ("cvt.u32.u64 D, A;", "u32", ("u64",), lambda a: a),
    ("cvt.s32.s8 D, A;", "s32", ("u32",), lambda a: signed(a, 8)),
    ("cvt.u16.u32 D, A;", "u16", ("u32",), lambda a: a),
    ("cvt.u8.u32 D, A;", "u16", ("u32",), lambda a: unsigned(a, 8)),
    ("cvt.s64.s8 D, A;", "s64", ("s8",), lambda a: a),
    ("setp.lo.u32 P, A, B; selp.b32 D, A, B, P;", "u32", ("u32",) * 2, min),
    ("setp.gt.s64 P|Q, A, B; selp.b64 D, A, B, Q;", "s64", ("s64",) * 2, min),
    ("setp.eq.b16 P, A, 0; selp.b16 D, 7, A, P;", "b16", ("b16",), lambda a: a or 7),
    ("setp.ge.s32 P, A, 0; setp.lt.and.s32 Q, A, 9, P; selp.b32 D, 1, 0, Q;", "b32", ("s32",), lambda a: 0 <= a < 9),
    (
        "setp.ge.s32 P, A, 0; setp.lt.or.s32 Q, A, B, !P; selp.s32 D, 1, 0, Q;",
        "b32",
        ("s32",) * 2,
        lambda a, b: a < 0 or a < b,
    ),
    ("setp.ne.b32 P, A, B; not.pred Q, P; xor.pred P, P, Q; selp.b32 D, 3, 4, P;", "b32", ("b32",) * 2, lambda a, b: 3),
    ("mov.b64 D, {A, B};", "b64", ("b32",) * 2, lambda a, b: b << 32 | a),
    ("mov.b64 {_, D}, A;", "b32", ("b64",), lambda a: a >> 32),
    ("mov.b32 {%h1, %h2}, A; mov.b32 D, {%h2, %h1};", "b32", ("b32",), lambda a: a >> 16 | a << 16),
    (
        "{ .reg .b16 t; mov.b32 {t, %h1}, A; } { .reg .b32 t; mov.b32 t, 5; cvt.u32.u16 D, %h1; add.u32 D, D, t; }",
        "b32",
        ("b32",),
        lambda a: (a >> 16) + 5,
    ),
    ("mov.pred P, -1; mov.u32 %r5, 0x11; selp.b32 D, %r5, A, P;", "b32", ("b32",), lambda a: 17),
]


@pytest.mark.parametrize("case", INTEGERS, ids=lambda case: case[0])
def test_integers_are_those_of_python(case: tuple[str, str, tuple[str, ...], Callable[..., int]]) -> None:
    instruction, to, of, meaning = case
    sources = [integers(type, 512, seed) for seed, type in enumerate(of)]
    if instruction.startswith(("div", "rem")):
        sources[1][sources[1] == 0] = 3
    bits = 8 * TYPES[to].itemsize
    wrap = signed if to.startswith("s") else unsigned
    expected = [wrap(meaning(*map(int, row)), bits) for row in zip(*sources, strict=True)]
    assert apply(instruction, to, *zip(of, sources, strict=True)).tolist() == expected


def nearest(x: Fraction, type: str) -> float:
    """The float nearest to x, ties to even; Python's quotient of integers is that of float64."""
    digits, least, greatest = {"f16": (11, -24, 15), "f32": (24, -149, 127), "f64": (53, -1074, 1023)}[type]
    if x == 0:
        return 0.0
    # The place of the last digit, or two below it.
    exponent = max(x.numerator.bit_length() - x.denominator.bit_length() - digits - 1, least)
    while abs(x) / Fraction(2) ** exponent >= 2**digits:
        exponent += 1
    value = round(x / Fraction(2) ** exponent) * Fraction(2) ** exponent
    if abs(value) >= Fraction(2) ** (greatest + 1):
        return math.inf if x > 0 else -math.inf
    return float(value)


NANS = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8 << 48}
EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("name", ["add.f16", "mul.f16", *(f"{n}.f32" for n in EXACT), "add.f64", "mul.f64", "div.f64"])
def test_float_arithmetic_is_exact_and_then_rounded(name: str) -> None:
    op, type = name.split(".")
    sources = [floats(type, 1024, seed) for seed in range(3 if op == "fma" else 2)]
    if op == "fma":
        # Where the product nearly cancels the sum, a second rounding would show.
        with np.errstate(all="ignore"):
            sources[2][::4] = -(sources[0][::4].astype("f8") * sources[1][::4]).astype("f4")
    result = apply(f"{op}.rn.{type} D, {', '.join('ABC'[: len(sources)])};", type, *((type, x) for x in sources))
    with np.errstate(all="ignore"):
        loose = (EXACT[op])(*(x.astype("f8") for x in sources))
    seen = 0
    for got, guess, row in zip(result, loose, zip(*sources, strict=True), strict=True):
        if all(map(np.isfinite, row)) and (op != "div" or row[1]):
            exact = EXACT[op](*map(Fraction, map(float, row)))
            if exact:
                seen += 1
                assert float(got) == nearest(exact, type), row
                continue
        if np.isnan(guess):
            assert got.view(f"u{got.itemsize}") == NANS[type], row
        else:
            # Infinities and zeros are the same in any precision.
            assert got == guess and np.signbit(got) == np.signbit(guess), row
    assert seen > 300


def test_packed_floats_are_two() -> None:
    pairs = [floats("f32", 256, seed) for seed in (1, 2)]
    halves = [apply("mul.rn.f32 D, A, B;", "f32", ("f32", pairs[0]), ("f32", pairs[1])).view("u8")]
    packed = apply("mul.rn.f32x2 D, A, B;", "b64", *(("b64", x.view("u8")) for x in pairs))
    assert packed.tolist() == halves[0].tolist()


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_functions_of_one_float(type: str) -> None:
    x = floats(type, 1024, 5)
    number = ~np.isnan(x)
    bits = {"f32": "u4", "f64": "u8"}[type]
    with np.errstate(all="ignore"):
        for name, f in (("neg", np.negative), ("abs", np.abs), ("rcp.rn", lambda v: 1 / v), ("sqrt.rn", np.sqrt)):
            got = apply(f"{name}.{type} D, A;", type, (type, x))
            expected = f(x)
            expected.view(bits)[np.isnan(expected)] = NANS[type]
            assert got.tobytes() == expected.tobytes(), name
    for got, value in zip(apply(f"sqrt.rn.{type} D, A;", type, (type, x)), x, strict=True):
        if math.isfinite(value) and value > 0:
            root, half = Fraction(float(got)), Fraction(float(np.spacing(got))) / 2
            assert (root - half) ** 2 <= Fraction(float(value)) <= (root + half) ** 2
    for mode, g in (("rni", round), ("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil)):
        got = apply(f"cvt.{mode}.{type}.{type} D, A;", type, (type, x))
        finite = np.isfinite(x)
        assert [float(g(float(v))) for v in x[finite]] == got[finite].tolist()
        assert np.array_equal(np.signbit(got[number]), np.signbit(x[number]))
        assert set(got[~number].view(bits).tolist()) == {NANS[type]}
    sign = apply(f"copysign.{type} D, A, B;", type, (type, x[::-1].copy()), (type, x))
    assert np.array_equal(np.abs(sign[number]), np.abs(x[number]))
    assert np.array_equal(np.signbit(sign), np.signbit(x[::-1]))


def to_integer(x: float, mode: str, to: str, of: str) -> int:
    """PTX ISA 9.0, cvt: rounded, clamped; NaN is 0, or the highest bit alone from f64 and to 64 bits."""
    low, high = int(np.iinfo(TYPES[to]).min), int(np.iinfo(TYPES[to]).max)
    if math.isnan(x):
        return (low or high // 2 + 1) if of == "f64" or to.endswith("64") else 0
    if math.isinf(x):
        return high if x > 0 else low
    return max(low, min(high, {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](x)))


@pytest.mark.parametrize("to", ["s32", "u32", "s64", "u64", "s16", "u8"])
def test_floats_to_integers(to: str) -> None:
    for of in ("f32", "f64", "f16"):
        x = floats(of, 512, 6)
        with np.errstate(over="ignore"):
            x[::3] = np.random.default_rng(7).standard_normal(len(x[::3])) * 2.0 ** int(to[1:])
        for mode in ("rni", "rzi"):
            register = "u16" if to == "u8" else to
            got = apply(f"cvt.{mode}.{to}.{of} D, A;", register, (of, x)).tolist()
            assert got == [
                unsigned(v, 16) if to == "u8" else v for v in (to_integer(float(y), mode, to, of) for y in x)
            ]


def test_other_conversions_of_floats() -> None:
    for to, of in (("f32", "s32"), ("f32", "u64"), ("f32", "s64"), ("f64", "s64"), ("f64", "u32")):
        x = integers(of, 512, 8)
        assert apply(f"cvt.rn.{to}.{of} D, A;", to, (of, x)).tolist() == [nearest(Fraction(int(v)), to) for v in x]
    for to, of in (("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("f64", "f32"), ("f32", "f16"), ("f64", "f16")):
        x = floats(of, 1024, 9)
        rounding = ".rn" if TYPES[to].itemsize < TYPES[of].itemsize else ""
        got = apply(f"cvt{rounding}.{to}.{of} D, A;", to, (of, x))
        for y, v in zip(got, x, strict=True):
            if np.isnan(v):
                assert y.view(f"u{y.itemsize}") == NANS[to]
            else:
                assert float(y) == (nearest(Fraction(float(v)), to) if np.isfinite(v) else float(v))
                assert np.signbit(y) == np.signbit(v)
    pair = apply("cvt.rn.f16x2.f32 D, A, B;", "b32", ("f32", floats("f32", 512, 1)), ("f32", floats("f32", 512, 2)))
    above, below = (apply("cvt.rn.f16.f32 D, A;", "b16", ("f32", floats("f32", 512, n))) for n in (1, 2))
    assert pair.tolist() == (above.astype("u4") << 16 | below).tolist()


def test_comparisons_of_floats() -> None:
    a, b = floats("f64", 1024, 1), floats("f64", 1024, 2)
    b[::5] = a[::5]
    ordered = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    for name in (*ordered, *(f"{n}u" for n in ordered), "num", "nan"):
        got = apply(f"setp.{name}.f64 P, A, B; selp.b32 D, 1, 0, P;", "u32", ("f64", a), ("f64", b)).tolist()
        for x, y, result in zip(a.tolist(), b.tolist(), got, strict=True):
            nan = math.isnan(x) or math.isnan(y)
            plain = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
            expected = {"num": not nan, "nan": nan}.get(name)
            if expected is None:
                expected = nan if name.endswith("u") and nan else plain[name[:2]] and not nan
            assert result == expected, (name, x, y)
    kinds = [apply(f"testp.{n}.f64 P, A; selp.b32 D, 1, 0, P;", "u32", ("f64", a)) for n in ("number", "notanumber")]
    assert np.array_equal(kinds[0], ~np.isnan(a)) and np.array_equal(kinds[1], np.isnan(a))


def test_loads_extend_and_stores_cut() -> None:
    x = integers("u8", 64, 3)
    body = """mul.wide.u32 %d5, %r0, 1; add.s64 %d6, %d1, %d5; add.s64 %d9, %d2, %d5; mul.wide.u32 %d7, %r0, 16;
        add.s64 %d8, %d0, %d7; ld.global.nc.L1::no_allocate.u8 %r5, [%d6]; ld.global.s8 %r6, [%d6];
        ld.u8 %d10, [%d6]; cvt.u32.u64 %r7, %d10; ld.global.b8 %h1, [%d6]; cvt.s32.s16 %r8, %h1;
        st.global.v4.b32 [%d8], {%r5, %r6, %r7, %r8}; ld.global.v2.b64 {%d11, _}, [%d8+0];
        st.global.b8 [%d9], %d11;"""
    out, back = np.zeros((64, 4), np.int32), np.zeros(64, np.uint8)
    execute(HEADER + kernel(body, 3), [out, x, back], block=64)
    assert np.array_equal(out, np.stack([x, x.view(np.int8), x, x], axis=1).astype(np.int32))
    assert np.array_equal(back, x)


@pytest.mark.skipif(ptxas() is None, reason="ptxas is neither on PATH nor in the package nvidia-cuda-nvcc")
def test_the_instructions_of_these_tests_are_ptx() -> None:
    text = "".join(operation(code, to, *of, name=f"k{n}") for n, (code, to, of, _) in enumerate(INTEGERS))
    usages = assemble(HEADER + text, "sm_75")
    assert len(usages) == len(INTEGERS)
    assert all(0 < use.registers < 64 and not use.spill_stores for use in usages.values())
