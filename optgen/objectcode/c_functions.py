"""Functions that are written in C, loaded from the LLVM IR that `generate.py` makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from optgen.backends import target
from optgen.objectcode import cache, link


def load(file: str, *symbols: str, definitions: Mapping[str, str] | None = None) -> Mapping[str, int]:
    """The addresses of functions of NAME.ll beside `file`, which is NAME.py. `definitions`: what declarations in it are
    replaced by."""
    path = Path(file).with_suffix(".ll")

    def compiled() -> bytes:
        text = path.read_text()
        for declaration, definition in (definitions or {}).items():
            text = text.replace(declaration, definition)
        return target.compile_ir(text, host, "registers").object

    host = target.host()
    key = cache.key(path.stem, target.llvm_version(), host.triple, host.cpu, host.features)
    return link.link(cache.get(key, compiled), *symbols)
