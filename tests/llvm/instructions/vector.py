"""Lanes of vectors, choices between values, and parts of structures."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.llvm.instruction import Instruction, Step
from tests.llvm.types import Struct, Type, Vector, integer
from tests.llvm.values import Poison, Value, parts, undefined, whole


def _vector(i: Instruction) -> tuple[Vector, int]:
    type, a = i.typed()
    if not isinstance(type, Vector):
        raise i.fail(f"{type} is no vector")
    return type, a


def _lanes(mask: Any, count: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(mask, bool), count)


def insert(i: Instruction) -> Step:
    type, a = _vector(i)
    i.expect(",")
    _, b = i.typed()
    i.expect(",")
    _, index = i.typed()

    def step(r: list[Any]) -> None:
        (old, mask, why), (new, undefined, reason) = parts(r[a]), parts(r[b])
        at = i.plain(r[index], "the index")
        if at >= type.count:
            raise i.fail(f"there is no lane {at}")
        lanes, masks = old.copy(), _lanes(mask, type.count).copy()
        lanes[at], masks[at] = new, undefined is not False
        r[i.result] = whole(lanes, masks, reason or why)

    return step


def extract(i: Instruction) -> Step:
    type, a = _vector(i)
    i.expect(",")
    _, index = i.typed()

    def step(r: list[Any]) -> None:
        value, mask, why = parts(r[a])
        at = i.plain(r[index], "the index")
        if at >= type.count:
            raise i.fail(f"there is no lane {at}")
        lane = value[at]
        found: Value = lane if type.element.name in ("half", "float", "double") else int(lane)
        r[i.result] = Poison(found, True, why) if mask is not False and mask[at] else found

    return step


def shuffle(i: Instruction) -> Step:
    type, a = _vector(i)
    i.expect(",")
    _, b = _vector(i)
    i.expect(",")
    shape, m = _vector(i)
    chosen, unchosen, _ = parts(i.scope.template[m])
    if not isinstance(chosen, np.ndarray) or (chosen >= 2 * type.count).any():
        raise i.fail("the lanes are no constants that there are")
    chosen, unchosen = chosen.astype(np.int64), _lanes(unchosen, shape.count)
    one_sided = bool((chosen < type.count).all()) and not unchosen.any()

    def step(r: list[Any]) -> None:
        x, y = r[a], r[b]
        if one_sided and x.__class__ is not Poison:
            r[i.result] = x[chosen]
            return
        (x, mask, why), (y, other, reason) = parts(x), parts(y)
        lanes = np.concatenate([x, y])[chosen]
        masks = np.concatenate([_lanes(mask, type.count), _lanes(other, type.count)])[chosen] | unchosen
        r[i.result] = whole(lanes, masks, why or reason or i.why("a lane that is not chosen"))

    return step


def select(i: Instruction) -> Step:
    condition, c = i.typed()
    i.expect(",")
    type, a = i.typed()
    i.expect(",")
    other, b = i.typed()
    if type != other or (condition != integer(1) and not isinstance(condition, Vector)):
        raise i.fail("the types do not fit")

    def scalar(r: list[Any]) -> None:
        chooses = r[c]
        if chooses.__class__ is Poison:
            r[i.result] = undefined(type, chooses.why)
        else:
            r[i.result] = r[a] if chooses else r[b]

    def lanes(r: list[Any]) -> None:
        chooses, x, y = r[c], r[a], r[b]
        if not any(v.__class__ is Poison for v in (chooses, x, y)):
            r[i.result] = np.where(chooses, x, y)
            return
        (chooses, unknown, first), (x, mask, why), (y, other, reason) = map(parts, (chooses, x, y))
        masks = np.where(chooses, _lanes(mask, len(x)), _lanes(other, len(x))) | unknown
        r[i.result] = whole(np.where(chooses, x, y), masks, first or why or reason)

    return lanes if isinstance(condition, Vector) else scalar


def extract_value(i: Instruction) -> Step:
    type, a = i.typed()
    i.expect(",")
    at = i.number()
    if not isinstance(type, Struct) or at >= len(type.fields):
        raise i.fail("there is no such field")
    field: Type = type.fields[at]

    def step(r: list[Any]) -> None:
        value = r[a]
        r[i.result] = undefined(field, value.why) if value.__class__ is Poison else value[at]

    return step


BUILDERS = [
    ("insertelement", insert),
    ("extractelement", extract),
    ("shufflevector", shuffle),
    ("select", select),
    ("extractvalue", extract_value),
]
