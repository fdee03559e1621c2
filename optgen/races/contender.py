"""What takes part in a race: an optimizer with its arguments, read from a line as `adam(beta2=0.99) with lookahead`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from optgen import api, arguments, pipeline
from optgen.axes import ELEMENTS, When
from optgen.diagnostics import SpecErrors, suggest
from optgen.facts import fact
from optgen.model import DIMENSIONS, Optimizer

if TYPE_CHECKING:
    import torch

OTHERS = "adamw"
"""What updates the parameters that a spec of matrices alone does not."""
OPTIONS = ("storage", "master", "weights", "matmul", "clip_norm")
"""Arguments of all optimizers of `optgen.torch` that a contender may be given beside those of its spec."""
_CALL = re.compile(r"(?P<spec>[^\s()]+)\((?P<arguments>[^()]*)\)(?P<rest>.*)", re.DOTALL)
_OF_TEXT = frozenset({"title", "cite", "doc", "aliases", "lr_hint_source", "schedule_source", "message"})
"""Fields of a model that are for people, and compute nothing."""


class CannotRaceError(ValueError):
    """An optimizer cannot take part, for the reason that the message gives."""


@dataclass(frozen=True)
class Contender:
    """An optimizer with arguments. `name` is what it is called in results. `spec` is what `optgen.torch.optimizer`
    takes, and `values` are arguments by the names that the spec has for them."""

    name: str
    spec: str | Optimizer
    optimizer: Optimizer = field(compare=False, repr=False)
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_rate(self) -> bool:
        """Whether any equation reads a rate that can be tuned."""
        return "lr" in self.optimizer.reads or bool(self.optimizer.following)

    @property
    def lr_hint(self) -> float | None:
        """The rate to begin with, where a source says so; 1 for a contender without a rate."""
        return self.optimizer.lr_hint if self.has_rate else 1.0

    @property
    def usual_rate(self) -> float:
        """The rate that its other rates go with."""
        return self.optimizer.first_rate if self.has_rate else 1.0

    def allows(self, rate: float) -> bool:
        """Whether the spec takes a rate, and the others that go with it."""
        params = self.optimizer.all_params
        rates = {"lr": rate} if self.has_rate else {}
        rates |= self._following(rate)
        intervals = {name: params[name].interval for name in rates}
        return all(x is None or rates[name] in x for name, x in intervals.items())

    def _following(self, rate: float) -> dict[str, float]:
        """Its other rates, which keep their ratio to this one."""
        params, usual = self.optimizer.all_params, self.usual_rate
        values = {name: self.values.get(name, params[name].default) for name in self.optimizer.following}
        return {name: x * rate / usual for name, x in values.items() if x is not None and usual}

    @property
    def has_own_schedule(self) -> bool:
        """Whether its rate needs no decay."""
        return self.optimizer.has_own_schedule

    @fact
    def identity(self) -> str:
        """A hash of all that the optimizer computes: of its model without words and places, and of its arguments."""
        own = [_plain(self.optimizer), {name: self.values[name] for name in sorted(self.values)}]
        return hashlib.sha256(json.dumps(own, default=str).encode()).hexdigest()

    def make(self, params: Any, rate: float, seed: int) -> torch.optim.Optimizer:
        """The optimizer of some parameters, or of a network. Other rates keep their ratio to `rate`: they are what the
        spec says at its `lr_hint`, or at its default rate."""
        from optgen.torch import optimizer

        cls = optimizer(self.spec)
        own = self.optimizer
        values = {**self.values, **self._following(rate)}
        keys = {key: _of_key(own, names, values) for key, names in cls.spelling.params.items() if {*names} & {*values}}
        keys |= {name: x for name, x in values.items() if name in OPTIONS or name in cls.spelling.flags}
        keys |= {"lr": rate} if self.has_rate else {}
        return cls(params, seed=seed, **keys)


def _of_key(own: Optimizer, names: Sequence[str], values: Mapping[str, Any]) -> Any:
    """The value of a key of a group: a number, or a tuple of several params."""
    found = [values.get(name, own.all_params[name].default) for name in names]
    return tuple(found) if len(names) > 1 else found[0]


# ---------------------------------------------------------------- from a line


def read(spec: str | os.PathLike[str] | Optimizer) -> Contender:
    """A contender of a name, a path or a chain, with arguments in brackets behind the first name, or of what
    `optgen.parse` returned.

    Raises SpecErrors, FileNotFoundError, CannotRaceError for an optimizer that no race can train with, and ValueError
    for a wrong argument.
    """
    if isinstance(spec, Optimizer):
        _check(spec.name, spec)
        if _is_for_matrices(spec):
            raise CannotRaceError(
                f"{spec.name} is for matrices alone: write it to a file, and race 'file.opt otherwise {OTHERS}'"
            )
        return Contender(spec.name, spec, spec)
    line = " ".join(os.fspath(spec).split())
    chain, optimizer, values = called(line, OPTIONS)
    _check(line, optimizer)
    if "lr" in values:
        raise ValueError(f"{line}: the race finds the rate itself; leave 'lr' out")
    if _is_for_matrices(optimizer):
        base, behind, transforms = chain.partition(" with ")
        chain = f"{base} otherwise {OTHERS}{behind}{transforms}"
        optimizer = _checked(chain)
    return Contender(line, chain, optimizer, values)


def called(line: str, options: Sequence[str] = ()) -> tuple[str, Optimizer, dict[str, Any]]:
    """What a line as `adam(beta2=0.99) with lookahead` names: the chain without arguments, its model, and the arguments
    by the names that the spec has for them, or that are among `options`.

    Raises SpecErrors, FileNotFoundError, and ValueError for a wrong argument.
    """
    match = _CALL.fullmatch(line)
    chain = line if match is None else f"{match['spec']}{match['rest']}"
    optimizer = _checked(chain)
    return chain, optimizer, {} if match is None else _values(line, optimizer, match["arguments"], options)


def check_different(contenders: Sequence[Contender]) -> None:
    """ValueError for two contenders that are one optimizer with the same arguments."""
    found: dict[str, str] = {}
    for own in contenders:
        other = found.setdefault(own.identity, own.name)
        if other != own.name:
            raise ValueError(f"{other} and {own.name} are the same optimizer with the same arguments: leave one out")


def swept(line: str, name: str, values: Sequence[str]) -> list[str]:
    """The lines of contenders that differ in one argument."""
    match = _CALL.fullmatch(line)
    if match is None:
        spec, rest = (line, "") if " " not in line or os.path.exists(line) else _parted(line)
        return [f"{spec}({name}={x}){rest}" for x in values]
    given = match["arguments"].split(",") if match["arguments"].strip() else []
    before = [x for x in given if x.partition("=")[0].strip() != name]
    return [f"{match['spec']}({', '.join([*map(str.strip, before), f'{name}={x}'])}){match['rest']}" for x in values]


def _parted(line: str) -> tuple[str, str]:
    spec, _, rest = line.partition(" ")
    return spec, f" {rest}"


def _checked(chain: str) -> Optimizer:
    """The model of the optimizer that `optgen.torch` makes of this."""
    try:
        source = api.read(chain)
        return pipeline.checked(source)
    except SpecErrors as errors:
        raise errors.with_traceback(None) from None


def _values(line: str, optimizer: Optimizer, text: str, options: Sequence[str]) -> dict[str, Any]:
    """The arguments in the brackets of a line. Raises ValueError."""
    found: dict[str, Any] = {}
    for pair in map(str.strip, text.split(",") if text.strip() else ()):
        name, equals, value = (x.strip() for x in pair.partition("="))
        if not (name.isidentifier() and equals and value):
            raise ValueError(f"{line}: {pair!r} is not NAME=VALUE")
        own = name if name in options else _name_of(line, optimizer, name, options)
        if own in found:
            raise ValueError(f"{line}: '{name}' is given twice")
        found[own] = _value(value)
    try:
        arguments.resolve(optimizer, {name: x for name, x in found.items() if name not in options})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{line}: {error}") from None
    return found


def _name_of(line: str, optimizer: Optimizer, name: str, options: Sequence[str]) -> str:
    """The spec's own name of an argument. Raises ValueError for an unknown one."""
    flags = [flag.name for flag in optimizer.flags if flag.condition is None]
    if name in flags:
        return name
    try:
        return arguments.find(optimizer, name).name
    except TypeError as error:
        known = [*optimizer.all_params, *flags, *options]
        raise ValueError(f"{line}: {suggest(name, known) or error}") from None


def _value(text: str) -> Any:
    """A number, true, false or none, or a word, quoted or not."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


# ---------------------------------------------------------------- what can be raced


def _check(name: str, optimizer: Optimizer) -> None:
    """CannotRaceError for a spec whose steps need more than a closure gives them."""
    if optimizer.inputs:
        needed = ", ".join(f"'{x.name}' ({x.doc or 'a further tensor'})" for x in optimizer.inputs)
        raise CannotRaceError(f"{name} needs {needed} beside the gradient, which the tasks of a race do not compute")
    given = [x for x in optimizer.given if x != "loss"]
    if given:
        raise CannotRaceError(f"{name} needs {', '.join(given)} in each step, which the tasks of a race do not give")


def _is_for_matrices(optimizer: Optimizer) -> bool:
    """Whether a spec refuses parameters by their shapes, and has no part for these."""
    return not optimizer.parts and any(not x.names.isdisjoint(DIMENSIONS) for x in optimizer.requires)


_LATER: Mapping[tuple[str, str], Any] = {
    ("Optimizer", "dims"): (),
    ("StateDecl", "for_users"): False,
    ("Input", "axes"): ELEMENTS,
    ("Input", "known"): When.TENSOR,
}
"""Fields that models did not always have, with what stands for their absence: what was hashed before stays the same."""


def _plain(x: Any) -> Any:
    """A part of a model as JSON, without what is for people: comments, sources, places in the text."""
    if dataclasses.is_dataclass(x):
        own = [f.name for f in dataclasses.fields(x) if f.compare and f.name not in _OF_TEXT]
        own = [name for name in own if _LATER.get((type(x).__name__, name), _LATER) != getattr(x, name)]
        return [type(x).__name__, *(_plain(getattr(x, name)) for name in own)]
    if isinstance(x, tuple | list):
        return [_plain(item) for item in x]
    return x if isinstance(x, str | int | float | bool | None) else str(x)
