"""Where the specs that come with the package lie: optgen/specs in a wheel, ../specs in a checkout."""

from __future__ import annotations

from pathlib import Path

from optgen.diagnostics import suggest

_HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """The folder of the specs that come with the package."""
    shipped = _HERE / "specs"
    return shipped if shipped.is_dir() else _HERE.parent / "specs"


def available() -> tuple[str, ...]:
    """The names of those specs, sorted."""
    return tuple(sorted(path.stem for path in folder().glob("*.opt")))


def spec_path(name: str) -> Path:
    """The file of the spec `name`, FileNotFoundError (with a suggestion) where there is none."""
    path = folder() / f"{name}.opt"
    if not path.is_file():
        names = available()
        hint = suggest(name, names) or f"there are: {', '.join(names) or 'none'}"
        raise FileNotFoundError(f"no spec named {name!r}; {hint}")
    return path
