"""The files that come with the package: the specs, and the reference of their language.

They are in optgen/ in a wheel, beside it in a checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

from optgen.diagnostics import suggest

_HERE = Path(__file__).resolve().parent
FAMILIES = ("torch", "matrix")
"""Folders of specs whose names begin with that of the folder. `torch` has the optimizers of torch.optim, `matrix` those
with products of matrices, which a name without the folder finds as well."""


def _shipped(name: str) -> Path:
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


def folder() -> Path:
    """The folder of the specs that come with the package."""
    return _shipped("specs")


def language() -> Path:
    """The reference of the spec language, a Markdown file."""
    return _shipped("docs") / "language.md"


def available(family: str = "") -> tuple[str, ...]:
    """The names of the specs of a family, sorted; without one, of those that belong to none."""
    prefix = f"{family}/" if family else ""
    return tuple(sorted(prefix + path.stem for path in (folder() / family).glob("*.opt")))


def all_available() -> tuple[str, ...]:
    """The names of all specs that come with the package, family by family."""
    return (*available(), *(name for family in FAMILIES for name in available(family)))


def is_name(spec: str) -> bool:
    """Whether it is the name of a spec, as adam and torch/adam; a path ends in .opt or has a folder that is none of
    FAMILIES."""
    return not spec.endswith(".opt") and os.path.dirname(spec) in ("", *FAMILIES)


def name_of(path: Path) -> str:
    """The name of the spec in a file: torch/adam for one of a family that comes along, else that of the file."""
    family = path.parent.name
    return f"{family}/{path.stem}" if path.parent == folder() / family and family in FAMILIES else path.stem


def spec_path(name: str) -> Path:
    """The file of the spec `name`. Raises FileNotFoundError, with a suggestion, if there is none."""
    path = folder() / f"{name}.opt"
    if not path.is_file():
        path = folder() / "matrix" / f"{name}.opt"
    if not path.is_file():
        if os.path.isfile(f"{name}.opt"):
            raise FileNotFoundError(f"no spec named {name!r}; for the file of that name write '{name}.opt'")
        names = all_available()
        hint = suggest(name, names) or f"there are: {', '.join(names) or 'none'}"
        raise FileNotFoundError(f"no spec named {name!r}; {hint}")
    return path
