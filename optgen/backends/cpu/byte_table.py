"""Functions of a byte as tables, which AVX-512 VBMI keeps in registers: 64 bytes are looked up at once.

An instruction permutes 128 bytes by 64 numbers. The float32 that a byte stands for is four bytes, and each of them is
looked up by itself: among the entries of numbers below 128, and among the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as ll

from optgen import ir
from optgen.axes import ELEMENTS
from optgen.backends.cpu.module import CpuModuleBuilder
from optgen.backends.llvm_types import F32, I8, I16, I32, vector
from optgen.ir import Buffer, Type, Value, codec
from optgen.ir.expand import Emitter

BYTES = 64
"""How many bytes are looked up at once: a register of them."""
LANE = 16
"""Bytes of the parts of a register that instructions interleave: each by itself."""
_BYTES = vector(I8, BYTES)


def decodes_by_table(m: CpuModuleBuilder, buffer: Buffer) -> bool:
    """Whether the codes of a buffer are bytes, and decoding them takes tables in any case."""
    emitter = Emitter("")
    codec.code_decoder(buffer)(emitter, Value("code", Type(ELEMENTS, "i32")))
    looks_up = any(isinstance(i.op, ir.Lookup) for i in emitter.instrs)
    return m.permutes_bytes and buffer.format.bits == 8 and looks_up


def code_table(buffer: Buffer) -> np.ndarray[Any, Any]:
    """The 256 float32 that the codes of a buffer stand for."""
    from optgen.ir.interp import call  # here, as the interpreter is not needed for most kernels

    found: np.ndarray[Any, Any] = call(codec.code_decoder(buffer), np.arange(256, dtype=np.int32))
    return found


def floats_of_bytes(b: ll.IRBuilder, table: np.ndarray[Any, Any], numbers: Any) -> list[Any]:
    """The entries of a table of 256 float32 that 64 bytes number: four vectors of 16 float32."""
    planes = table.astype("<f4").view(np.uint8).reshape(256, 4).T
    # Interleaving puts bytes 4q to 4q + 3 of all lanes into vector q.
    lanes = b.bitcast(numbers, vector(I32, BYTES // 4))
    order = [4 * k + lane for lane in range(4) for k in range(4)]
    index = b.bitcast(b.shuffle_vector(lanes, lanes, ll.Constant(vector(I32, 16), order)), _BYTES)
    upper = b.icmp_signed("<", index, ll.Constant(_BYTES, [0] * BYTES))
    b0, b1, b2, b3 = (b.select(upper, _entries(b, x[128:], index), _entries(b, x[:128], index)) for x in planes)
    low, high = _interleaved(b, b0, b1, I8), _interleaved(b, b2, b3, I8)
    words = [w for x, y in zip(low, high, strict=True) for w in _interleaved(b, x, y, I16)]
    return [b.bitcast(x, vector(F32, 16)) for x in words]


def _entries(b: ll.IRBuilder, table: np.ndarray[Any, Any], index: Any) -> Any:
    """The entries of a table of 128 bytes that the lowest 7 bits of 64 bytes number."""
    type = ll.FunctionType(_BYTES, [_BYTES] * 3)
    permute = b.module.declare_intrinsic("llvm.x86.avx512.vpermi2var.qi.512", (), type)
    lower, upper = (ll.Constant(_BYTES, [int(x) for x in table[k : k + BYTES]]) for k in (0, BYTES))
    return b.call(permute, [lower, index, upper])


def _interleaved(b: ll.IRBuilder, x: Any, y: Any, type: ll.Type) -> list[Any]:
    """The numbers of x and y in turns, lane by lane: of the lower halves of lanes, and of the upper ones."""
    each = LANE * 8 // type.width
    count = BYTES * 8 // type.width
    x, y = (b.bitcast(v, vector(type, count)) for v in (x, y))
    found = []
    for half in (0, each // 2):
        order = [lane + half + k + of for lane in range(0, count, each) for k in range(each // 2) for of in (0, count)]
        found.append(b.shuffle_vector(x, y, ll.Constant(vector(I32, count), order)))
    return found
