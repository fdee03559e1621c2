"""What CuPy has, from `api.txt`: names, the types of ufuncs, and the parameters of all else as signatures."""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

Parameter = inspect.Parameter


def _signature(words: list[str]) -> inspect.Signature:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for word in words:
        if word == "*":
            kind = Parameter.KEYWORD_ONLY
            continue
        name = word.lstrip("*").rstrip("=")
        default = None if word.endswith("=") else Parameter.empty
        if word.startswith("*"):
            starred = Parameter.VAR_KEYWORD if word.startswith("**") else Parameter.VAR_POSITIONAL
            parameters.append(Parameter(name, starred))
            kind = Parameter.KEYWORD_ONLY
        else:
            parameters.append(Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def _read() -> tuple[dict[str, list[str]], dict[str, dict[str, inspect.Signature]]]:
    types: dict[str, list[str]] = {}
    signatures: dict[str, dict[str, inspect.Signature]] = defaultdict(dict)
    for line in (Path(__file__).parent / "api.txt").read_text(encoding="utf-8").splitlines()[1:]:
        kind, name, *words = line.split()
        if kind == "ufunc":
            types[name] = words
        else:
            signatures[kind][name] = _signature(words)
    return types, signatures


UFUNCS, SIGNATURES = _read()


def check(kind: str, name: str, args: tuple, kwargs: dict) -> None:
    """TypeError for arguments that CuPy's function does not have."""
    try:
        SIGNATURES[kind][name].bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() of CuPy: {error}") from None
