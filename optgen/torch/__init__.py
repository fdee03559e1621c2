"""Optimizers for PyTorch: each spec is a subclass of `torch.optim.Optimizer`.

`optgen.torch.Lion` is the class of a spec of optgen's; `optgen.torch.optimizer` makes one of any spec. Names of
PyTorch's own optimizers (`optgen.torch.Adam`) are these, with PyTorch's arguments, numbers and state dicts.
`dir(optgen.torch)` lists all classes. They are made on first use, so `help(optgen.torch)` does not show them, but
`help(optgen.torch.Lion)` does. `optgen.torch.SpecOptimizer` is the base class of all of them.
"""

from __future__ import annotations

from typing import Any

from optgen.torch import requirement  # before anything that imports torch

requirement.check()

from optgen.torch.base import SpecOptimizer  # noqa: E402
from optgen.torch.classes import listed, named, optimizer, replace  # noqa: E402

__all__ = ["SpecOptimizer", "convert", "optimizer", "replace"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name == "convert":
        from optgen.torch.conversion import convert

        return convert
    return named(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *listed()})
