"""Tasks: functions `train(make_optimizer, seed, report)`, each in a file with what is said of it."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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

    Raises FileNotFoundError, ValueError for a file that is no task, and whatever the file raises.
    """
    path = Path(task) if task.endswith(".py") else FOLDER / f"{task}.py"
    if not path.is_file():
        if task.endswith(".py"):
            raise FileNotFoundError(f"no such task: {task}")
        known = available()
        raise FileNotFoundError(f"no task named {task!r}; {suggest(task, known) or 'there are ' + ', '.join(known)}")
    module = _imported(path.resolve())
    train = getattr(module, "train", None)
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
    info = results.TaskInfo(words["NAME"], words["TITLE"], words["LOSS"], None if target is None else float(target))
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
    title = (inspect.getdoc(train) or name).splitlines()[0].rstrip(".")
    return TrainingTask(results.TaskInfo(name, title, "held-out loss", None), train)


def _words(stem: str) -> dict[str, str]:
    """What is said of a task that says nothing of itself."""
    return {"NAME": stem, "TITLE": stem, "LOSS": "held-out loss"}


def _check_arguments(name: str, train: Train) -> None:
    """TypeError for a function that cannot be called with three arguments."""
    try:
        inspect.signature(train).bind(None, 0, None)
    except TypeError:
        raise TypeError(f"{name}: the function is train(make_optimizer, seed, report)") from None


def _imported(path: Path) -> ModuleType:
    """The module of a file. What lies beside it can be imported by it, as by a program."""
    if path.parent == FOLDER:
        return importlib.import_module(f"optgen.races.tasks.{path.stem}")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"optgen_task_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for what looks itself up, as dataclasses do
    spec.loader.exec_module(module)
    return module


def _hash_of(path: Path) -> str:
    """A hash of a file, and of the files beside it and in this package that it imports."""
    digest = hashlib.sha256()
    for each in _with_imports(path):
        digest.update(hashlib.sha256(each.read_bytes()).digest())
    return digest.hexdigest()


def _with_imports(path: Path) -> list[Path]:
    found = [path]
    for each in found:  # which grows
        found += [x for x in _beside(each) if x not in found and x.parent != HERE / "tasks"]
    return found


def _beside(path: Path) -> Iterator[Path]:
    """The files of this package, and those beside a file, that it imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [x.name for x in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        module = getattr(node, "module", None)
        for name in [f"{module}.{x}" for x in names] + [module] if module else names:
            own = name.removeprefix("optgen.races.")
            folder = HERE if own != name else path.parent
            file = folder.joinpath(*own.split(".")).with_suffix(".py")
            if file.is_file():
                yield Path(os.path.realpath(file))
