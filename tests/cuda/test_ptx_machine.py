"""The PTX interpreter of the tests: threads that part and meet, memory, what LLVM emits, and what is an error."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.cuda.assemble import AssemblerError, assemble, ptxas
from tests.cuda.ptx import Memory, Module, PtxError
from tests.cuda.snippets import HEADER, execute, kernel

OUT = "mul.wide.u32 %d8, %r0, 4; add.s64 %d9, %d0, %d8; st.global.b32 [%d9], {0};"


@functools.cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def emit(ir: str, cpu: str) -> str:
    _initialize()
    module = llvm.parse_assembly('target triple = "nvptx64-nvidia-cuda"\n' + ir)
    module.verify()
    return str(
        llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=cpu, opt=3).emit_assembly(module)
    )


def lanes(body: str, register: str = "%r9", threads: int = 64, **options: object) -> list[int]:
    """What each thread finally holds in a register."""
    out = np.zeros(threads, np.uint32)
    execute(HEADER + kernel(body + OUT.format(register)), [out], block=threads, **options)
    return out.tolist()


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


def test_threads_part_and_meet_again() -> None:
    body = """mov.u32 %r9, 0; mov.u32 %r5, %r0;
    $head: setp.le.u32 %p1, %r5, 1; @%p1 bra $end;
    and.b32 %r6, %r5, 1; setp.eq.s32 %p2, %r6, 0; @!%p2 bra $odd;
    shr.u32 %r5, %r5, 1; bra.uni $next;
    $odd: mad.lo.s32 %r5, %r5, 3, 1;
    $next: add.s32 %r9, %r9, 1; bra $head;
    $end: vote.sync.ballot.b32 %r7, 1, -1; xor.b32 %r9, %r9, %r7;"""
    # The vote needs all lanes: they have met behind the loop.
    assert lanes(body, threads=256) == [collatz(n) ^ 0xFFFFFFFF for n in range(256)]


REDUCE = """
@partial = internal addrspace(3) global [8 x double] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define internal double @fold(double %x, i32 %by) noinline {
  %v = bitcast double %x to <2 x i32>
  %lo = extractelement <2 x i32> %v, i32 0
  %hi = extractelement <2 x i32> %v, i32 1
  %a = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %lo, i32 %by, i32 31)
  %b = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %hi, i32 %by, i32 31)
  %w = insertelement <2 x i32> undef, i32 %a, i32 0
  %u = insertelement <2 x i32> %w, i32 %b, i32 1
  %y = bitcast <2 x i32> %u to double
  %s = fadd double %x, %y
  ret double %s
}

define ptx_kernel void @reduce(ptr addrspace(1) %x, ptr addrspace(1) %out) {
entry:
  %stack = alloca [4 x double], align 16
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = shl i32 %c, 8
  %n = add i32 %base, %t
  %i = zext i32 %n to i64
  %p = getelementptr <4 x float>, ptr addrspace(1) %x, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %d = fpext <4 x float> %v to <4 x double>
  store volatile <4 x double> %d, ptr %stack, align 16
  br label %sum
sum:
  %k = phi i32 [ 0, %entry ], [ %k1, %sum ]
  %acc = phi double [ 0.0, %entry ], [ %acc1, %sum ]
  %q = getelementptr double, ptr %stack, i32 %k
  %e = load volatile double, ptr %q
  %acc1 = fadd double %acc, %e
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, 4
  br i1 %more, label %sum, label %tree
tree:
  %by = phi i32 [ 16, %sum ], [ %by1, %tree ]
  %x0 = phi double [ %acc1, %sum ], [ %x1, %tree ]
  %x1 = call double @fold(double %x0, i32 %by)
  %by1 = lshr i32 %by, 1
  %go = icmp ne i32 %by1, 0
  br i1 %go, label %tree, label %share
share:
  %lane = and i32 %t, 31
  %warp = lshr i32 %t, 5
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %put, label %wait
put:
  %slot = getelementptr double, ptr addrspace(3) @partial, i32 %warp
  store double %x1, ptr addrspace(3) %slot
  br label %wait
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %leader = icmp eq i32 %t, 0
  br i1 %leader, label %total, label %done
total:
  %j = phi i32 [ 0, %wait ], [ %j1, %total ]
  %s0 = phi double [ 0.0, %wait ], [ %s1, %total ]
  %from = getelementptr double, ptr addrspace(3) @partial, i32 %j
  %y = load double, ptr addrspace(3) %from
  %s1 = fadd double %s0, %y
  %j1 = add i32 %j, 1
  %again = icmp ult i32 %j1, 8
  br i1 %again, label %total, label %end
end:
  %cc = zext i32 %c to i64
  %o = getelementptr double, ptr addrspace(1) %out, i64 %cc
  store double %s1, ptr addrspace(1) %o
  br label %done
done:
  ret void
}
"""


def reduced(x: np.ndarray) -> np.ndarray:
    """The tree of `reduce` in NumPy: [blocks] of float32 [blocks, 256, 4]."""
    v = x.astype(np.float64)
    total = 0.0 + v[..., 0] + v[..., 1] + v[..., 2] + v[..., 3]
    warps = total.reshape(-1, 8, 32)
    for by in (16, 8, 4, 2, 1):
        warps = warps + np.concatenate((warps[..., by:], warps[..., -by:]), axis=-1)
    return np.add.accumulate(warps[..., 0], axis=-1)[:, -1]


@pytest.mark.parametrize("cpu", ["sm_75", "sm_90", "sm_100"])
def test_a_reduction_by_llvm(cpu: str) -> None:
    """Calls, shuffles, a barrier, shared and local memory; more blocks than run at once."""
    text = emit(REDUCE, cpu)
    x = np.random.default_rng(0).standard_normal((70, 256, 4)).astype(np.float32)
    out = np.zeros(70)
    execute(text, [x, out], grid=70, block=256)
    assert out.tobytes() == reduced(x).tobytes()
    entry = Module(text).entries["reduce"]
    assert (entry.parameters, entry.maxntid, entry.shared) == ((8, 8), None, 64)


@pytest.mark.skipif(ptxas() is None, reason="ptxas is neither on PATH nor in the package nvidia-cuda-nvcc")
def test_ptxas_reports_what_a_kernel_needs() -> None:
    usage = assemble(emit(REDUCE, "sm_75"), "sm_75")["reduce"]
    assert usage.shared == 64 and usage.stack >= 32 and usage.registers > 8 and usage.spill_loads == 0
    with pytest.raises(AssemblerError, match="Unknown symbol '%r99'"):
        assemble(HEADER + kernel("mov.b32 %r3, %r99;"), "sm_75")


def shuffled(mode: str, values: list[int], by: int, clamp: int) -> tuple[list[int], list[bool]]:
    """PTX ISA's definition of shfl for one warp."""
    result, valid = [], []
    for lane in range(32):
        bound, segment = clamp & 31, clamp >> 8 & 31
        most, least = (lane & segment) | (bound & ~segment), lane & segment
        j = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment)}[mode]
        ok = j >= most if mode == "up" else j <= most
        result.append(values[j if ok else lane])
        valid.append(ok)
    return result, valid


def test_shuffles() -> None:
    for mode, by, clamp in [
        ("down", 4, 31), ("down", 16, 31), ("down", 3, 0x181F), ("up", 1, 0), ("up", 5, 0x1000), ("bfly", 16, 31),
        ("bfly", 7, 0x1C1F), ("idx", 9, 31), ("idx", 5, 0x181F), ("idx", 20, 15),
    ]:  # fmt: skip
        body = f"""mul.lo.u32 %r5, %r0, %r0; shfl.sync.{mode}.b32 %r6|%p1, %r5, {by}, {clamp}, -1;
            selp.b32 %r9, 1, 0, %p1; mad.lo.s32 %r9, %r6, 2, %r9;"""
        warps = [shuffled(mode, [t * t for t in range(w, w + 32)], by, clamp) for w in (0, 32)]
        assert lanes(body) == [2 * v + ok for values, valid in warps for v, ok in zip(values, valid, strict=True)], mode


def test_members_of_a_mask_meet_without_the_others() -> None:
    """Even lanes shuffle and vote among themselves; the odd ones have left."""
    body = """mov.u32 %r9, 7; and.b32 %r5, %r0, 1; setp.eq.b32 %p1, %r5, 1; @%p1 bra $odd;
    shfl.sync.bfly.b32 %r9, %r0, 2, 31, 0x55555555; setp.lt.u32 %p2, %r0, 40;
    vote.sync.any.pred %p3, %p2, 0x55555555; vote.sync.all.pred %p4, !%p2, 0x55555555; bar.warp.sync 0x55555555;
    selp.b32 %r6, 100, 0, %p3; add.u32 %r9, %r9, %r6; selp.b32 %r6, 1000, 0, %p4; add.u32 %r9, %r9, %r6;
    $odd:"""
    any_, all_ = [100] * 64 + [0] * 32, [0] * 64 + [1000] * 32
    assert lanes(body, threads=96) == [7 if t % 2 else (t ^ 2) + any_[t] + all_[t] for t in range(96)]


SHARED = ".shared .align 16 .b8 buf[256];\n"
# Thread t stores at 4t, then loads what another one stored.
EXCHANGE = """{0} mul.wide.u32 %d5, %r0, 4; mov.b64 %d6, buf; add.s64 %d7, %d6, %d5; st.shared.b32 [%d7], %r0; {1}
    xor.b32 %r5, %r0, {2}; mul.wide.u32 %d5, %r5, 4; add.s64 %d7, %d6, %d5; cvta.shared.u64 %d7, %d7;
    ld.b32 %r9, [%d7];"""


def exchange(before: str, between: str, by: int) -> list[int]:
    out = np.zeros(64, np.uint32)
    text = HEADER + SHARED + kernel(EXCHANGE.format(before, between, by) + OUT.format("%r9") + "$left:")
    execute(text, [out], block=64)
    return out.tolist()


def test_barriers_order_what_threads_share() -> None:
    assert exchange("", "bar.sync 0;", 33) == [t ^ 33 for t in range(64)]
    assert exchange("", "bar.warp.sync -1;", 3) == [t ^ 3 for t in range(64)]
    for between, by in (("", 1), ("", 33), ("bar.warp.sync -1;", 33), ("membar.cta;", 1)):
        with pytest.raises(PtxError, match=r"st\.shared.*a race: thread \d+ stores .* loads it in line \d+ with no"):
            exchange("", between, by)
    leave = "setp.eq.u32 %p1, %r0, 5; @%p1 bra $left;"
    for between in ("bar.sync 0;", "shfl.sync.down.b32 %r9, %r0, 1, 31, -1;", "bar.warp.sync -1;"):
        with pytest.raises(PtxError, match=r"deadlock: thread 0 and \d+ others .*; (1|33) of 64 have returned"):
            exchange(leave, between, 33)


ERRORS = [
    ("add.f32 %r9, %r0, %r0;", r"line 15: add\.f32 .*: add\.f32 has no \.rn"),
    ("mul.f16 %h1, %h1, %h1;", "has no .rn"),
    ("add.rn.ftz.f32 %r9, %r0, %r0;", "flushes denormals"),
    ("div.full.f32 %r9, %r0, %r0;", "not correctly rounded"),
    ("rcp.approx.ftz.f64 %d9, %d0;", "flushes denormals"),
    ("min.NaN.f32 %r9, %r0, %r0;", "is not known"),
    ("fma.rn.f64 %d9, %d0, %d0, %d0;", "is not implemented"),
    ("mul.rz.f32 %r9, %r0, %r0;", "does not round to nearest"),
    ("sin.f32 %r9, %r0;", "the instruction sin.f32 is not known"),
    ("ld.volatile.global.b32 %r9, [%d0];", "is not known"),
    ("add.s32 %r9, %r5, 1;", "reads a register that no thread has written"),
    ("setp.lt.u32 %p1, %r0, 9; @%p1 bra $x; mov.u32 %r5, 1; $x: add.s32 %r9, %r5, 1;", "thread 0 reads .* not written"),
    ("add.s32 %r9, %r55, 1;", "%r55 is not declared"),
    ("add.s64 %d9, %r0, 1;", "%r0 holds 32 bits, the instruction needs 64 bits"),
    ("add.rn.f32 %r9, %r0, 1;", "'1' is neither a register, nor a literal of f32"),
    ("div.u32 %r9, 5, %r0;", "the divisor is zero"),
    ("@%p1 mov.u32 %r9, 1;", "only a branch may have a predicate"),
    ("bra $nowhere;", "no such label"),
    ("$a: bra $a;", r"line \d+: bra \$a;?: 9999 instructions were executed without an end"),
    ("trap;", "thread 0 comes to a trap"),
    ("add.s64 %d9, %d0, 2; ld.global.b32 %r9, [%d9];", "thread 0: address 0x.* is no multiple of 4"),
    ("and.b64 %d9, %d0, -16; ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%d9+8];", "is no multiple of 16"),
    ("ld.global.b32 %r9, [%d0+256];", "outside every registered range .* at byte 256 of a range of 256 bytes"),
    ("ld.global.b32 %r9, [%d0+-4];", "outside every registered range"),
    ("ld.b32 %r9, [8];", "outside every registered range"),
    ("ld.shared.b32 %r9, [buf+256];", "byte 256 of 256 bytes of shared memory"),
    ("mov.b64 %d5, buf; ld.global.b32 %r9, [%d5];", "outside every registered range"),
    ("mov.b64 %d5, buf; ld.b32 %r9, [%d5];", "outside every registered range"),
    ("st.global.b32 [%d1], %r0;", "which is registered read-only"),
    ("st.global.b32 [%d0], %r0;", r"a race: thread 0 stores to .*, and thread 1 stores to it in line 15"),
    ("ld.global.nc.b32 %r9, [%d0];" + OUT.format("%r9"), "as read-only, but this launch writes it"),
    ("ld.global.b32 %r9, [%d0];" + OUT.format("%r9"), "a race: thread 0 stores .* loads it"),
    ("shfl.sync.up.b32 %r9, %r0, 1, 0, 1;", "thread 1 is not in its own mask"),
    ("mov.b32 %r5, 1; shl.b32 %r5, %r5, %r0; shfl.sync.idx.b32 %r9, %r0, 1, 31, %r5;", "thread 0 reads lane 1, which"),
    ("bar.sync 1;", "only barrier 0"),
    ("setp.lt.u32 %p1, %r0, 4; @%p1 bra $x; bar.sync 0; $x: bar.sync 0;", "deadlock.* others wait at line 15 "),
    ("atom.global.add.u32 %r9, [%d0], 1;", "is not known"),
    (".global .align 4 .b8 table[4];", "is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), ERRORS, ids=[body[:40] for body, _ in ERRORS])
def test_what_is_wrong_is_an_error(body: str, message: str) -> None:
    out, other = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    memory = Memory()
    addresses = [memory.register(out), memory.register(other, writable=False)]
    text = HEADER + SHARED + kernel("\n" + body, 2)
    with pytest.raises(PtxError, match=message) as error:
        Module(text).launch("k", 1, 32, addresses, memory, limit=9999)
    assert str(error.value).startswith("line ")


def test_launches_that_are_refused() -> None:
    memory = Memory()
    text = HEADER + kernel("").replace(")\n{", ")\n.maxntid 64, 1, 1\n.minnctapersm 2\n{")
    module = Module(text)
    assert module.entries["k"].maxntid == 64
    module.launch("k", 1, 64, [0], memory)
    for name, grid, block, params, message in (
        ("l", 1, 1, [0], "there is no entry 'l'; there are k"),
        ("k", 1, 65, [0], "compiled for at most 64"),
        ("k", 0, 1, [0], "a grid of 0"),
        ("k", 1, 1, [0, 0], "takes 1 parameters, not 2"),
        ("k", 1, 1, [-1], "-1 does not fit k_0"),
    ):
        with pytest.raises(PtxError, match=message):
            module.launch(name, grid, block, params, memory)


def test_ranges_of_memory() -> None:
    memory = Memory()
    array = np.zeros((8, 8))
    memory.register(array[2:4])
    for wrong in (array, array[3:5]):
        with pytest.raises(ValueError, match="overlaps"):
            memory.register(wrong)
    with pytest.raises(ValueError, match="not contiguous"):
        memory.register(array[4:, :2])
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        memory.register(array[5:6])
    memory.add(array[4:].ctypes.data, 0)
    memory.remove(array[2:].ctypes.data)
    with pytest.raises(KeyError):
        memory.remove(array[2:].ctypes.data)


def test_two_threads_may_write_what_a_barrier_separates() -> None:
    """Thread 0 writes, then its neighbour; without the search for races, nobody asks."""
    first = "setp.ne.u32 %p1, %r0, {0}; @%p1 bra $n{0}; st.global.b32 [%d0], %r0; $n{0}: {1}"
    out = np.zeros(1, np.uint32)
    execute(HEADER + kernel(first.format(0, "bar.sync 0;") + first.format(1, "")), [out], block=32)
    assert out[0] == 1
    text = HEADER + kernel(first.format(0, "") + first.format(1, ""))
    execute(text, [out], block=32, races=False)
    with pytest.raises(PtxError, match="race"):
        execute(text, [out], block=32)
    with pytest.raises(PtxError, match="race"):
        execute(HEADER + kernel("mov.u32 %r5, %ctaid.x; st.global.b32 [%d0], %r5; bar.sync 0;"), [out], grid=2, block=1)
