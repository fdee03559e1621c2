"""Debug information of a module: the line of the spec that an instruction computes, as DWARF and PTX have lines.

Every function belongs to the file of the spec; equations of other files, which were put in the place of uses, are
blocks in these functions. What no equation asks for, such as loops and addresses, has line 0, which is none in DWARF.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from llvmlite import ir as ll

from optgen.backends.llvm_types import I32
from optgen.diagnostics import FileLine, Source
from optgen.ir import Instr

DWARF_VERSION = 4
"""The newest that all of perf, gdb and binutils have read since 2012."""
Emission = Literal["LineTablesOnly", "DebugDirectivesOnly"]
"""What LLVM writes. "LineTablesOnly": sections of DWARF, which object code needs. "DebugDirectivesOnly": `.file` and
`.loc` alone, as ptxas optimizes nothing where PTX has sections of DWARF (adam spilled 264 bytes a thread)."""


class DebugInfo:
    """Lines of `source` in a module. `scopes`: those of its functions, for each file that they have lines of."""

    def __init__(self, module: ll.Module, source: Source, emission: Emission) -> None:
        self.module, self.source = module, source
        self.file = self._file(source.name)
        self.unit = self._add("DICompileUnit", distinct=True, language=ll.DIToken("DW_LANG_C"), file=self.file,
                              producer="optgen", isOptimized=True, emissionKind=ll.DIToken(emission))  # fmt: skip
        module.add_named_metadata("llvm.dbg.cu", self.unit)
        for name, value in (("Debug Info Version", 3), ("Dwarf Version", DWARF_VERSION)):
            module.add_named_metadata("llvm.module.flags", [I32(2), name, I32(value)])
        self.type = self._add("DISubroutineType", types=None)
        self.scopes: dict[tuple[ll.Function, str], Any] = {}

    def begin(self, b: ll.IRBuilder) -> None:
        """Give the function that `b` begins its place in the file, and what `b` emits no line until it is told one."""
        flags = ll.DIToken("DISPFlagDefinition | DISPFlagOptimized")
        scope = self._add("DISubprogram", distinct=True, name=b.function.name, file=self.file, scope=self.file, line=1,
                          scopeLine=1, type=self.type, unit=self.unit, spFlags=flags)  # fmt: skip
        b.function.set_metadata("dbg", scope)
        self.scopes[b.function, self.source.name] = scope
        b.debug_metadata = self._location(b.function, None)

    @contextmanager
    def line_of(self, b: ll.IRBuilder, instr: Instr) -> Iterator[None]:
        """Within it, what `b` emits has the line of an instruction."""
        before = b.debug_metadata
        b.debug_metadata = self._location(b.function, None if instr.span is None else self.source.where(instr.span))
        yield
        b.debug_metadata = before

    def _location(self, function: ll.Function, where: FileLine | None) -> Any:
        """The location of a line in a function; line 0 for None."""
        if where is None:
            where = FileLine(self.source.name, 0)
        scope = self.scopes.get((function, where.file))
        if scope is None:
            of_function = self.scopes[function, self.source.name]
            scope = self._add("DILexicalBlockFile", scope=of_function, file=self._file(where.file), discriminator=0)
            self.scopes[function, where.file] = scope
        return self._add("DILocation", line=where.line, scope=scope)

    def _file(self, name: str) -> Any:
        """A file by its whole path, as debuggers may run elsewhere; a text that is in no file has a name alone."""
        path = os.path.abspath(name) if name.endswith(".opt") else name
        return self._add("DIFile", filename=path, directory="")

    def _add(self, kind: str, *, distinct: bool = False, **operands: Any) -> Any:
        return self.module.add_debug_info(kind, operands, is_distinct=distinct)
