"""Functions whose parameters are data: many alike, of which each has its own names, order and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

REQUIRED = inspect.Parameter.empty
"""In place of a default: the argument must be given."""


def with_signature(
    name: str, doc: str | None, parameters: Mapping[str, tuple[str, Any]], keywords: bool = False, returns: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function that can be called, and is shown by `help`, as one that was written with these parameters.

    It calls what it decorates, its `__wrapped__`, with the values of all parameters, in order, and, if `keywords`, with
    what else is named.
    `parameters` has for each its annotation and default, `returns` the annotation of the result. Arguments that do not
    fit raise Python's own TypeError.
    """
    defaults = {key: default for key, (_, default) in parameters.items()}
    places = {key: i for i, key in enumerate(defaults)}
    tail = list(defaults.values())
    required = tail.count(REQUIRED)  # which come first
    shown = [
        inspect.Parameter(
            key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation or REQUIRED
        )
        for key, (annotation, default) in parameters.items()
    ]
    if keywords:
        shown.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation="Any"))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            n = len(args)
            others = {key: kwargs.pop(key) for key in list(kwargs) if key not in places} if keywords else {}
            values = [*args, *tail[n:]]
            for key, value in kwargs.items():
                place = places.get(key, -1)
                if place < n:
                    raise _misfit(call.__qualname__, defaults, args, kwargs)
                values[place] = value
            if n > len(tail) or (n < required and any(x is REQUIRED for x in values[n:required])):
                raise _misfit(call.__qualname__, defaults, args, kwargs)
            return function(*values, **others)

        call.__name__, call.__qualname__, call.__doc__ = name.rpartition(".")[2], name, doc
        call.__module__, call.__wrapped__ = function.__module__, function
        call.__signature__ = inspect.Signature(shown, return_annotation=returns or inspect.Signature.empty)
        return call

    return decorate


def _misfit(name: str, defaults: Mapping[str, Any], args: tuple, kwargs: Mapping[str, Any]) -> TypeError:
    """The error for arguments that do not fit, in Python's words."""
    known = list(defaults)
    for key in kwargs:
        if key not in defaults:
            return TypeError(f"{name}() got an unexpected keyword argument {key!r}")
        if key in known[: len(args)]:
            return TypeError(f"{name}() got multiple values for argument {key!r}")
    needed = [key for key in known if defaults[key] is REQUIRED]
    if len(args) > len(known):
        takes = f"from {len(needed)} to {len(known)}" if len(needed) < len(known) else str(len(known))
        return TypeError(f"{name}() takes {takes} positional arguments but {len(args)} were given")
    missing = [repr(key) for key in needed[len(args) :] if key not in kwargs]
    listed = " and ".join([", ".join(missing[:-1])] * (len(missing) > 1) + missing[-1:])
    plural = "s" * (len(missing) > 1)
    return TypeError(f"{name}() missing {len(missing)} required positional argument{plural}: {listed}")
