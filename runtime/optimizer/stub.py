"""The stub file for editors: `python -m runtime.optimizer.stub` writes `__init__.pyi` with the classes of all specs."""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from runtime.core import optgen_bridge
from runtime.optimizer.classes import make_class
from runtime.optimizer.spec import SpecOptimizer

PATH = Path(__file__).with_name("__init__.pyi")
HEAD = '''\
"""Written by `python -m runtime.optimizer.stub`, from the specs."""

# ruff: noqa: E501 (equations are as wide as they are)
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

from runtime.optimizer.optimizer import Index, NamedParameter
from runtime.optimizer.optimizer import Optimizer as Optimizer
from runtime.optimizer.spec import SpecOptimizer as SpecOptimizer
from runtime.optimizer.updater import Updater as Updater
from runtime.optimizer.updater import get_updater as get_updater

def register(klass: type[Optimizer]) -> type[Optimizer]: ...
def create(name: str, **kwargs: Any) -> Optimizer: ...
def register_spec(spec: str | os.PathLike[str]) -> type[SpecOptimizer]: ...
'''


def text() -> str:
    """What the stub file should hold."""
    classes = [make_class(optgen_bridge.read(name)) for name in optgen_bridge.names()]
    return "\n".join([HEAD, *map(_class, classes)])


def _class(cls: type[SpecOptimizer]) -> str:
    attributes = {name: _attribute(cls, name) for name in (*cls.param_names, *cls.flag_names)}
    lines = ['"""' + str(cls.__doc__).replace("\\", "\\\\").rstrip(), '"""', ""]
    lines += [f"{name}: {annotation}".replace("'", '"') for name, annotation in attributes.items()]
    lines += ["def __init__(", "    self,"]
    keyword_only = False
    for p in cls.__signature__.parameters.values():
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            lines.append("    *,")
        lines.append(f"    {p.name}: {p.annotation} = {p.default!r},".replace("'", '"'))
    lines += [") -> None: ...", ""]
    return f"class {cls.__name__}(SpecOptimizer):\n" + textwrap.indent("\n".join(lines), "    ")


def _attribute(cls: type[SpecOptimizer], name: str) -> str:
    """The type of an attribute: that of the argument, which for the learning rate may be None."""
    if name in cls.given:
        return "float | None"
    return "float" if name == "lr" else cls.__signature__.parameters[name].annotation


if __name__ == "__main__":
    from optgen.specfiles import in_checkout

    if not in_checkout(PATH):
        sys.exit(f"{PATH} is in no checkout of runtime, and only a checkout of it is written to")
    PATH.write_text(text())
