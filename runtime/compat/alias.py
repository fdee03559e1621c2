"""The package under another name. After `sys.modules["mxnet"] = runtime`, scripts that import `mxnet` and its modules
get the modules of this package, not second copies of them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from runtime.base import not_provided

_PACKAGE = __name__.partition(".")[0]
_FOLDER = os.path.join(Path(__file__).parents[1], "")


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of this package that are imported under another package's name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        _refuse(name)
        if name.startswith(f"{_PACKAGE}."):
            return None
        # All imports of the process pass here, and nearly all are of other folders: strings are compared, not paths.
        for folder in path or ():
            if os.path.join(folder, "").startswith(_FOLDER):
                inside = Path(folder).relative_to(_FOLDER).parts
                real = ".".join((_PACKAGE, *inside, name.rpartition(".")[2]))
                return ModuleSpec(name, self, loader_state=real) if find_spec(real) else None
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.loader_state)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's `__spec__`, which the import system has replaced. The module itself has run already."""
        module.__spec__ = module.__spec__.loader_state


def _refuse(name: str) -> None:
    """Raise ModuleNotFoundError, which says what to use, for a module of MXNet's that its package does not have.

    The package says so in `_NOT_PROVIDED`: what to use, by the names of such modules.
    """
    parent, _, last = name.rpartition(".")
    package = sys.modules.get(parent)
    if package is not None and getattr(package, "__name__", "").partition(".")[0] == _PACKAGE:
        instead = vars(package).get("_NOT_PROVIDED", {}).get(last)
        if instead is not None:
            # Without the error's `name`: `from package import last` would pass over an error of that name.
            raise ModuleNotFoundError(not_provided(package.__name__, last, instead))


def install() -> None:
    """Put the finder first in the list of finders."""
    sys.meta_path.insert(0, _Finder())
