"""The stub file for editors: `python -m optgen.torch.stub` writes `__init__.pyi` with all classes."""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path
from typing import Any

from optgen.specfiles import in_checkout
from optgen.symbolic.unicode import unicode
from optgen.torch.base import SpecOptimizer
from optgen.torch.classes import by_source, class_names
from optgen.torch.torch_classes import CLASSES, arguments_beside

PATH = Path(__file__).with_name("__init__.pyi")
HEAD = '''\
"""Written by `python -m optgen.torch.stub`, from the specs."""

# ruff: noqa: E501 (equations are as wide as they are)
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch.optim.optimizer import ParamsT

from optgen.model import Optimizer
from optgen.torch.base import SpecOptimizer as SpecOptimizer
from optgen.torch.classes import replace as replace
from optgen.torch.conversion import convert as convert
from optgen.torch.torch_classes import TorchOptimizer

class _AnySpecOptimizer(SpecOptimizer):
    def __init__(
        self, params: ParamsT | torch.nn.Module, lr: float | torch.Tensor = ..., *args: Any, **values: Any
    ) -> None: ...

def optimizer(spec: str | os.PathLike[str] | Optimizer) -> type[_AnySpecOptimizer]: ...
'''
ANNOTATIONS = {
    "params": "ParamsT | torch.nn.Module",
    "plain": "bool | Iterable[str] | None",
    "storage": "str | Mapping[str, str] | None",
    "master": "bool",
    "weights": 'Literal["stochastic", "kahan"] | None',
    "capturable": "bool",
    "seed": "int",
    "clip_norm": "float | None",
    "fused": "bool | None",
    "in_backward": "bool",
    "accumulate": "int",
    "skip_nonfinite": "bool",
    "donate_grads": "bool",
    "states": 'Literal["cpu"] | None',
    "groups": "Iterable[tuple[str, Mapping[str, Any]]] | None",
    "no_decay": "str | None",
    "matmul": 'Literal["float32", "bfloat16", "deterministic"]',
}
"""The types of the arguments that every class has."""


def text() -> str:
    """What the stub file should hold."""
    names = class_names()
    classes = [by_source(source) for name, source in sorted(names.items()) if by_source(source).__name__ == name]
    others = [(name, by_source(source).__name__) for name, source in sorted(names.items())]
    return "\n".join([HEAD, *map(_class, classes), *(f"{name} = {own}" for name, own in others if name != own), ""])


def _class(cls: type[SpecOptimizer]) -> str:
    name = cls.__name__
    is_torchs = name in CLASSES
    document = _short_docstring(cls) if is_torchs else str(cls.__doc__)
    parameters = list(inspect.signature(cls).parameters.values())
    lines = ['"""' + document.replace("\\", "\\\\").rstrip(), '"""', "", "def __init__(", "    self,"]
    keyword_only = False
    for p in parameters:
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            lines.append("    *,")
        default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}".replace("'", '"')
        lines.append(f"    {p.name}: {_annotation(cls, p)}{default},")
    lines += [") -> None: ...", *(f"def {phase}(self) -> None: ..." for phase in cls.spec.phases), ""]
    bases = f"TorchOptimizer, torch.optim.{name}" if is_torchs else "SpecOptimizer"
    return f"class {name}({bases}):\n" + textwrap.indent("\n".join(lines), "    ")


def _short_docstring(cls: type[SpecOptimizer]) -> str:
    """The docstring of one of PyTorch's, without what PyTorch's own says."""
    lines = [f"{cls.spec.title}, with kernels of optgen.", "", f"{cls.spec.cite}.", "", "::", ""]
    lines += [f"    {line}" for line in unicode(cls.spec).splitlines()]
    lines += ["", "Args:", f"    those of {cls.spec.title}, and:"]
    more = arguments_beside(CLASSES[cls.__name__], cls.spec)
    return "\n".join([*lines, *(f"    {name}: {what}" for name, (_, what) in more.items())])


def _annotation(cls: type[SpecOptimizer], p: inspect.Parameter) -> str:
    if p.name in ANNOTATIONS:
        return ANNOTATIONS[p.name]
    if p.annotation is not inspect.Parameter.empty:
        return inspect.formatannotation(p.annotation)
    flags: dict[str, Any] = {flag.name: flag for flag in cls.spec.flags}
    if p.name in flags and flags[p.name].choices:
        return f"Literal[{', '.join(map(repr, flags[p.name].choices))}]".replace("'", '"')
    if isinstance(p.default, bool):
        return "bool"
    number = "float | torch.Tensor"
    if isinstance(p.default, tuple):
        return f"tuple[{', '.join([number] * len(p.default))}]"
    return number if p.default is not None else f"{number} | None"


if __name__ == "__main__":
    if not in_checkout(PATH):
        sys.exit(f"{PATH} is in no checkout of optgen, and only a checkout of it is written to")
    PATH.write_text(text())
