"""A module that can be called: its memory, its floating-point mode, its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.llvm.attributes import broken
from tests.llvm.code import FRAME, RETURNED, Code, compile
from tests.llvm.control import Control
from tests.llvm.errors import LlvmError
from tests.llvm.exclusive import Base, Exclusive
from tests.llvm.memory import Allocation, Memory
from tests.llvm.parse import Parameter, parse
from tests.llvm.types import POINTER, Int, alignment, size
from tests.llvm.values import Pointer, Poison, Value, constant, signed

LIMIT = 20_000_000
DEPTH = 60
"""Of calls within calls: Python's own stack has room for so many."""
External = Callable[..., Value]


class Frame:
    """A call that is under way: its depth, from 1 on, and what it allocated."""

    __slots__ = ("depth", "local")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.local: list[Allocation] = []


class Machine:
    """LLVM IR text, read once, and all that its functions share; LlvmError for what is not known.

    `externals` are the functions of other modules, by name: they are called with values, pointers as `Pointer`. `heap`
    is what the module took from `malloc`, and did not give back. A call of more than `limit` instructions is taken to
    be endless.
    """

    def __init__(self, text: str, externals: Mapping[str, External] | None = None, limit: int = LIMIT) -> None:
        self.parsed = parse(text)
        self.memory, self.control = Memory(), Control()
        self.externals = {"malloc": self._malloc, "free": self._free, **(externals or {})}
        self.heap: list[Allocation] = []
        self.limit = self.left = limit
        self.frames: list[Frame] = []
        self._codes: dict[str, Code] = {}
        self._callable: dict[int, str | External] = {}
        self.symbols: dict[str, Pointer] = {}
        for name in self.parsed.functions:
            self.symbols[name] = self._place(f"the function {name}", name)
        self._make_globals()

    def _place(self, name: str, function: str | External) -> Pointer:
        place = self.memory.allocate(name, 0, 16, writable=False)
        self._callable[place.address] = function
        return place

    def _make_globals(self) -> None:
        made = {g.name: self._room(g.name, size(g.type), g.align or alignment(g.type)) for g in self._globals()}
        self.symbols |= made
        for g in self._globals():
            allocation = made[g.name].allocation
            fail = g.initializer.fail
            self.memory.write(allocation, 0, g.type, constant(g.initializer, g.type, self.symbols), fail)
            g.initializer.end()
            allocation.writable = not g.constant

    def _globals(self) -> Sequence[Any]:
        return list(self.parsed.globals.values())

    def _room(self, name: str, nbytes: int, align: int) -> Pointer:
        return self.memory.allocate(f"@{name}", nbytes, align)

    def _malloc(self, nbytes: int) -> Pointer:
        made = self.memory.allocate("what malloc gave", nbytes, 16)
        self.heap.append(made.allocation)
        return made

    def _free(self, pointer: Pointer) -> None:
        if pointer.address == 0:
            return
        if pointer.allocation not in self.heap or pointer.address != pointer.allocation.address:
            raise LlvmError(f"free of 0x{pointer.address:x}, which malloc did not give, or which was freed before")
        self.heap.remove(pointer.allocation)
        self.memory.remove(pointer.allocation, "it was freed")

    # ------------------------------------------------------------ calls

    def provide(self, function: External) -> int:
        """An address at which the module can call a function of Python, which gets values, pointers as `Pointer`."""
        return self._place("a function of Python", function).address

    def call(self, name: str, *args: Any) -> Value:
        """Call a function of the module with numbers; an address for a pointer. Integers come back with their sign."""
        if name not in self.parsed.functions:
            raise LlvmError(f"there is no function {name}; there are {', '.join(self.parsed.functions) or 'none'}")
        function = self.parsed.functions[name]
        if len(args) != len(function.parameters):
            raise LlvmError(f"{name} takes {len(function.parameters)} arguments, not {len(args)}")
        self.left = self.limit
        values = [self._value(p, x) for p, x in zip(function.parameters, args, strict=True)]
        depth, exclusives = len(self.frames), len(self.memory.exclusives)
        try:
            with np.errstate(all="ignore"):
                found = self.run(name, values)
        finally:  # an error leaves calls in their middle
            del self.frames[depth:], self.memory.exclusives[exclusives:]
        if found.__class__ is Poison:
            raise LlvmError(f"{name} returns what is undefined: {found.why}")
        return signed(found, function.result.bits) if isinstance(function.result, Int) else found

    def _value(self, parameter: Parameter, x: Any) -> Value:
        if parameter.type == POINTER and isinstance(x, int):
            return self.memory.pointer(x)
        return x % (1 << parameter.type.bits) if isinstance(parameter.type, Int) else x

    def invoke(self, pointer: Pointer, args: list[Value], fail: Callable[[str], Exception]) -> Value:
        """Call what a pointer points to."""
        function = self._callable.get(pointer.address)
        if function is None:
            raise fail(f"calls 0x{pointer.address:x}, which is no function that is known")
        return self.run(function, args) if isinstance(function, str) else function(*args)

    def code(self, name: str) -> Code:
        """A function, built when it is first called."""
        if name not in self._codes:
            self._codes[name] = compile(self.parsed.functions[name], self)
        return self._codes[name]

    def run(self, name: str, args: list[Value]) -> Value:
        """Run a function of the module from its start to its return."""
        code, frame = self.code(name), Frame(len(self.frames) + 1)
        if frame.depth > DEPTH:
            raise LlvmError(f"{name}: calls are nested {DEPTH} deep")
        registers = code.template.copy()
        registers[FRAME] = frame
        exclusive = self._bind(code, frame, registers, args)
        self.frames.append(frame)
        if exclusive is not None:
            self.memory.exclusives.append(exclusive)
        self._loop(code, registers)
        self.frames.pop()
        if exclusive is not None:
            self.memory.exclusives.pop().check()
        for allocation in frame.local:
            self.memory.remove(allocation, f"{name} has returned")
        return registers[RETURNED]

    def _loop(self, code: Code, registers: list[Any]) -> None:
        block, left = code.first, ""
        while True:
            self.left -= block.count
            if self.left < 0:
                where = f"{code.function.name}, block {block.label}"
                raise LlvmError(f"{where}: {self.limit} instructions were executed without an end")
            if block.phis:
                block.enter(registers, left)
            for step in block.steps:
                step(registers)
            following = block.end(registers)
            if following is None:
                return
            block, left = following, block.label

    def _bind(self, code: Code, frame: Frame, registers: list[Any], args: list[Value]) -> Exclusive | None:
        """Set the parameters, after their attributes were checked."""
        function, exclusive = code.function, None
        if len(args) != len(function.parameters):
            raise LlvmError(f"{function.name} takes {len(function.parameters)} arguments, not {len(args)}")
        for parameter, register, value in zip(function.parameters, code.parameters, args, strict=True):
            if wrong := broken(parameter.attributes, parameter.type, value):
                raise LlvmError(f"{function.name}, line {function.line}: the parameter %{parameter.name} {wrong}")
            noalias, readonly = ("noalias" in parameter.attributes, "readonly" in parameter.attributes)
            if value.__class__ is Pointer and (noalias or readonly):
                if noalias and exclusive is None:
                    exclusive = Exclusive(function.name, frame.depth)
                base = Base(exclusive if noalias else None, parameter.name, readonly)
                value = Pointer(value.address, value.allocation, (*value.bases, base))
            registers[register] = value
        return exclusive
