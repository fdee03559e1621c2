"""The table of operators that graphs are made of, `operators.txt`, as objects.

`find(name)` gives an Operator: its inputs, auxiliary states, attributes and outputs, which may depend on the attributes
of a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from runtime.base import MXNetError, did_you_mean
from runtime.ndarray.custom import properties
from runtime.symbol.attributes import Attribute, misfit, text_of

_LINE = re.compile(r"(\w+)\((.*)\)(?: -> ([^|]*?))?(?: \| (.*))?")
_CLAUSE = re.compile(r"(not )?(\w+)(?: (==|!=) (\w+))?")
Values = Mapping[str, Any]
MOST_OUTPUTS = 1 << 16
"""Of a node: more can only be a mistake, and would fill the memory with names."""


BATCH_NORMS = ("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
"""Operators with data, a scale, a shift and two statistics of each channel."""


@dataclass(frozen=True)
class Condition:
    """Clauses that attributes must meet: `(name, value, equal)`; a value of None stands for what is true."""

    clauses: tuple[tuple[str, str | None, bool], ...]

    def __call__(self, values: Values) -> bool:
        return all(
            (bool(values[name]) if value is None else values[name] == value) == equal
            for name, value, equal in self.clauses
        )


@dataclass(frozen=True)
class Input:
    """An input. `condition` says where it is there; `many` stands for any number of inputs."""

    name: str
    condition: Condition
    auxiliary: bool = False
    many: bool = False


@dataclass(frozen=True)
class Output:
    """An output. A hidden one is hidden where the condition holds; another is there where it holds.

    `counted` names the attributes of which the first that is not 0 says how many there are.
    """

    name: str
    condition: Condition
    hidden: bool = False
    counted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operator:
    """An operator of the table.

    `open` is whether it takes attributes of any name, as `Custom` alone does; `graphs` is how many subgraphs it has.
    """

    name: str
    inputs: tuple[Input, ...]
    attributes: Mapping[str, Attribute]
    outputs: tuple[Output, ...]
    open: bool = False
    graphs: int = 0

    def values(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """All attributes as values, from the strings of a node; other strings are left out.

        MXNetError names an attribute that is missing, or whose string does not fit.
        """
        found: dict[str, Any] = {}
        for name, attribute in self.attributes.items():
            text = texts.get(name, attribute.default)
            if text is None:
                raise MXNetError(f"{self.name}: the attribute '{name}' is required")
            try:
                found[name] = attribute.value(text)
            except ValueError as error:
                raise misfit(self.name, name, text, error) from None
        return found

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments of a call in order: of inputs, but for `*x`, and of attributes."""
        return [x.name for x in self.inputs if not x.many] + list(self.attributes)

    def by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by their names, without those of `*x`. TypeError for one that is given twice."""
        in_order = {} if any(x.many for x in self.inputs) else dict(zip(self.parameters, args, strict=False))
        twice = next((name for name in in_order if name in kwargs), None)
        if twice is not None:
            raise TypeError(f"{self.name}: {twice} is given twice, in order and by its name")
        return {**kwargs, **in_order}

    def text(self, key: str, value: Any) -> str:
        """The string of an attribute's value; MXNetError if it does not fit."""
        attribute = self.attributes.get(key)
        try:
            return text_of(value) if attribute is None else attribute.text(value)
        except (TypeError, ValueError) as error:
            raise misfit(self.name, key, text_of(value), error) from None

    def inputs_of(self, values: Values, count: int) -> list[tuple[str, bool]]:
        """The name of each input of a node, and whether it is auxiliary. `count` inputs take the place of `*x`."""
        found: list[tuple[str, bool]] = []
        for x in self.inputs:
            if x.condition(values):
                names = [f"arg{i}" for i in range(count)] if x.many else [x.name]
                found += [(name, x.auxiliary) for name in names]
        return found

    def takes_many(self, values: Values) -> bool:
        """Whether a node with these attributes takes any number of inputs."""
        return any(x.many and x.condition(values) for x in self.inputs)

    def outputs_of(self, values: Values) -> tuple[list[str], int]:
        """The endings of the names of the outputs that can be taken, and how many outputs there are."""
        names: list[str] = []
        hidden = 0
        for y in self.outputs:
            if y.counted:
                amounts = [n if isinstance(n, int) else len(n) for n in (values[key] for key in y.counted)]
                n = next((n for n in amounts if n), 0)
                if not 0 < n <= MOST_OUTPUTS:
                    raise MXNetError(f"{self.name}: {n} outputs are too many, or too few")
                names += [y.name] if n == 1 else [f"{y.name}{i}" for i in range(n)]
            elif y.hidden and y.condition(values):
                hidden += 1
            elif y.hidden or y.condition(values):
                names.append(y.name)
        return names, len(names) + hidden


@dataclass(frozen=True)
class CustomOperator(Operator):
    """`Custom`: inputs, states and outputs are what the CustomOpProp says that is registered as `op_type`.

    `values` has that, made of the other attributes, as 'prop'.
    """

    def values(self, texts: Mapping[str, str]) -> dict[str, Any]:
        found = super().values(texts)
        own = {key: x for key, x in texts.items() if key != "op_type" and key[:2] != "__"}
        return found | {"prop": properties(found["op_type"], own)}

    def inputs_of(self, values: Values, count: int) -> list[tuple[str, bool]]:
        prop = values["prop"]
        return [(x, False) for x in prop.list_arguments()] + [(x, True) for x in prop.list_auxiliary_states()]

    def takes_many(self, values: Values) -> bool:
        return False

    def outputs_of(self, values: Values) -> tuple[list[str], int]:
        names = list(values["prop"].list_outputs())
        return names, len(names)


def find(name: str) -> Operator:
    """The operator of this name; MXNetError suggests others."""
    try:
        return _table()[name]
    except KeyError:
        raise MXNetError(f"there is no operator '{name}'{did_you_mean(name, _table())}") from None


def names() -> Iterable[str]:
    """The names of all operators, all that each has."""
    return _table().keys()


@cache
def _table() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for line in resources.files(__package__).joinpath("operators.txt").read_text().splitlines():
        if line and line[0] != "#":
            operator, others = _parse(line)
            found |= dict.fromkeys((operator.name, *others), operator)
    return found


# ---------------------------------------------------------------- lines of the table


def _parse(line: str) -> tuple[Operator, list[str]]:
    """The operator of a line, and its other names."""
    found = _LINE.fullmatch(line)
    assert found is not None, line
    name, inside, outputs, others = found.groups()
    inputs, _, attributes = inside.partition(";")
    kind = CustomOperator if "..." in attributes else Operator
    operator = kind(
        name,
        tuple(_input(text) for text in _split(inputs) if not text.startswith("graph ")),
        {x.name: x for x in map(_attribute, _split(attributes)) if x.name != "..."},
        tuple(_outputs(outputs or "output")),
        "..." in attributes,
        sum(text.startswith("graph ") for text in _split(inputs)),
    )
    return operator, others.split() if others else []


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    return [part.strip() for part in re.split(r",(?![^()\[\]]*[)\]])", text) if part.strip()]


def _condition(text: str) -> Condition:
    clauses = []
    for clause in text.split(" and ") if text else ():
        found = _CLAUSE.fullmatch(clause)
        assert found is not None, text
        negated, name, comparison, value = found.groups()
        clauses.append((name, value, not negated and comparison != "!="))
    return Condition(tuple(clauses))


def _input(text: str) -> Input:
    name, _, condition = text.partition(" if ")
    auxiliary, many = name.startswith("aux "), name.startswith("*")
    return Input(name.removeprefix("aux ").removeprefix("*"), _condition(condition), auxiliary, many)


def _attribute(text: str) -> Attribute:
    name, _, rest = text.partition(": ")
    kind, has_default, default = rest.partition(" = ")
    return Attribute(name, kind, default if has_default else None)


def _outputs(text: str) -> Iterator[Output]:
    for part in _split(text):
        names, _, condition = part.partition(" if ")
        names, _, counted = names.partition(" * ")
        hidden = names.startswith("[")
        for name in _split(names.strip("[]")):
            yield Output(name, _condition(condition), hidden, tuple(counted.split(" or ")) if counted else ())
