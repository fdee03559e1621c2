"""PTX text as a module of entries that can be launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.cuda.ptx.blocks import Code, Scope, compile
from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.machine import Machine, check_size
from tests.cuda.ptx.memory import Memory
from tests.cuda.ptx.parse import Function, parse
from tests.cuda.ptx.types import UNSIGNED

LIMIT = 20_000_000


@dataclass(frozen=True)
class Entry:
    """What a launch must know: the bytes of each parameter, threads of a block at most, bytes of shared memory."""

    parameters: tuple[int, ...]
    maxntid: int | None
    shared: int


class Module:
    """PTX text, read once; PtxError for what is not known. Functions are built when they are first launched."""

    def __init__(self, text: str) -> None:
        functions, shared = parse(text)
        self._functions = {function.name: function for function in functions}
        self._codes: dict[str, Code | None] = {}
        own = [(f, f.shared) for f in functions]
        # Arrays of all functions lie one behind the other, so that one that calls another shares nothing with it.
        self._shared, self._symbols = _layout([array for _, arrays in [(None, shared), *own] for array in arrays])
        self._local, local = _layout([array for f in functions for array in f.local])
        self._symbols |= local
        self.entries = {f.name: self._entry(f) for f in functions if f.entry}

    def _entry(self, function: Function) -> Entry:
        limits = [n for name, n in function.limits.items() if name in ("maxntid", "reqntid")]
        return Entry(tuple(p.size for p in function.parameters), min(limits, default=None), self._shared)

    def launch(
        self,
        name: str,
        grid: int,
        block: int,
        params: Sequence[int],
        memory: Memory,
        *,
        races: bool = True,
        limit: int = LIMIT,
    ) -> None:
        """Run an entry for grid * block threads. Parameters are integers, or the bits of what they are.

        With `races`, accesses of two threads to the same bytes, one of them a store, are an error where no barrier
        orders them. A launch of more than `limit` instructions is taken to be endless.
        """
        if name not in self.entries:
            raise PtxError(f"there is no entry {name!r}; there are {', '.join(self.entries) or 'none'}")
        entry, code = self.entries[name], self.code(name, 0)
        check_size(grid, block, name, entry.maxntid)
        if len(params) != len(entry.parameters):
            raise PtxError(f"{name} takes {len(entry.parameters)} parameters, not {len(params)}")
        registers = {}
        for parameter, value in zip(code.function.parameters, params, strict=True):
            if parameter.size not in UNSIGNED or not 0 <= value < 256**parameter.size:
                raise PtxError(f"{name}: {value} does not fit {parameter.name}, of {parameter.size} bytes")
            index = code.scope.parameters.get((parameter.name, 0))
            if index is not None:
                registers[index] = np.array([value], UNSIGNED[parameter.size])
        Machine(grid, block, memory, self._shared, self._local, limit, races).execute(code, registers)

    def code(self, name: str, line: int) -> Code:
        """A function, built. One that is asked for while it is being built calls itself."""
        if name not in self._functions:
            raise PtxError(f"line {line}: there is no function {name} with a body in this module")
        if name in self._codes:
            code = self._codes[name]
            if code is None:
                raise PtxError(f"line {line}: {name} calls itself, which is not known")
            return code
        self._codes[name] = None
        try:
            function = self._functions[name]
            code = compile(function, Scope(function, self._symbols, self.code))
        except PtxError:
            del self._codes[name]
            raise
        self._codes[name] = code
        return code


def _layout(arrays: list[tuple[str, int, int]]) -> tuple[int, dict[str, int]]:
    """Bytes in all, and the offset of each (name, alignment, bytes)."""
    offsets: dict[str, int] = {}
    end = 0
    for name, align, size in arrays:
        if name in offsets:
            raise PtxError(f"two arrays are named {name}")
        offsets[name] = -(-end // align) * align
        end = offsets[name] + size
    return end, offsets
