"""Finds the modules that define optimizers by hand. Those of a script are found by parsing it: nothing of it is run."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optgen.loops.language import syntax
from runtime.core import optgen_bridge
from runtime.optimizer.classes import key_of
from runtime.optimizer.mxnet_overrides import ALIASES
from runtime.optimizer.optimizer import Optimizer

_NOT_SEARCHED = ("runtime", "optgen", "mxnet")


@dataclass(frozen=True)
class _Source:
    """What is read of a module."""

    imports: frozenset[str]
    """All names that an import statement may mean a module by."""
    classes: tuple[tuple[str, frozenset[str]], ...]
    """Classes, each with the last parts of the names of its bases."""


def defining(script: Path) -> list[str]:
    """The modules that `script` imports, itself or through others, and that define subclasses of Optimizer.

    They are of the script's folder, or of another folder of `sys.path` that is no place of installed packages. A class
    counts whose base is called as Optimizer, as SpecOptimizer, as a spec of optgen's, or as another such class.
    """
    folders = [script.resolve().parent, *_folders()]
    sources: dict[str, _Source] = {}
    waiting = list(_read(script, "").imports)
    while waiting:
        name = waiting.pop()
        if name in sources or name.split(".")[0] in _NOT_SEARCHED:
            continue
        path = _file(name, folders)
        if path is not None:
            sources[name] = _read(path, name)
            waiting += sources[name].imports
    optimizers = {key_of(name) for name in ("Optimizer", "SpecOptimizer", *ALIASES, *optgen_bridge.names())}
    found: set[str] = set()
    while (now := set(_with_subclass(sources, optimizers))) != found:
        found = now
    return sorted(found)


def classes() -> list[type[Optimizer]]:
    """Optimizer and all its subclasses that this process has, in the order in which they were made, level by level."""
    found: list[type[Optimizer]] = [Optimizer]
    for cls in found:
        found += cls.__subclasses__()
    return found


def known() -> list[str]:
    """The modules that these are of, but for the script itself and this library."""
    names = {cls.__module__ for cls in classes()}
    return sorted(name for name in names if name.split(".")[0] not in (*_NOT_SEARCHED, "__main__"))


def _with_subclass(sources: dict[str, _Source], optimizers: set[str]) -> Iterator[str]:
    """The modules with a class whose base is among these names, as `key_of` has them; it is added to them."""
    for module, source in sources.items():
        for name, bases in source.classes:
            if any(key_of(base) in optimizers for base in bases):
                optimizers.add(key_of(name))
                yield module


def _folders() -> list[Path]:
    """Where own modules may be: the folders of `sys.path` but for those of Python and of installed packages."""
    standard = Path(sysconfig.get_path("stdlib")).resolve()
    folders = [Path(entry).resolve() for entry in sys.path]
    return [path for path in folders if not {"site-packages", "dist-packages"} & {*path.parts}
            and standard not in (path, *path.parents)]  # fmt: skip


def _file(module: str, folders: list[Path]) -> Path | None:
    """The file of a module, if one of the folders has it."""
    for folder in folders:
        place = folder.joinpath(*module.split("."))
        for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if path.is_file():
                return path
    return None


def _read(path: Path, module: str) -> _Source:
    """What a file imports and defines; nothing, where it is no Python."""
    try:
        tree = syntax(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return _Source(frozenset(), ())
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    imports: set[str] = set()
    renamed: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            imports.update([base, *(f"{base}.{alias.name}" for alias in node.names)])
            renamed |= {alias.asname: alias.name for alias in node.names if alias.asname}
    classes = [
        (node.name, frozenset(renamed.get(base, base) for base in map(_last_name, node.bases)))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    parents = {".".join(name.split(".")[:n]) for name in imports for n in range(1, name.count(".") + 1)}
    return _Source(frozenset(imports | parents) - {""}, tuple(classes))


def _last_name(base: ast.expr) -> str:
    """Of `mx.optimizer.Optimizer`, Optimizer."""
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
