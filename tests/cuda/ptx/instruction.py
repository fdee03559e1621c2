"""One instruction on its way to a step: its operands as ways to read and write registers.

A step is `step(registers, group)`: it reads arrays [threads] from `registers` and puts new ones there. It never changes
an array in place and never puts the same array in twice, so that registers share no memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.parse import Statement
from tests.cuda.ptx.types import PRED, REGISTERS, SIGNED, TYPES, UNSIGNED, literal

if TYPE_CHECKING:
    from tests.cuda.ptx.blocks import Scope
    from tests.cuda.ptx.frame import Group

Registers = Any  # a list, or a dict, from numbers of registers to arrays
Get = Callable[[Registers], np.ndarray]
Put = Callable[[Registers, np.ndarray], None]
Step = Callable[[Registers, "Group"], None]

_ADDRESS = re.compile(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+)\s*)?\]$")


class Instruction:
    """A statement within its function; `reads` and `writes` are the numbers of its registers.

    `group_mask` reads the lanes that a warp must bring together here, `barrier` says that all of a CTA must come.
    """

    def __init__(self, statement: Statement, scope: Scope) -> None:
        self.statement = statement
        self.scope = scope
        self.operands = statement.operands
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.group_mask: Get | None = None
        self.barrier = False

    def fail(self, message: str) -> PtxError:
        return PtxError(f"line {self.statement.line}: {self.statement.text}: {message}")

    def expect(self, *counts: int) -> None:
        """Refuse another number of operands."""
        if len(self.operands) not in counts:
            raise self.fail(f"takes {' or '.join(map(str, counts))} operands, not {len(self.operands)}")

    def source(self, k: int, type: str, wider: bool = False) -> Get:
        """How to read operand k as a type; with `wider`, as the low bits of a register that may be wider."""
        return self.read(self.operands[k], type, wider)

    def read(self, text: str, type: str, wider: bool = False) -> Get:
        """How to read a register, special register, literal or the address of a symbol as a type."""
        dtype = TYPES[type]
        if text.startswith("%"):
            index, width = self._register(text)
            self.reads.append(index)
            if width == dtype or (width is not PRED and dtype is not PRED and width.itemsize == dtype.itemsize):
                return self._reader(index, dtype)
            if wider and PRED not in (width, dtype) and width.itemsize > dtype.itemsize:
                low = UNSIGNED[dtype.itemsize]
                whole = UNSIGNED[width.itemsize]
                return lambda registers: registers[index].view(whole).astype(low).view(dtype)
            raise self.fail(f"{text} holds {_bits(width)}, the instruction needs {_bits(dtype)}")
        value = literal(text, dtype)
        if value is None and dtype.itemsize == 8 and (offset := self.scope.symbol(text)) is not None:
            value = np.array([offset], np.uint64)
        if value is None:
            raise self.fail(f"{text!r} is neither a register, nor a literal of {type}, nor a symbol known here")
        return lambda registers: value

    def predicate(self, text: str) -> Get:
        """How to read `%p` or `!%p`."""
        get = self.read(text.removeprefix("!"), "pred")
        return (lambda registers: ~get(registers)) if text.startswith("!") else get

    @staticmethod
    def _reader(index: int, dtype: np.dtype) -> Get:
        def get(registers: Registers) -> np.ndarray:
            value = registers[index]
            return value if value.dtype is dtype else value.view(dtype)

        return get

    def _register(self, text: str) -> tuple[int, np.dtype]:
        found = self.scope.register(text)
        if found is None:
            raise self.fail(f"{text} is not declared by .reg, nor a special register known here")
        return found

    def target(self, text: str, type: str) -> int:
        """The number of a register that the instruction writes with a value of its own width."""
        index, width = self._register(text)
        dtype = TYPES[type]
        if index < self.scope.writable:
            raise self.fail(f"{text} cannot be written")
        if (width is PRED) != (dtype is PRED) or width.itemsize != dtype.itemsize:
            raise self.fail(f"{text} holds {_bits(width)}, the instruction gives {_bits(dtype)}")
        self.writes.append(index)
        return index

    def dest(self, type: str) -> int:
        """The number of the register that is the first operand."""
        return self.target(self.operands[0], type)

    def extended(self, text: str, type: str) -> Put:
        """How to write a value to a register that may be wider: signed values with their sign, others with zeros."""
        width = self._register(text)[1]
        dtype = TYPES[type]
        if width.itemsize <= dtype.itemsize or type.startswith("f") or width is PRED:
            index = self.target(text, type)

            def put(registers: Registers, value: np.ndarray) -> None:
                registers[index] = value

            return put
        bits = next(name for name, other in REGISTERS.items() if other == width)
        index = self.target(text, bits)
        wide = (SIGNED if type.startswith("s") else UNSIGNED)[width.itemsize]

        def put_wide(registers: Registers, value: np.ndarray) -> None:
            registers[index] = value.view(dtype).astype(wide)

        return put_wide

    def vector(self, k: int) -> tuple[str, ...]:
        """The elements of a {…} operand; any other operand is the only element."""
        text = self.operands[k]
        return tuple(x.strip() for x in text[1:-1].split(",")) if text.startswith("{") else (text,)

    def location(self, k: int) -> tuple[str, int]:
        """A [base+offset] operand."""
        match = _ADDRESS.match(self.operands[k])
        if match is None:
            raise self.fail(f"{self.operands[k]!r} is no address as [register+offset]")
        return match[1], int(match[2] or "0", 0)

    def address(self, k: int) -> Get:
        """How to read a [base+offset] operand of 64 bits; uint64 [threads]."""
        base, offset = self.location(k)
        get = self.read(base, "u64")
        if offset == 0:
            return get
        by = np.uint64(offset % 2**64)
        return lambda registers: get(registers) + by


def _bits(dtype: np.dtype) -> str:
    return "a predicate" if dtype is PRED else f"{8 * dtype.itemsize} bits"
