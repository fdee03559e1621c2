"""The files that come with the package: the specs, and the reference of their language.

They are in optgen/ in a wheel, beside it in a checkout.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable
from pathlib import Path

from optgen.diagnostics import Source, listed, suggest

_HERE = Path(__file__).resolve().parent
FAMILIES = ("torch", "optax", "matrix")
"""Folders of specs whose names begin with that of the folder: the optimizers of torch.optim; those of optax that
compute otherwise than the specs that belong to no family; those with products of matrices, which a name without the
folder finds as well."""
SHELF = "papers"
"""The folder of the specs of one paper each that few people ask for. They load as papers/NAME, and are left out where
all specs are listed, built, raced or swept over."""


def _shipped(name: str) -> Path:
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


def checkout() -> Path | None:
    """The folder of this project, if the package lies in a checkout of it; None if it is installed elsewhere."""
    return None if (_HERE / "specs").is_dir() else _HERE.parent


def in_checkout(path: Path) -> bool:
    """Whether a file or folder lies in the checkout that the package lies in, wherever symbolic links lead."""
    root = checkout()
    return root is not None and path.resolve().is_relative_to(root.resolve())


def folder() -> Path:
    """The folder of the specs that come with the package."""
    return _shipped("specs")


def language() -> str:
    """The reference of the spec language, Markdown: what a spec says, how it is computed, and the errors."""
    texts = (_shipped("docs") / f"{name}.md" for name in ("language", "arithmetic", "errors"))
    return "\n".join(path.read_text("utf-8") for path in texts)


def races() -> Path:
    """The folder of the stored baselines of races, one JSON file a spec."""
    return _shipped("benchmarks") / "races"


def source(path: Path, shown: str | None = None) -> Source:
    """The text of a spec file; `shown` is its name in messages. Raises ValueError if it is not UTF-8."""
    try:
        # A byte-order mark is no part of the text. Importing the codec that drops it takes longer than reading a spec.
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a spec: byte {error.start} is not UTF-8 text") from error
    return Source(shown or str(path), text.replace("\r\n", "\n"))


def transforms() -> tuple[str, ...]:
    """The names of the transforms that come with the package, sorted; then those of optax, as optax/clip."""
    top = folder() / "transforms"
    own = sorted(path.stem for path in top.glob("*.opt"))
    return (*own, *(f"optax/{path.stem}" for path in sorted((top / "optax").glob("*.opt"))))


CHAIN = re.compile(r" (with|otherwise) ")
"""What stands behind the first name in the name of a chain, as "adam with ema" and "muon otherwise adamw"."""
CHAIN_PATH = re.compile(r"[^\s,()=]+\.opt(?![^\s,()])")
"""The path of a transform or of a spec in a chain: it ends in .opt."""


def transform_places(name: str, beside: Path) -> tuple[Path, ...]:
    """Where the file of a transform may be, the first that exists being meant."""
    if name.endswith(".opt"):
        return (Path(name),)
    return beside / f"{name}.opt", Path(f"{name}.opt"), folder() / "transforms" / f"{name}.opt"


def transform_path(name: str, beside: Path) -> Path:
    """The file of a transform: one in a folder, or one that comes with the package. Raises FileNotFoundError."""
    for path in transform_places(name, beside):
        if path.is_file() and path.parent != folder():
            return path
    if name.endswith(".opt"):
        raise FileNotFoundError(f"there is no file {name} (in {Path.cwd()})")
    known = transforms()
    help = suggest(name, known) or f"there are {listed(known)}"
    if name in all_available():
        help = f"{name} is an optimizer; transforms stand behind 'with', as {known[0]}"
    raise FileNotFoundError(f"no transform named {name!r}; {help}")


def available(family: str = "") -> tuple[str, ...]:
    """The names of the specs of a family, sorted; without one, of those that belong to none."""
    prefix = f"{family}/" if family else ""
    return tuple(sorted(prefix + path.stem for path in (folder() / family).glob("*.opt")))


def without_folder() -> tuple[str, ...]:
    """The names of the specs that are found without a folder: those of no family, and those with products of
    matrices."""
    return tuple(sorted((*available(), *(os.path.basename(name) for name in available("matrix")))))


def all_available() -> tuple[str, ...]:
    """The names of all specs that come with the package, family by family."""
    return (*available(), *(name for family in FAMILIES for name in available(family)))


def is_name(spec: str) -> bool:
    """Whether it is the name of a spec, as adam and torch/adam; a path ends in .opt or has a folder that is none of
    FAMILIES and not SHELF."""
    return not spec.endswith(".opt") and os.path.dirname(spec) in ("", *FAMILIES, SHELF)


def ships(name: str) -> bool:
    """Whether it is the name of a spec that comes with optgen."""
    return is_name(name) and place(name).is_file()


def name_of(path: Path) -> str:
    """The name of the spec in a file: torch/adam for one of a family that comes with optgen, else that of the file."""
    family = path.parent.name
    return f"{family}/{path.stem}" if path.parent == folder() / family and family in (*FAMILIES, SHELF) else path.stem


def path_of(spec: str) -> Path:
    """The file of a spec, given by name or path; a path has a folder, or ends in .opt. Raises FileNotFoundError for a
    name of nothing."""
    return spec_path(spec) if is_name(spec) else Path(spec)


def place(name: str) -> Path:
    """Where the file of a spec that comes with optgen would be."""
    path = folder() / f"{name}.opt"
    return path if path.is_file() else folder() / "matrix" / f"{name}.opt"


def spec_path(name: str) -> Path:
    """The file of the spec `name`. Raises FileNotFoundError, with a suggestion, if there is none."""
    path = place(name)
    if not path.is_file():
        if os.path.isfile(f"{name}.opt"):
            raise FileNotFoundError(f"no spec named {name!r}; for the file of that name write '{name}.opt'")
        raise FileNotFoundError(f"no spec named {name!r}; {hint(name)}")
    return path


def hint(name: str, others: Iterable[str] = ()) -> str:
    """What to write in place of a name of no spec, and of none of these others: a chain where 'with' is missing, what
    another library's name is here, or names that are near."""
    in_folders = [x for folder in ("torch", "optax", SHELF) for x in available(folder)]
    own, changes = sorted({*others, *without_folder(), *in_folders}), transforms()
    words = [x for x in re.split(r"[\s,+]+", name) if x != "with"]
    chained = [x for x in words if x in changes]
    if words and len(chained) == len(words) - 1 and (spec := next(x for x in words if x not in chained)) in own:
        return f"did you mean '{spec} with {', '.join(chained)}'?"
    stem = re.split(r"[/.]", name)[-1]
    folders = [f"{family}/{stem.lower()}" for family in FAMILIES if name.lower().startswith(f"{family}.")]
    for meant in (*folders, stem, f"{SHELF}/{stem.lower()}"):  # torch.optim.AdamW, optax.contrib.dog, mine/adam
        if meant in own:
            return f"did you mean '{meant}'?"
    if name in changes:
        return f"{name} is a transform of others, as in 'adam with {name}'"
    import difflib  # for a wrong name only: importing it takes as long as reading a spec

    from optgen import names_elsewhere

    there = names_elsewhere.hint(name)
    if there is not None:
        return there
    bare = {names_elsewhere.key(x): x for x in without_folder()}.get(names_elsewhere.key(name))
    if bare is not None and re.fullmatch(r"\w+(\.\w+)+", name):  # timm.optim.Lion
        return f'without the module it is a spec: write optgen.load("{bare}")'

    near = difflib.get_close_matches(name.lower(), own, n=4, cutoff=0.7)
    return suggest(name, own) or (f"near are {listed(near)}; " if near else "") + "'optgen list' shows all"
