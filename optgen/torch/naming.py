"""Errors of kernels in the words of an optimizer's user: parameters by their names, or by group, place and shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

PLACE = re.compile(r"\b(params|grads|state\['?[\w.]+'?\])\[(\d+)\](\.grad|\.values|\.indices)?")
"""What errors of a bound step call a tensor, by its number among those that are bound."""
KINDS = (TypeError, ValueError, ArithmeticError)
"""The errors of a bound step that name a tensor."""

TWICE = re.compile(r"(, of shape \([^)]*\))\1")
"""What a parameter without a name, and an error that tells its shape, say both."""


@contextmanager
def naming(params: Sequence[torch.Tensor], describe: Callable[[torch.Tensor], str]) -> Iterator[None]:
    """Have errors about the tensors of bound parameters say which parameters they are of."""
    try:
        yield
    except KINDS as error:
        message = PLACE.sub(lambda found: _words(found, params, describe), str(error))
        message = TWICE.sub(r"\1", message)
        if message == str(error):
            raise
        raise kind_of(error)(message) from error


def kind_of(error: Exception) -> type[Exception]:
    """Which of the errors that a step may raise this one is."""
    return next((kind for kind in KINDS if isinstance(error, kind)), RuntimeError)


def _words(found: re.Match[str], params: Sequence[torch.Tensor], describe: Callable[[torch.Tensor], str]) -> str:
    what, number, part = found.groups()
    if int(number) >= len(params):
        return found[0]
    param = describe(params[int(number)])
    if what == "params" and not part:
        return param
    return f"the gradient of {param}" if what in ("params", "grads") else f"{what} of {param}"


def describe(groups: Sequence[dict[str, object]], param: torch.Tensor) -> str:
    """A parameter of groups as errors call it."""
    for k, group in enumerate(groups):
        params, names = group["params"], group.get("param_names")
        assert isinstance(params, list)
        for i, p in enumerate(params):
            if p is param:
                if isinstance(names, list):
                    return f"parameter '{names[i]}'"
                return f"parameter {i} of group {k}, of shape {tuple(p.shape)}"
    return f"a parameter of shape {tuple(param.shape)}"
