"""Tasks: functions `train(make_optimizer, seed, report)`, each in a file with what is said of it."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from optgen.diagnostics import suggest
from optgen.races import results

Train = Callable[[Any, int, Any], Any]
FOLDER = Path(__file__).resolve().parent / "tasks"
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class TrainingTask:
    """A function that trains something, and what is said of it. `place` is what `load` found it by, or empty.
    `source` is a hash of the code that it is made of. `is_network`: what is trained is one, for which rates that
    sources recommend are meant."""

    info: results.TaskInfo
    train: Train = field(compare=False)
    place: str = ""
    source: str = ""
    is_network: bool = True

    @property
    def name(self) -> str:
        return self.info.name


def available() -> tuple[str, ...]:
    """The names of the tasks that come with the package, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"))


def load(task: str) -> TrainingTask:
    """A task that comes with the package, by name, or that of a Python file, which is imported.

    Raises FileNotFoundError, ValueError or TypeError for a file that is no task, and ImportError for one that cannot
    be imported, whatever it raises.
    """
    path = Path(task) if task.endswith(".py") else FOLDER / f"{task}.py"
    if not path.is_file():
        if task.endswith(".py"):
            raise FileNotFoundError(f"no such task: {task}")
        known = available()
        raise FileNotFoundError(f"no task named {task!r}; {suggest(task, known) or 'there are ' + ', '.join(known)}")
    module, train = _imported(path.resolve())
    if not callable(train):
        raise ValueError(f"{path} is no task: it has no function train(make_optimizer, seed, report)")
    _check_arguments(str(path), train)
    target = getattr(module, "TARGET", None)
    if target is not None and not isinstance(target, int | float):
        raise ValueError(f"{path}: TARGET is a held-out loss, or None, not {target!r}")
    is_network = getattr(module, "IS_NETWORK", True)
    if not isinstance(is_network, bool):
        raise ValueError(f"{path}: IS_NETWORK is True or False, not {is_network!r}")
    words = {name: getattr(module, name, usual) for name, usual in _words(path.stem).items()}
    for name, word in words.items():
        if not (isinstance(word, str) and word.strip()):
            raise ValueError(f"{path}: {name} is a text, not {word!r}")
    try:
        info = results.TaskInfo(words["NAME"], words["TITLE"], words["LOSS"], None if target is None else float(target))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return TrainingTask(info, train, task, _hash_of(path.resolve()), is_network)


@functools.cache
def info(name: str) -> results.TaskInfo:
    """What is said of a task that comes with optgen; where a library is missing that it imports, its name."""
    try:
        return load(name).info
    except ImportError:
        return results.TaskInfo(name, name, "held-out loss", None)


def source_of(name: str) -> str | None:
    """The hash of a task that comes with optgen, which is not imported; None if there is none of this name."""
    path = FOLDER / f"{name}.py"
    return _hash_of(path) if path.is_file() else None


def of_function(train: Train) -> TrainingTask:
    """The task of a function that a program or a notebook has."""
    name = getattr(train, "__name__", type(train).__name__)
    if not callable(train):
        raise TypeError(f"train is a function train(make_optimizer, seed, report), not {train!r}")
    _check_arguments(name, train)
    title = (inspect.getdoc(train) or name).splitlines()[0].rstrip(".") or name
    short = name if results.is_file_name(name) else "train"  # as of a lambda
    return TrainingTask(results.TaskInfo(short, title, "held-out loss", None), train)


def _words(stem: str) -> dict[str, str]:
    """What is said of a task that says nothing of itself."""
    return {"NAME": stem, "TITLE": stem, "LOSS": "held-out loss"}


def _check_arguments(name: str, train: Train) -> None:
    """TypeError for a function that cannot be called with three arguments."""
    try:
        inspect.signature(train).bind(None, 0, None)
    except TypeError:
        raise TypeError(f"{name}: the function is train(make_optimizer, seed, report)") from None


def described(error: BaseException, functions: Container[str] = ("train", "closure")) -> str:
    """An error of a task in one line: what it says, and the place in the last of these functions that it was in."""
    words = " ".join(str(error).split()) or "no message"
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.name in functions]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {words}{place}"


# ---------------------------------------------------------------- the files of a task


def _imported(path: Path) -> tuple[ModuleType, Any]:
    """The module of a file, and its function `train`, if it has one.

    What lies beside the file can be imported by it, as by a program, and by its function: by nobody else.
    """
    if path.parent == FOLDER:
        own = importlib.import_module(f"optgen.races.tasks.{path.stem}")
        return own, getattr(own, "train", None)
    spec = importlib.util.spec_from_file_location(f"optgen_task_{hashlib.sha256(bytes(path)).hexdigest()}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for what looks itself up, as dataclasses do
    beside: dict[str, ModuleType] = {}
    try:
        with _importable(path, beside):
            _check_found(path)
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ImportError(f"{path} cannot be imported: {described(error, ('<module>',))}") from error
    train = getattr(module, "train", None)
    if not callable(train):
        return module, train

    @functools.wraps(train)
    def trained(*args: Any) -> Any:
        with _importable(path, beside):
            return train(*args)

    return module, trained


@contextlib.contextmanager
def _importable(path: Path, beside: dict[str, ModuleType]) -> Iterator[None]:
    """Have the modules beside a file be found, after all others, within the block. `beside` keeps those that were
    imported, so that two tasks may have helpers of one name."""
    folder = str(path.parent)
    outside = dict(sys.modules)
    if folder in map(os.path.realpath, sys.path):  # then all may import what is there, and have done so
        yield
        return
    sys.path.append(folder)
    sys.modules.update(beside)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            top = name.partition(".")[0]
            if (top in beside or top not in outside) and _is_at(getattr(module, "__spec__", None), path.parent, top):
                beside[name] = sys.modules.pop(name)
        sys.modules.update({name: outside[name] for name in beside if name in outside})


def _check_found(path: Path) -> None:
    """ImportError for a file beside one that imports it, where its name finds another module."""
    folder = path.parent
    for top in {
        x.relative_to(folder).parts[0].removesuffix(".py") for x in _with_imports(path) if HERE not in x.parents
    }:
        found = importlib.util.find_spec(top)
        if found is not None and not _is_at(found, folder, top):
            raise ImportError(
                f"{top} beside {path.name} has the name of another module, {found.origin or 'which is imported'}; "
                "give it a name of its own"
            )


def _is_at(spec: ModuleSpec | None, folder: Path, top: str) -> bool:
    """Whether a module is the file or the package of a name in a folder, or lies in this package."""
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    found = [Path(os.path.abspath(x)) for x in places if x]
    return any(x == folder / f"{top}.py" or x.is_relative_to(folder / top) for x in found)


def _hash_of(path: Path) -> str:
    """A hash of a file, and of the files beside it and in this package that it imports."""
    digest = hashlib.sha256()
    for each in _with_imports(path):
        digest.update(hashlib.sha256(each.read_bytes()).digest())
    return digest.hexdigest()


def _with_imports(path: Path) -> list[Path]:
    """A file, and those beside it, in packages there and in this package that it imports, directly or not."""
    found = [path]
    for each in found:  # which grows
        root = HERE if each.parent == HERE else path.parent
        found += [x for x in dict.fromkeys(_imports(each, root)) if x not in found and x.parent != FOLDER]
    return found


def _imports(path: Path, root: Path) -> Iterator[Path]:
    """The files that a file imports, of this package and of the folder that its imports begin at."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, root)
        elif isinstance(node, ast.ImportFrom):
            folder = path.parents[node.level - 1] if node.level else root
            module = [node.module] if node.module else []
            for name in [*(".".join([*module, x.name]) for x in node.names), *module]:
                yield from _files(name, folder)


def _files(name: str, folder: Path) -> Iterator[Path]:
    """The files of a module by its name: those of the packages that it is in, and its own."""
    own = name.removeprefix("optgen.races.")
    if own == name and name.partition(".")[0] == "optgen":
        return  # its version stands for it
    parts = own.split(".")
    place = HERE if own != name else folder
    packages = [place.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)]
    yield from filter(Path.is_file, [*packages, place.joinpath(*parts).with_suffix(".py")])
