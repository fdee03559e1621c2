"""Shapes and element types of a graph, from those of some of its variables.

Rules of operators are applied to all nodes, forwards and backwards, until nothing new follows. A rule gets what is
known of the inputs and outputs of a node, and returns what is known then. Inside of this module an unknown shape is
None, and an unknown length -1; MXNet's users write 0 for an unknown length, unless `np_shape` is on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError, did_you_mean
from runtime.core.dtypes import element_type
from runtime.symbol import control_flow
from runtime.symbol.attributes import dtype_of_variable, parse_shape
from runtime.symbol.graph import Entry, Node, auxiliaries, inputs_of, order
from runtime.symbol.shapes import shape_rule
from runtime.symbol.shapes.common import Shape, merged, text
from runtime.symbol.type_rules import type_rule
from runtime.util import is_np_shape

Known = dict[Entry, Any]

_LIMIT = 2**60 - 1
"""The elements that arrays can have: so many of 8 bytes can be addressed."""


def shapes(entries: Sequence[Entry], args: Sequence[Any], kwargs: Mapping[str, Any], partial: bool) -> tuple:
    """The lists that `Symbol.infer_shape` returns."""
    nodes = order(entries)
    given = {name: _shape(name, x) for name, x in _given(nodes, args, kwargs).items()}
    known: Known = {}
    for node in nodes:
        if node.operator is None:
            shape = given.get(node.name)
            known[Entry(node)] = stated_shape(node) if shape is None else shape
    _spread(nodes, known, shape_rule, merged)
    return _lists(nodes, entries, known, partial, _complete, _as_given, "shapes")


def types(entries: Sequence[Entry], args: Sequence[Any], kwargs: Mapping[str, Any], partial: bool) -> tuple:
    """The lists that `Symbol.infer_type` returns. Of types that do not follow, arguments are float32."""
    nodes = order(entries)
    given = {name: element_type(x) for name, x in _given(nodes, args, kwargs).items() if x is not None}
    known: Known = {}
    for node in nodes:
        if node.operator is None:
            known[Entry(node)] = given.get(node.name) or _stated(node, "__dtype__", dtype_of_variable)
    _spread(nodes, known, type_rule, _one_type)
    if not partial:
        for node in nodes:
            if node.operator is None and known[Entry(node)] is None:
                known[Entry(node)] = element_type()
                _spread(nodes, known, type_rule, _one_type)
    return _lists(nodes, entries, known, partial, lambda x: x is not None, lambda x: x and x.type, "types")


def shapes_of(entries: Sequence[Entry], given: Mapping[Node, Shape]) -> dict[Entry, Shape]:
    """The shapes of all entries of a graph whose variables have these."""
    nodes = order(entries)
    known: Known = {Entry(node): given.get(node) for node in nodes if node.operator is None}
    _spread(nodes, known, shape_rule, merged)
    return known


def types_of(entries: Sequence[Entry], given: Mapping[Node, np.dtype]) -> dict[Entry, np.dtype]:
    """The element types of all entries of a graph whose variables have these. What does not follow is float32."""
    nodes = order(entries)
    known: Known = {Entry(node): given.get(node) for node in nodes if node.operator is None}
    _spread(nodes, known, type_rule, _one_type)
    return {entry: dtype or element_type() for entry, dtype in known.items()}


# ---------------------------------------------------------------- the walk


def _spread(nodes: Sequence[Node], known: Known, rule: Callable, merge: Callable) -> None:
    """Apply the rules of all nodes until nothing new is known."""
    for node in nodes:
        for i in range(max(1, len(node.output_names))):
            known.setdefault(Entry(node, i), None)
    changed = True
    while changed:
        changed = False
        for node in (*nodes, *reversed(nodes)):
            if node.operator is not None:
                changed |= _apply(node, known, rule, merge)


def _apply(node: Node, known: Known, rule: Callable, merge: Callable) -> bool:
    """Apply the rule of a node; whether it told something new."""
    places = [*node.inputs, *node.entries()]
    before = [known[x] for x in places]
    n = len(node.inputs)
    try:
        if node.subgraphs:
            inside = partial(_inside, rule=rule, merge=merge)
            inputs, outputs = control_flow.rule(node, before[:n], before[n:], inside, rule is shape_rule)
        else:
            inputs, outputs = rule(node, before[:n], before[n:])
        after = [merge(a, b) for a, b in zip(before, [*inputs, *outputs], strict=True)]
        for shape in after:
            if isinstance(shape, tuple):
                _check(shape)
    except (ArithmeticError, IndexError, MemoryError, TypeError, ValueError, MXNetError) as error:
        have = ", ".join(f"{x.name} {known[x]}" for x in node.inputs)
        assert node.operator is not None
        raise MXNetError(f"{node.operator.name} '{node.name}' does not fit its inputs ({have}): {error}") from None
    for place, value in zip(places, after, strict=True):
        known[place] = merge(known[place], value) if places.count(place) > 1 else value
    # NumPy takes None for float64 where it compares it with a type.
    return any((a is None) != (b is None) or a != b for a, b in zip(after, before, strict=True))


def _check(shape: Shape) -> None:
    """ValueError for a shape that no array has."""
    if min(shape, default=0) < -1:
        raise ValueError("a length would be negative")
    if max(shape, default=0) > _LIMIT or math.prod(shape) > _LIMIT:
        raise ValueError(f"an array of shape {text(shape)} would be too large")


def _inside(
    entries: Sequence[Entry], inputs: Sequence[Any], outputs: Sequence[Any], rule: Callable, merge: Callable
) -> tuple[list, list]:
    """What follows for the variables and the outputs of a subgraph, from what is known of them."""
    found = [Entry(node) for node in inputs_of(entries)]
    known: Known = dict(zip(found, inputs, strict=True))
    for entry, value in zip(entries, outputs, strict=True):
        known[entry] = merge(known.get(entry), value)
    _spread(order(entries), known, rule, merge)
    return [known[x] for x in found], [known[x] for x in entries]


def _one_type(a: np.dtype | None, b: np.dtype | None) -> np.dtype | None:
    if a is None or b is None or a == b:
        return b if a is None else a
    raise ValueError(f"one element type is {a}, another {b}")


# ---------------------------------------------------------------- what users give and get


def _given(nodes: Sequence[Node], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What was given for each argument, by name."""
    if args and kwargs:
        raise ArgumentError("give what is known of arguments in their order, or by name, not both")
    names = [node.name for node in nodes if node.operator is None]
    if args:
        states = auxiliaries(nodes)
        arguments = [node.name for node in nodes if node.operator is None and node not in states]
        if len(args) > len(arguments):
            raise ArgumentError(f"{len(args)} values for {len(arguments)} arguments, {', '.join(arguments)}")
        return {name: x for name, x in zip(arguments, args, strict=False) if x is not None}
    for name in kwargs:
        if name not in names:
            warnings.warn(f"no argument is called '{name}'{did_you_mean(name, names)}", stacklevel=5)
    return {name: x for name, x in kwargs.items() if x is not None and name in names}


def stated_shape(node: Node) -> Shape | None:
    """The shape that a variable has as an attribute, None if it has none; MXNetError names the variable."""
    return _stated(node, "__shape__", lambda text: _shape(node.name, parse_shape(text)))


def _stated(node: Node, key: str, read: Callable[[str], Any]) -> Any:
    """What an attribute of a variable says, None if it says nothing; MXNetError for what it cannot say."""
    found = node.attributes.get(key, "-1")
    try:
        return None if found == "-1" else read(found)
    except (TypeError, ValueError) as error:
        raise MXNetError(f"{key} of the variable '{node.name}' is '{found:.60}': {error}") from None


def _shape(name: str, given: Any) -> Shape | None:
    """A shape as this module has it."""
    if isinstance(given, (int, np.integer)):
        given = (given,)
    if not isinstance(given, (tuple, list)) or not all(isinstance(n, (int, np.integer)) for n in given):
        raise TypeError(f"the shape of '{name}' must be a tuple of integers, not {given!r}")
    if is_np_shape():
        return tuple(int(n) for n in given)
    return tuple(int(n) or -1 for n in given) or None


def _as_given(shape: Shape | None) -> Any:
    """A shape as users have it."""
    if is_np_shape():
        return shape
    return () if shape is None else tuple(0 if n == -1 else n for n in shape)


def _complete(shape: Shape | None) -> bool:
    return shape is not None and -1 not in shape


def _lists(
    nodes: Sequence[Node],
    entries: Sequence[Entry],
    known: Known,
    partial: bool,
    complete: Callable[[Any], bool],
    shown: Callable[[Any], Any],
    what: str,
) -> tuple:
    """What is known of arguments, outputs and auxiliary states; three times None where not all is."""
    states = auxiliaries(nodes)
    found = [Entry(node) for node in nodes if node.operator is None]
    lists = [x for x in found if x.node not in states], list(entries), [x for x in found if x.node in states]
    missing = [x for part in lists for x in part if not complete(known[x])]
    if missing and not partial:
        listed = ", ".join(f"{x.name} {shown(known[x])}" for x in missing[:8])
        warnings.warn(f"the {what} of some arguments do not follow: {listed}; state more of them", stacklevel=4)
        return None, None, None
    return tuple([shown(known[x]) for x in part] for part in lists)
