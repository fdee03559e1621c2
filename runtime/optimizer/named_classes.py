"""Classes of optimizers that are written by hand, by the names that they travel by: `module:qualname`."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from typing import Any

from runtime.base import MXNetError
from runtime.optimizer import handwritten_modules
from runtime.optimizer.optimizer import Optimizer

_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PROVIDED: dict[str, str | None] = {}
"""The modules of `provide`: None until they are imported, then why they could not be, or nothing."""


def name_of(cls: type[Optimizer]) -> str:
    """`module:qualname`, by which another process finds the class."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        where = "in the script itself" if cls.__module__ == "__main__" else "inside a function"
        raise MXNetError(
            f"{cls.__name__} cannot be sent to another process, as it is defined {where}: define it in a module that "
            "can be imported there, or write it as a spec and use optimizer.register_spec"
        )
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not cls:
        raise MXNetError(f"{cls.__name__} cannot be sent to another process: '{name}' is another class")
    return name


def provide(names: Iterable[str]) -> None:
    """Have classes of the modules of these names, too, made by name in this process. They are imported, all of them,
    when a class is asked for that is not there."""
    for name in names:
        _PROVIDED.setdefault(name, None)


def class_of(name: str) -> type[Optimizer]:
    """The Optimizer class that `module:qualname` names."""
    if not _CLASS.fullmatch(name):
        raise MXNetError(f"an optimizer class is named as module:qualname, which {name!r} is not")
    found = _classes().get(name)
    if found is None:
        _import_provided()
        found = _classes().get(name)
    module = name.partition(":")[0]
    if found is None and _PROVIDED.get(module):
        raise MXNetError(
            f"the optimizer class '{name}' cannot be imported in this process: {_PROVIDED[module]}; its module must be "
            "importable wherever updates are made"
        )
    if found is None:
        raise MXNetError(
            f"'{name}' is no optimizer: only subclasses of runtime.optimizer.Optimizer are made by name, and "
            f"other modules than those named beforehand ({', '.join(_PROVIDED) or 'here, none'}) cannot be imported: "
            f"python -m runtime.launch --module {module}"
        )
    return found


def _classes() -> dict[str, type[Optimizer]]:
    """All classes of optimizers that there are, as `module:qualname`; of equal ones, as a module that is imported again
    makes them, the last."""
    return {f"{cls.__module__}:{cls.__qualname__}": cls for cls in handwritten_modules.classes()}


def _import_provided() -> None:
    for module in [module for module, failure in _PROVIDED.items() if failure is None]:
        try:
            importlib.import_module(module)
            _PROVIDED[module] = ""
        except (Exception, SystemExit) as error:
            _PROVIDED[module] = f"{type(error).__name__}: {error}"
