"""The text of a kernel with its equations as comments, each above the instructions that compute it.

The kernel was compiled with debug information, of which nothing but these comments is left. The rest is the text of the
kernel without it; of LLVM IR, metadata has other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from optgen.diagnostics import Source

OF_NO_EQUATION = "of no equation"
_FILE = re.compile(r'\t\.file\t(\d+) (?:"(.*)" )?"(.*)"$', re.M)
_LOC = re.compile(r"\t\.loc\t(\d+) (\d+) ")
_DIRECTIVE = re.compile(r"\t\.(?:file\t\d|loc\t|cfi_)|\.L(?:tmp|func_begin)\d+:|\$L__(?:tmp|func_\w+)\d+:")
_DI_FILE = re.compile(r'^(!\d+) = !DIFile\(.*filename: "(.*)"\)', re.M)
_DI_SCOPE = re.compile(r"^(!\d+) = (?:distinct )?!(?:DISubprogram|DILexicalBlockFile)\(.*?file: (!\d+)", re.M)
_DI_LOCATION = re.compile(r"^(!\d+) = !DILocation\(line: (\d+), scope: (!\d+)\)", re.M)
_DBG = re.compile(r" *,? !dbg (!\d+)")
_METADATA = re.compile(r'!\d+ = (?:distinct )?!(?:DI|\{ i32 2, !"D)|!llvm\.(?:dbg\.cu|module\.flags) ')


class _Comments:
    """Comments that begin with `mark`, for lines of `source` and of the files that it uses."""

    def __init__(self, source: Source, mark: str) -> None:
        self.source, self.mark = source, mark
        self.last: tuple[str, int] | None = None
        self.rows: dict[str, list[str]] = {}

    def of(self, file: str, line: int) -> Iterator[str]:
        """The comment for what stands below; none if that above is the same. Line 0 is that of no equation."""
        where = file if line else "", line
        if where != self.last:
            self.last = where
            yield f"\t{self.mark} {self._equation(file, line) if line else OF_NO_EQUATION}"

    def _equation(self, file: str, line: int) -> str:
        path = Path(file)
        if file not in self.rows:
            self.rows[file] = path.read_text("utf-8-sig").split("\n") if path.is_file() else self.source.lines
        return f"{path.name}:{line}  {self.rows[file][line - 1].strip()}"


def assembly(text: str, source: Source) -> str:
    """Assembly of a CPU, or PTX."""
    files = {number: str(Path(folder, name)) for number, folder, name in _FILE.findall(text)}
    comments = _Comments(source, "//" if "\n.target " in text or "aarch64" in text else "#")
    rows: list[str] = []
    in_debug_section = False
    for row in text.split("\n"):
        if row.startswith("\t.section\t"):
            in_debug_section = ".debug_" in row
        if location := _LOC.match(row):
            rows += comments.of(files[location[1]], int(location[2]))
        elif not in_debug_section and not _DIRECTIVE.match(row):
            rows.append(row)
    return "\n".join(rows).rstrip("\n") + "\n"


def llvm(text: str, source: Source) -> str:
    """LLVM IR."""
    files = dict(_DI_FILE.findall(text))
    scopes = {scope: files[file] for scope, file in _DI_SCOPE.findall(text)}
    places = {x: (scopes[scope], int(line)) for x, line, scope in _DI_LOCATION.findall(text)}
    comments = _Comments(source, ";")
    rows: list[str] = []
    for row in text.split("\n"):
        location = _DBG.search(row)
        if location and location[1] in places:
            rows += comments.of(*places[location[1]])
        if not _METADATA.match(row):
            rows.append(_DBG.sub("", row))
    return "\n".join(rows)
