"""The files that come with the package: the specs, and the reference of their language.

They are in optgen/ in a wheel, beside it in a checkout.
"""

from __future__ import annotations

from pathlib import Path

from optgen.diagnostics import suggest

_HERE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


def folder() -> Path:
    """The folder of the specs that come with the package."""
    return _shipped("specs")


def language() -> Path:
    """The reference of the spec language, a Markdown file."""
    return _shipped("docs") / "language.md"


def available() -> tuple[str, ...]:
    """The names of the specs that come with the package, sorted."""
    return tuple(sorted(path.stem for path in folder().glob("*.opt")))


def spec_path(name: str) -> Path:
    """The file of the spec `name`. Raises FileNotFoundError, with a suggestion, if there is none."""
    path = folder() / f"{name}.opt"
    if not path.is_file():
        names = available()
        hint = suggest(name, names) or f"there are: {', '.join(names) or 'none'}"
        raise FileNotFoundError(f"no spec named {name!r}; {hint}")
    return path
