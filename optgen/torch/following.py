"""Rates of a group that follow its `lr`: those that the spec declares so."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import torch

from optgen.model import Optimizer
from optgen.torch.spelling import Spelling

FOLLOWING = "following"
"""The key of a group that has what its rates follow: `lr` at the last look; and of each rate what it was then, and what
it is times `lr`, None if it was set while `lr` was 0. State dicts have it, as a schedule may have come to 0."""


def begin(spec: Optimizer, spelling: Spelling, group: dict[str, Any]) -> None:
    """Have a group know what its rates follow, unless it does. UserWarning if that is 0."""
    numbers = _numbers(spec, spelling, group) if spec.following and FOLLOWING not in group else None
    if numbers is None:
        return
    lr, rates = numbers
    own = {name: _write(group, spelling.key_of(name), x, None) for name, x in rates.items()}
    group[FOLLOWING] = {"lr": lr} | {name: [x, x / lr if lr else None] for name, x in own.items()}
    if not lr:
        keys = " and ".join(map(spelling.key_of, rates))
        warnings.warn(
            f"{spelling.name}: lr is 0, which {keys} cannot follow, and stays as it is until it is set while lr is not "
            "0; give the largest lr of the schedule",
            stacklevel=2,
        )


def relink(spec: Optimizer, spelling: Spelling, group: dict[str, Any]) -> None:
    """Have a group that was loaded hold the very numbers that its rates were at the last look, where they are equal: a
    file keeps no identities, by which a rate that was set is told."""
    for name in spec.following:
        key, found = spelling.key_of(name), group.get(FOLLOWING)
        entry = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(entry, list | tuple) and isinstance(group[key], float) and group[key] == entry[0]:
            group[key] = entry[0]


def follow(spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> None:
    """Have the rates of a group follow, if `lr` is not what it was at the last look.

    One that somebody has set since then is used as it is, and followed from there. After a look, a rate is a number
    that nobody else has, so one that is set to the same value is told from one that was not set. A tensor is told by
    its value, and written in place. What is no number is left to those who check values. ValueError for an `lr` on a
    GPU and a rate that is a number.
    """
    numbers, before = _numbers(spec, spelling, group), group.get(FOLLOWING)
    if numbers is None or before is None:
        return
    own: Any = group.maps[-1] if hasattr(group, "maps") else group  # itself, where this is a view of it
    lr, rates = numbers
    has_moved = lr != before["lr"]
    now: dict[str, Any] = {"lr": lr}
    for name, rate in rates.items():
        key = spelling.key_of(name)
        last, ratio = before.get(name, (None, None))
        was_set = rate != last or (has_moved and group[key] is not last and not isinstance(group[key], torch.Tensor))
        if was_set:
            ratio = rate / lr if lr else None
        elif has_moved and ratio is not None:
            rate = ratio * lr
        now[name] = [_write(own, key, rate, last), ratio]
    if now != before or any(now[name][0] is not before.get(name, [None])[0] for name in rates):
        own[FOLLOWING] = now  # and not in place, as a state dict may hold it


def _write(group: Any, key: str, rate: float, last: Any) -> float:
    """Have a group hold a rate, as a number that nobody else has, or in the tensor that is there. What it holds is
    returned: the last one, if that is it."""
    if isinstance(group[key], torch.Tensor):
        if float(group[key]) != rate:
            group[key].fill_(rate)
        return float(group[key])
    if group[key] is last and rate == last:
        return last  # type: ignore[no-any-return]
    group[key] = new = rate + 0.0
    return new


def _numbers(spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> tuple[float, dict[str, float]] | None:
    """`lr`, and the rates that follow it, as numbers; None where `lr` is on a GPU, or one is no number."""
    lr, keys = group["lr"], {name: spelling.key_of(name) for name in spec.following}
    for key in keys.values():
        if _is_on_gpu(lr) and not _is_on_gpu(group[key]):
            raise ValueError(
                f"{spelling.name}: 'lr' is a tensor on a GPU, which '{key}' cannot follow on the host; make '{key}' a "
                "tensor there, too, and change both"
            )
    if _is_on_gpu(lr):
        return None
    try:
        return float(lr), {name: float(group[key]) for name, key in keys.items() if not _is_on_gpu(group[key])}
    except (TypeError, ValueError, RuntimeError):  # text, or a tensor of several elements
        return None


def _is_on_gpu(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_cuda


def check_following(group: Mapping[str, Any]) -> None:
    """ValueError for a group, as of a state dict, whose `following` is not what `begin` makes."""
    if FOLLOWING not in group:
        return
    found = group[FOLLOWING]
    rates = dict(found) if isinstance(found, Mapping) else {}
    lr = rates.pop("lr", None)
    if not _is_finite(lr) or not all(map(_is_followed, rates.values())):
        raise ValueError(
            f"'{FOLLOWING}' of a group: expected 'lr', a number, and of each rate a pair of its number and what it is "
            f"times lr, or None; not {found!r}"
        )


def _is_followed(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) == 2 and _is_finite(x[0]) and (x[1] is None or _is_finite(x[1]))


def _is_finite(x: Any) -> bool:
    """Whether it is a finite number, which torch.distributed.checkpoint may have made a tensor."""
    is_number = isinstance(x, int | float) or (isinstance(x, torch.Tensor) and x.numel() == 1)
    return is_number and math.isfinite(x)
