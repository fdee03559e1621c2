"""The groups of an optimizer that goes on from another one: those of the old one, with what they have that means
something there, and with what is said by names; and what is asked, or warned of, where that is not enough."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from optgen.torch.base import SpecOptimizer
from optgen.torch.following import FOLLOWING
from optgen.torch.grouping import grouped
from optgen.torch.loading import SPEC
from optgen.torch.networks import PLAIN, has_plain
from optgen.torch.spelling import ARGUMENTS, OPTIONS, SCHEDULED
from optgen.torch.torch_classes import has_rules

RULES = ("groups", "no_decay")
"""The arguments that are rules over names."""


def regrouped(old: SpecOptimizer, cls: type[SpecOptimizer], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups of a new optimizer of this class, which is made with the arguments that are `given`, but for RULES.

    What a rule says counts before the values of the old group. UserWarning if nobody says what is `plain`.
    """
    groups = [_group(old, cls, group, given) for group in old.param_groups]
    rules = {name: given.get(name) for name in RULES}
    if has_rules(rules):
        defaults = {**cls.spelling.defaults, **given}
        groups = grouped(groups, rules["groups"], rules["no_decay"], cls.spelling, defaults, before_groups=True)
    if has_plain(cls.spec) and given.get(PLAIN) is None and not any(PLAIN in group for group in groups):
        warnings.warn(
            f"convert to {cls.spec.name}: nothing says which matrices are plain, as those of embeddings and of the "
            "head are, so none is: give plain=('head.*', '*.embed.*'), patterns of names, or plain=() for none",
            stacklevel=3,
        )
    return groups


def _group(
    old: SpecOptimizer, cls: type[SpecOptimizer], group: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """A group of the new optimizer: the same parameters, and the values that mean something there.

    Keys that are of neither carry over, but for those of schedules, if there is another rate. Of `master` and
    `weights`, one that is given takes the place of the other.
    """
    of_old = {*old.defaults, *old.spelling.defaults, *OPTIONS, "params", "param_names", SPEC, FOLLOWING}
    of_old |= {*SCHEDULED} if "lr" in given else set()
    of_new = {*cls.spelling.defaults, "maximize"}
    chosen = {key for key in OPTIONS if key in group and key in ARGUMENTS and group[key] != ARGUMENTS[key][0]}
    chosen -= {"weights"} if given.get("master") else set()
    chosen -= {"master"} if given.get("weights") else set()
    if cls.spec.has_products and group.get("matmul") is not None:
        chosen.add("matmul")
    carried = {key: x for key, x in group.items() if key in of_new or key in chosen or key not in of_old}
    others = {
        key for key, names in cls.spelling.params.items() if len(names) != len(old.spelling.params.get(key, names))
    }
    names, params = group.get("param_names"), group["params"]
    named = params if names is None else list(zip(names, params, strict=True))
    return {"params": named, **{key: x for key, x in carried.items() if key not in {*given, *others}}}


# ---------------------------------------------------------------- rates


def warn_of_rates(old: SpecOptimizer, new: SpecOptimizer, given: Mapping[str, Any]) -> None:
    """Warn that `lr` goes on, where nobody gave one and it may be none for these equations: if the new class has
    another default, or further rates that begin at theirs."""
    defaults, known = new.spelling.defaults, old.spelling.defaults
    keys = [key for key in map(new.spelling.key_of, new.spec.following) if key not in {*given, *known}]
    further = [key for key in keys if any(group[key] == defaults[key] for group in new.param_groups)]
    others = {key: x for key in ("lr", "weight_decay") if key not in given and (x := _others(old, new, key))}
    if "lr" in given or not ("lr" in others or further):
        return
    others.setdefault("lr", sorted({float(group["lr"]) for group in new.param_groups}))
    words = [
        f"{key}={' and '.join(f'{y:g}' for y in x)} (default here: {defaults[key]:g})" for key, x in others.items()
    ]
    begin = "".join(f"; {key} begins as {defaults[key]:g}" for key in further)
    warnings.warn(
        f"convert to {type(new).__name__}: it goes on with {', '.join(words)} of {type(old).__name__}{begin}; "
        f"give {', '.join(f'{key}=' for key in ('lr', *further))} to say what is meant",
        stacklevel=3,
    )


def _others(old: SpecOptimizer, new: SpecOptimizer, key: str) -> list[float]:
    """The values of a key that go on from the old groups, and are not the default of the new class, which is another
    one than the old class has."""
    before, after = old.spelling.defaults.get(key), new.spelling.defaults.get(key)
    if before is None or after is None or before == after:
        return []
    there = {float(group[key]) for group in old.param_groups}
    return sorted(there.intersection(float(group[key]) for group in new.param_groups) - {float(after)})
