"""Tables of constants: every way that machines look entries up gives what the interpreter gives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir as ll

from optgen import ir
from optgen.axes import ELEMENTS
from optgen.backends import target
from optgen.backends.control_flow import loop
from optgen.backends.cpu import byte_table
from optgen.backends.llvm import at, inline, integer
from optgen.backends.llvm_types import F32, I8, I32, PTR, vector
from optgen.backends.lookup import KernelModule, LookupStyle
from optgen.ir.interp import call
from optgen.ir.ops import Lookup
from optgen.ir.types import Type, Value
from optgen.ir.verify import InvalidKernel, result_type
from optgen.objectcode import link

NEEDS: dict[LookupStyle, str | None] = {"permute16": "avx512f", "permute8": "avx2", "memory": None, "select": None}
COUNT = 4096


def compiled(name: str, style: LookupStyle, step: int, body: Callable[[ll.IRBuilder, Any, Any, Any], None]) -> Any:
    """f(numbers, found) of COUNT numbers and float32, `step` at a time: `body(builder, numbers, found, i)`."""
    module = KernelModule("lookup", style)
    module.triple = target.host().triple
    f = ll.Function(module, ll.FunctionType(ll.VoidType(), [PTR, PTR]), name)
    b = ll.IRBuilder(f.append_basic_block())
    with loop(b, integer(0), integer(COUNT), step) as i:
        body(b, *f.args, i)
    b.ret_void()
    code = target.compile_ir(str(module), target.host())
    address = link.link(code.object, name)[name]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)


@pytest.mark.parametrize("size", [8, 16, 32])
@pytest.mark.parametrize("width", [1, 4, 16])
@pytest.mark.parametrize("style", NEEDS)
def test_every_machine_finds_the_entry(style: LookupStyle, width: int, size: int) -> None:
    """Of numbers of both signs, of which the lowest bits count."""
    if (needed := NEEDS[style]) is not None and needed not in target.host().required():
        pytest.skip(f"this machine has no {needed}")
    rng = np.random.default_rng(size)
    table = tuple(map(float, rng.standard_normal(size).astype(np.float32)))
    numbers = rng.integers(-(2**31), 2**31, COUNT).astype(np.int32)
    found = np.zeros(COUNT, np.float32)

    def body(b: ll.IRBuilder, numbers: Any, found: Any, i: Any) -> None:
        some = b.load(at(b, numbers, i, I32), typ=vector(I32, width), align=4)
        b.store(inline(b, lambda e, x: e.lookup(table, x), [some], width), at(b, found, i, F32), align=4)

    f = compiled(f"lookup_{style}_{size}_{width}", style, width, body)
    f(numbers.ctypes.data, found.ctypes.data)
    np.testing.assert_array_equal(found, call(lambda b, x: b.lookup(table, x), numbers))
    np.testing.assert_array_equal(found, np.float32(table)[numbers % size])


@pytest.mark.skipif("avx512vbmi" not in target.host().required(), reason="this machine has no avx512vbmi")
def test_bytes_are_looked_up_bit_by_bit() -> None:
    """Any 256 float32, NaN and subnormals among them."""
    rng = np.random.default_rng(0)
    table = rng.integers(-(2**31), 2**31, 256).astype(np.int32).view(np.float32)
    numbers = rng.permutation(np.arange(COUNT)).astype(np.uint8)
    found = np.zeros(COUNT, np.float32)

    def body(b: ll.IRBuilder, numbers: Any, found: Any, i: Any) -> None:
        some = b.load(at(b, numbers, i, I8), typ=vector(I8, byte_table.BYTES), align=1)
        for k, x in enumerate(byte_table.floats_of_bytes(b, table, some)):
            b.store(x, at(b, found, b.add(i, integer(16 * k)), F32), align=4)

    compiled("lookup_bytes", "permute16", byte_table.BYTES, body)(numbers.ctypes.data, found.ctypes.data)
    np.testing.assert_array_equal(found.view(np.int32), table.view(np.int32)[numbers])


def test_what_is_no_table() -> None:
    index = Value("i", Type(ELEMENTS, "i32"))
    assert result_type(Lookup(ir.Table((0.0,) * 16), index), "f64") == Type(ELEMENTS, "f32")
    with pytest.raises(InvalidKernel, match="8, 16 or 32 entries"):
        result_type(Lookup(ir.Table((0.0,) * 12), index), "f64")
    with pytest.raises(InvalidKernel, match="numbered by an i32"):
        result_type(Lookup(ir.Table((0.0,) * 8), Value("i", Type(ELEMENTS, "i64"))), "f64")
