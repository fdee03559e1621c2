"""Settings of parameters by patterns over their names: `("blocks.{i}.*", {"lr": lambda i: 0.001*0.8**i})`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

ONE_DIMENSIONAL = "1d"
"""The alternative of a pattern that stands for parameters of at most one dimension, whatever they are called."""
PARTS = re.compile(r"\{(?P<number>[^{}]*)\}|(?P<any>\*)|(?P<one>\?)|(?P<brace>[{}])|(?P<text>[^*?{}]+)")


class Named(NamedTuple):
    """A parameter: its names, of which one that is tied has several, and one that was given without has none; and its
    shape."""

    names: tuple[str, ...]
    shape: tuple[int, ...]


class Pattern:
    """A pattern over names, or several with `|` between them.

    `*` stands for any characters, dots too, `?` for one of them, and `{i}` for a whole number, which a setting that is
    a function takes as its argument `i`. `1d` stands for parameters of at most one dimension. TypeError for what is no
    text, ValueError for a brace that is no such number, and for one that does not say where its number begins.
    """

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a pattern over names of parameters is text, with '|' between several, not {text!r}")
        self.text = text
        parts = text.split("|")
        self.takes_vectors = ONE_DIMENSIONAL in parts
        self.alternatives = {part: _compiled(part, text) for part in parts if part != ONE_DIMENSIONAL}

    def match(self, param: Named) -> dict[str, int] | None:
        """The numbers in the name of a parameter, by what the pattern calls them; None for one that it is not for."""
        for expression in self.alternatives.values():
            numbers = _numbers(expression, param)
            if numbers is not None:
                return numbers
        return {} if self.takes_vectors and len(param.shape) <= 1 else None

    def unused(self, params: Sequence[Named]) -> str | None:
        """The first of the alternatives over names that is for none of these parameters."""
        every = self.alternatives.items()
        return next((part for part, x in every if all(_numbers(x, p) is None for p in params)), None)


def _numbers(expression: re.Pattern[str], param: Named) -> dict[str, int] | None:
    found = next(filter(None, map(expression.fullmatch, param.names)), None)
    return None if found is None else {key: int(number) for key, number in found.groupdict().items()}


def settings(rules: Any, params: Sequence[Named], what: str = "groups") -> list[list[dict[str, Any]]]:
    """The settings of each parameter by rules, pairs of a pattern and a dict: those of each rule that is for it, in
    their order, of which the last one counts. A setting that is a function is called with those of the pattern's
    numbers, `name` and `shape` that it takes.

    TypeError or ValueError, which begins with `what`, for rules that are none, for an alternative of a pattern that is
    for no parameter, for parameters without the names that a pattern needs, and for what a function raises.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in params]
    for pattern, given in _checked(rules, what):
        if pattern.alternatives and any(not p.names for p in params):
            raise ValueError(
                f"{what}: '{pattern.text}' is a pattern over names, and parameters were given without; pass a network, "
                "or named parameters, as net.named_parameters()"
            )
        unused = pattern.unused(params)
        if unused is not None:
            names = ", ".join(p.names[0] for p in params[:4])
            raise ValueError(f"{what}: '{unused}' is for none of the parameters, which are {names}, ...")
        for k, param in enumerate(params):
            numbers = pattern.match(param)
            if numbers is not None:
                known = {**numbers, "name": next(iter(param.names), None), "shape": param.shape}
                where = f"{what}: '{pattern.text}'"
                found[k].append({key: _value(x, key, known, where) for key, x in given.items()})
    return found


def _checked(rules: Any, what: str) -> Iterable[tuple[Pattern, Mapping[str, Any]]]:
    """Rules as they are read; TypeError or ValueError for what is none."""
    expected = f'{what}: a list of pairs of a pattern and a dict, as ("*.bias", {{"wd": 0}})'
    if isinstance(rules, str | Mapping) or not isinstance(rules, Iterable):
        raise TypeError(f"{expected}; not {rules!r}")
    for rule in rules:
        if not isinstance(rule, tuple | list) or len(rule) != 2 or not isinstance(rule[1], Mapping):
            raise TypeError(f"{expected}; not {rule!r}")
        try:
            pattern = Pattern(rule[0])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: {error}") from None
        yield pattern, rule[1]


def _value(x: Any, key: str, known: Mapping[str, Any], where: str) -> Any:
    """A setting, or what a function gives for a parameter; TypeError for one that takes what is not known."""
    if not callable(x):
        return x
    try:
        taken = [p.name for p in inspect.signature(x).parameters.values() if p.default is p.empty]
    except ValueError:  # of some that are written in C
        raise TypeError(f"{where}: {key}: {x!r} does not say what it takes; write a function around it") from None
    unknown = [name for name in taken if name not in known]
    if unknown:
        raise TypeError(
            f"{where}: {key} takes '{unknown[0]}'; a function takes, by name, {', '.join(known)}: numbers of the "
            "pattern are written as {i}"
        )
    call: Callable[..., Any] = x
    try:
        return call(**{name: known[name] for name in taken})
    except Exception as error:
        param = f"parameter '{known['name']}', of shape {known['shape']}"
        raise ValueError(f"{where}: {key} of {param}: {type(error).__name__}: {error}") from error


def _compiled(part: str, text: str) -> re.Pattern[str]:
    """The regular expression of one alternative of a pattern."""
    if not part:
        raise ValueError(f"the pattern '{text}' has an empty part, which no name is")
    numbers = [found["number"] for found in PARTS.finditer(part) if found["number"]]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"the pattern '{text}': two numbers of one name")
    if re.search(r"[*?}]\{", part):
        raise ValueError(f"the pattern '{text}': write what is between '{{' and what is before it, or numbers are cut")
    return re.compile("".join(_piece(found, text) for found in PARTS.finditer(part)))


def _piece(found: re.Match[str], text: str) -> str:
    if found["text"] is not None:
        return re.escape(found["text"])
    if found["number"] is not None and found["number"].isidentifier():
        return rf"(?P<{found['number']}>\d+)"
    if found["brace"] is not None or found["number"] is not None:
        raise ValueError(f"the pattern '{text}': braces hold the name of a whole number, as in 'blocks.{{i}}.*'")
    return ".*" if found["any"] else "."
