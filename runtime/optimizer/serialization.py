"""Optimizers as JSON text, for processes that update values for others. Nothing is pickled or evaluated.

What travels: the class, as the text of its spec or as `module:qualname`; its arguments and hyper-parameters and, where
it is written by hand, whatever else it keeps of numbers, words and None; the names, multipliers and update counts of
parameters; the seed of random draws; the schedule, if it is one of `runtime.lr_scheduler`. Any other schedule stays
with the sender, who evaluates it: then `changes` has the rate of the next update. States are not part of it (see
`states`).

What is received chooses among classes that there are (`named_classes`). It has nothing imported.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from runtime import random
from runtime.base import MXNetError
from runtime.core import optgen_bridge
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import counts, named_classes, schedules
from runtime.optimizer.classes import is_made, make_class
from runtime.optimizer.optimizer import Index, Optimizer
from runtime.optimizer.spec import SpecOptimizer, base_of
from runtime.optimizer.states import COUNTS, checked_value, is_scalar, is_settable, scalars

_VERSION = 1
_TABLES = ("lr_mult", "wd_mult")
_APART = ("idx2name", "param_dict", "lr_scheduler", "pieces", "exchange", *_TABLES)
"""Public attributes of all optimizers that are no scalars: they travel in ways of their own, or are a store's."""


# ---------------------------------------------------------------- writing


def dumps(optimizer: Optimizer) -> str:
    """The optimizer as text, of which `loads` makes one that updates as this one does, to the last bit.

    Raises MXNetError, saying what to do, for what cannot travel: a class that others cannot import or that cannot be
    made anew from its scalar attributes, other public attributes, private arrays and lists and the like that are not as
    the constructor makes them, and equations with an input of arrays (`set_input`).
    """
    cls = type(optimizer)
    _check_attributes(optimizer)
    made = is_made(cls)
    content: dict[str, Any] = {
        "version": _VERSION,
        "class": cls.__name__ if made else named_classes.name_of(cls),
        "spec": cls.spec.source.text if made else None,
        "arguments": _arguments(optimizer),
        "values": changes(optimizer) | _private(optimizer),
        "names": [[i, optimizer.name_of(i)] for i in optimizer.idx2name | optimizer.param_dict],
        "ids": _pairs(optimizer._ids),
        "updates": _pairs(optimizer._index_update_count),
        **{name: getattr(optimizer, name) for name in COUNTS},
    }
    if isinstance(optimizer, SpecOptimizer):
        if optimizer.seed is None:  # what both would draw at their first update would not be the same
            optimizer.seed = int(random.generator.integers(1 << 63))
        content["seed"] = optimizer.seed
    refusal = f"{cls.__name__} cannot be sent to another process"
    with _refused(refusal):
        text = json.dumps(content)
    try:
        _check_same(optimizer, loads(text))
    except MXNetError as error:
        raise MXNetError(f"{refusal}: {error}") from None
    return text


def changes(optimizer: Optimizer) -> dict[str, Any]:
    """What a user can change while training, as it is now, for `apply`: values that JSON can hold.

    By name: the numbers of the equations (of a class written by hand, all public scalar attributes), `lr`, `lr_mult`
    and `wd_mult` as lists of [index or name, factor], and `lr_scheduler`, None or a dict. `lr` is the rate of the next
    update where the schedule stays with the sender.
    """
    if is_made(type(optimizer)):
        bases = map(base_of, optimizer.spec.following)  # behind the rates, which set them anew
        values = {name: getattr(optimizer, name) for name in (*optimizer.param_names, *bases)}
    else:
        elsewhere = {*_APART, *_elsewhere(optimizer), *_private(optimizer)}
        values = {name: value for name, value in scalars(optimizer).items() if name not in elsewhere}
    schedule, params = optimizer.lr_scheduler, optimizer.param_dict
    values["lr_scheduler"] = schedules.to_json(schedule)
    if schedule is not None and values["lr_scheduler"] is None:
        values["lr"] = _rate(optimizer)
    for table in _TABLES:
        factors = getattr(optimizer, table) | {i: getattr(p, table) for i, p in params.items()}
        values[table] = [[i, float(factor)] for i, factor in factors.items()]
    return values


def _arguments(optimizer: Optimizer) -> dict[str, Any]:
    """What is fixed once there are states."""
    values = {name: getattr(optimizer, name) for name in _argument_names(optimizer)}
    return {
        name: dict(x) if isinstance(x, Mapping) else list(x) if isinstance(x, tuple) else x
        for name, x in values.items()
    }


def _private(optimizer: Optimizer) -> dict[str, Any]:
    """What a class written by hand keeps to itself of scalars."""
    return {name: value for name, value in scalars(optimizer).items() if name.startswith("_")}


def _elsewhere(optimizer: Optimizer) -> tuple[str, ...]:
    """Attributes that `changes` does not have, as they are fixed, or count."""
    counts = (*COUNTS, "seed") if isinstance(optimizer, SpecOptimizer) else COUNTS
    return (*counts, *_argument_names(optimizer))


def _argument_names(optimizer: Optimizer) -> tuple[str, ...]:
    if not isinstance(optimizer, SpecOptimizer):
        return ("multi_precision",)
    return ("multi_precision", "lazy_update", "storage", *optimizer.flag_names, *optimizer.per_param_names)


def _pairs(table: Mapping[Index, Any]) -> list[list[Any]]:
    """A dict as a list: JSON would turn its numbers into names."""
    return list(map(list, table.items()))


def _rate(optimizer: Optimizer) -> float:
    """What a schedule is asked for at the next update, which most optimizers count before they ask."""
    counts_first = not isinstance(optimizer, SpecOptimizer) or optimizer.counts_first
    number = optimizer.num_update + counts_first
    rate = optimizer.lr_scheduler(number)
    try:
        return float(rate)
    except (TypeError, ValueError):
        raise MXNetError(f"the lr_scheduler gave {rate!r} for update {number}, not a number") from None


def _check_attributes(optimizer: Optimizer) -> None:
    """MXNetError for public attributes that would be lost."""
    name = type(optimizer).__name__
    inputs = [x.name for x in optimizer.spec.inputs] if isinstance(optimizer, SpecOptimizer) else []
    if inputs:
        raise MXNetError(
            f"{name} reads '{inputs[0]}', which set_input gives it, and such arrays are not sent to other processes: "
            "update in this one, with a kvstore that is not asynchronous"
        )
    if is_made(type(optimizer)):
        return
    known = {*scalars(optimizer), *_APART, *_argument_names(optimizer)}
    for attribute, value in vars(optimizer).items():
        if attribute not in known and not attribute.startswith("_"):
            raise MXNetError(
                f"{name} cannot be sent to another process: its attribute '{attribute}' is of type "
                f"{type(value).__module__}.{type(value).__name__}, and only bool, int, float, str and None are sent. "
                "Make it one of these, or let its name begin with '_' and have the constructor make it from such"
            )


def _check_same(optimizer: Optimizer, made: Optimizer) -> None:
    """MXNetError where a class written by hand keeps to itself what is neither sent nor made by its constructor."""
    base = next((cls for cls in type(optimizer).__mro__ if is_made(cls)), Optimizer)
    for name in vars(optimizer).keys() - vars(base()).keys():
        value = vars(optimizer)[name]
        if name.startswith("_") and not is_scalar(value) and not _alike(value, vars(made).get(name)):
            raise MXNetError(
                f"its attribute '{name}' is not as the constructor makes it, and only bool, int, float, str and None "
                "are sent: keep what changes in these, or in states"
            )


def _alike(x: Any, y: Any) -> bool:
    """Whether they are the same data; what is no data, such as functions, always is."""
    if isinstance(x, (NDArray, np.ndarray, np.generic, list, tuple, dict, set)) and type(x) is not type(y):
        return False
    match x:
        case NDArray():
            return x.stype == y.stype and np.array_equal(x.asnumpy(), y.asnumpy())
        case np.ndarray() | np.generic():
            return np.array_equal(x, y)
        case list() | tuple():
            return len(x) == len(y) and all(map(_alike, x, y))
        case dict():
            return x.keys() == y.keys() and all(_alike(x[key], y[key]) for key in x)
    return x == y if is_scalar(x) or isinstance(x, set) else True


# ---------------------------------------------------------------- reading


def loads(text: str) -> Optimizer:
    """The optimizer that `dumps` wrote, without states and `Parameter`s.

    A spec is compiled here. A class written by hand must be one that this process has, or that is of a module of
    `named_classes.provide`; its constructor is called with those of its arguments that are named as its attributes.
    Raises MXNetError for anything else.
    """
    try:
        content = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise MXNetError(f"this is no optimizer in JSON: {error}") from None
    if not isinstance(content, dict) or content.get("version") != _VERSION:
        raise MXNetError(f"this is no optimizer as this library writes them, version {_VERSION}")
    arguments, values = _field(content, "arguments", dict), _field(content, "values", dict)
    spec = content.get("spec")
    cls = (
        named_classes.class_of(_field(content, "class", str))
        if spec is None
        else _of_spec(_field(content, "spec", str))
    )
    with _refused(f"{cls.__name__} cannot be made"):
        optimizer = _spec_optimizer(cls, arguments, values) if issubclass(cls, SpecOptimizer) else _by_hand(cls, values)
        if _arguments(optimizer).keys() != arguments.keys() or not isinstance(arguments["multi_precision"], bool):
            raise ValueError(f"{sorted(arguments)} are not its arguments")
        optimizer.multi_precision = arguments["multi_precision"]
    apply(optimizer, values)
    optimizer.idx2name = _table(content, "names", str)
    optimizer._ids = _table(content, "ids", int)
    optimizer._first_counts = _table(content, "updates", int)
    optimizer._all_index_update_counts = {}
    optimizer._set_current_context(0)
    for name in COUNTS:
        setattr(optimizer, name, counts.count(_field(content, name, int), f"'{name}'"))
    if isinstance(optimizer, SpecOptimizer):
        optimizer.seed = counts.seed(_field(content, "seed", int), "the seed of an optimizer")
    return optimizer


def apply(optimizer: Optimizer, changes: Mapping[str, Any]) -> None:
    """Give an optimizer that `loads` made what `changes` says of the sender's.

    Raises MXNetError for names that it does not have and values that these cannot have; nothing has changed then.
    """
    if not isinstance(changes, Mapping):
        raise MXNetError(f"changes of an optimizer are a dict by name, not {type(changes).__name__}")
    new: dict[str, Any] = {}
    for name, value in changes.items():
        with _refused(f"{type(optimizer).__name__} cannot have {name!r} = {value!r}"):
            if name in _TABLES:
                new[name] = _table(changes, name, float)
            elif name == "lr_scheduler":
                new[name] = schedules.of_json(value)
            else:
                new[name] = _checked(optimizer, name, value)
    for name, value in new.items():
        setattr(optimizer, name, value)


def _checked(optimizer: Optimizer, name: str, value: Any) -> Any:
    """A new value for an attribute; TypeError or ValueError where it can have none or not this."""
    if not isinstance(optimizer, SpecOptimizer) or name not in optimizer.param_names:
        if not isinstance(name, str) or name in (*_APART, *_elsewhere(optimizer)):
            raise ValueError("this does not change")
        if not is_settable(optimizer, name):
            raise ValueError("there is no such attribute to set")
    return checked_value(optimizer, name, value)


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """Errors of values as MXNetErrors that begin with `what`."""
    try:
        yield
    except MXNetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ArithmeticError) as error:
        raise MXNetError(f"{what}: {error}") from None


def _field(content: Mapping[str, Any], name: str, kind: type) -> Any:
    value = content.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise MXNetError(f"an optimizer in JSON has '{name}' of type {kind.__name__}, not {type(value).__name__}")
    return value


def _table(content: Mapping[str, Any], name: str, kind: type) -> dict[Index, Any]:
    """What `_pairs` was given: values of one kind, by index or name; numbers are finite, integers are counts."""
    found: dict[Index, Any] = {}
    for pair in _field(content, name, list):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise MXNetError(f"'{name}' is a list of pairs, which {pair!r} is none")
        key, value = pair
        kinds = (int, float) if kind is float else kind
        if not isinstance(key, (int, str)) or not isinstance(value, kinds) or isinstance(key, bool):
            raise MXNetError(f"'{name}' has pairs of an index or name and a {kind.__name__}; {pair!r} is none")
        fits = math.isfinite(value) if kind is float else kind is str or 0 <= value <= counts.MAX_COUNT
        if isinstance(value, bool) or not fits:
            raise MXNetError(f"'{name}' has the value {value!r} for {key!r}, which is out of range")
        found[key] = value
    return found


# ---------------------------------------------------------------- making one


@functools.lru_cache(maxsize=64)
def _made_here(text: str) -> type[SpecOptimizer]:
    """The class of a spec that is not registered in this process."""
    with _refused("the spec of an optimizer has errors"):
        return make_class(optgen_bridge.read(text))


def _of_spec(text: str) -> type[SpecOptimizer]:
    """The class of a spec's text: the one that is known by its name here, if that has this text."""
    if "\n" not in text:
        raise MXNetError("the spec of an optimizer is its text, which has several lines")
    named = re.search(r"^optimizer +(\w+)", text, re.MULTILINE)
    registry = Optimizer.opt_registry
    if named and named[1] in registry:
        known = registry.get(named[1])
        if issubclass(known, SpecOptimizer) and known.spec.source.text == text:
            return known
    return _made_here(text)


def _spec_optimizer(cls: type[SpecOptimizer], arguments: Mapping[str, Any], values: Mapping[str, Any]) -> SpecOptimizer:
    """A new optimizer of a spec, with these arguments, and with those of the values on which its variant depends."""
    if not isinstance(arguments.get("lazy_update"), bool):
        raise TypeError("'lazy_update' must be True or False")
    given = {name: x for name, x in arguments.items() if name not in ("multi_precision", "lazy_update")}
    for name in cls.param_names:
        unread = name in ("wd", "clip_gradient") and name not in cls.spec.reads
        if name in values and not unread:
            given["learning_rate" if name == "lr" else name] = values[name]
    optimizer = cls(**given)
    optimizer.lazy_update = arguments["lazy_update"]
    return optimizer


def _by_hand(cls: type[Optimizer], values: Mapping[str, Any]) -> Optimizer:
    """A new optimizer of a class written by hand: its arguments are those that are attributes of these names."""
    given = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        attribute = "lr" if name == "learning_rate" else name
        if attribute in values and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            given[name] = values[attribute]
    try:
        return cls(**given)
    except Exception as error:  # it is the user's code
        called = f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
        raise MXNetError(
            f"{called} failed: {type(error).__name__}: {error}; the constructor is called with those of its arguments "
            "that are public attributes, too"
        ) from None
