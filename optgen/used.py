"""The files that a spec is made of, found without parsing it: what the cache of checked and of composed specs goes by.

More files than a spec takes may be found, as the words of a comment are looked up, too. Another text of such a file
has the spec checked again, which changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from optgen import specfiles
from optgen.diagnostics import Source

_USE = re.compile(r"\buse[ \t]+(\w+(?:[ \t]*/[ \t]*\w+)?)")
_WORD = re.compile(r"[A-Za-z_]\w*(?:/\w+)?")


def by_spec(source: Source) -> tuple[str, ...]:
    """Paths and texts of the files that a spec may use, and of those that they use."""
    found: dict[Path, str] = {}
    _collect(source, found)
    return _flat(found)


def by_chain(spec: str) -> tuple[str, ...]:
    """Those of `adam with lookahead(k = 5)`, or of `muon otherwise adamw`: of its base, and of whatever its words can
    mean."""
    base, word, rest = specfiles.CHAIN.split(spec, maxsplit=1)
    found: dict[Path, str] = {}
    path = specfiles.path_of(base.strip())
    words = _words(rest)
    places = [path, *(p for name in words for p in specfiles.transform_places(name, path.parent))]
    for place in (*places, *(map(specfiles.place, words) if "otherwise" in (word, *words) else ())):
        _add(place, found)
    return _flat(found)


def _words(rest: str) -> list[str]:
    """Whatever may be a transform or a spec in a chain."""
    return [*specfiles.CHAIN_PATH.findall(rest), *_WORD.findall(rest)]


def _collect(source: Source, found: dict[Path, str]) -> None:
    for name in _USE.findall(source.text):
        for place in _places("".join(name.split()), source):
            _add(place, found)


def _places(name: str, source: Source) -> Iterator[Path]:
    """Where the file of a used spec may be, as `lang.compose` looks for it."""
    if source.name.endswith(".opt"):
        yield Path(source.name).parent / f"{name}.opt"
    yield specfiles.place(name)


def _add(place: Path, found: dict[Path, str]) -> None:
    path = place.absolute()
    if path not in found and path.is_file():
        source = specfiles.source(path)
        found[path] = source.text
        _collect(source, found)


def _flat(found: dict[Path, str]) -> tuple[str, ...]:
    return tuple(part for path, text in found.items() for part in (str(path), text))
