"""Groups that are made of rules over the names of parameters: `groups=` and `no_decay=` of every optimizer."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from optgen import by_name
from optgen.by_name import Named
from optgen.diagnostics import suggest
from optgen.torch import networks
from optgen.torch.spelling import OPTIONS, PYTORCH, Spelling

Group = dict[str, Any]
Entry = tuple[str, torch.Tensor] | torch.Tensor
"""A parameter, with its name or without."""
OtherNames = Mapping[torch.Tensor, Sequence[str]]
"""All names of parameters: those that are tied have several."""


def grouped(
    params: Any,
    rules: Any,
    no_decay: Any,
    spelling: Spelling,
    defaults: Mapping[str, Any],
    others: OtherNames = MappingProxyType({}),
    *,
    before_groups: bool = False,
) -> list[Group]:
    """Parameters, as an optimizer takes them, in groups with the settings of the rules that are for them.

    `rules` are pairs of a pattern and a dict, as `by_name.settings` has them, and `no_decay` is a pattern of what has a
    weight decay of 0; either may be None. Settings are keys of groups, or the spec's names of params. The own keys of a
    group that is given count before the rules, or after them with `before_groups`. Groups are in the order in which
    their first parameters come. `defaults` are the values of keys that neither sets. `others` are all names of
    parameters that are tied.

    TypeError or ValueError for rules that are none, that are for no parameter, or set what an optimizer has not.
    """
    given = [x if isinstance(x, dict) else {"params": [x]} for x in _listed(params)]
    entries = [(group, entry) for group in given for entry in _listed(networks.named(group["params"]))]
    named = [_named(entry, others) for _, entry in entries]
    each: list[Group] = [{} for _ in entries]
    if no_decay is not None:
        rule = no_decay, {_decay_key(spelling): 0.0}
        for own, several in zip(each, by_name.settings([rule], named, "no_decay"), strict=True):
            for settings in several:
                own |= settings
    if rules is not None:
        of_rules = by_name.settings(rules, named)
        for own, several, (group, _) in zip(each, of_rules, entries, strict=True):
            for settings in several:
                own |= _spelt(settings, spelling, {**defaults, **group, **own})
    found: dict[Hashable, Group] = {id(group): dict(group) for group in given if not _listed(group["params"])}
    for (group, entry), settings in zip(entries, each, strict=True):
        keys = {key: x for key, x in group.items() if key != "params"}
        own = {**keys, **settings} if before_groups else {**settings, **keys}
        key = tuple((name, _hashable(x)) for name, x in sorted(own.items()))
        found.setdefault(key, {"params": [], **own})["params"].append(entry)
    return list(found.values())


def _listed(params: Any) -> Sequence[Any]:
    """Parameters, or groups, as a list. PyTorch says what is wrong with what is none."""
    if isinstance(params, torch.Tensor) or not isinstance(params, Iterable):
        return [params]
    return list(params)


def _named(entry: Entry, others: OtherNames) -> Named:
    name, param = entry if isinstance(entry, tuple) and len(entry) == 2 else (None, entry)
    names = others.get(param, [name]) if isinstance(param, torch.Tensor) and name is not None else [name]
    return Named(tuple(x for x in names if x is not None), tuple(getattr(param, "shape", ())))


def _decay_key(spelling: Spelling) -> str:
    """The key of the weight decay; ValueError for an optimizer that has none."""
    key = _key_of("wd", spelling, spelling.params)
    if key not in spelling.params:
        raise ValueError(f"no_decay: {spelling.name} has no weight decay; leave it out")
    return key


def _spelt(settings: Mapping[str, Any], spelling: Spelling, defaults: Mapping[str, Any]) -> Group:
    """Settings by the keys of groups; TypeError for one that the optimizer has not."""
    found: Group = {}
    known = {*spelling.params, *spelling.flags, *OPTIONS}
    for name, x in settings.items():
        key = _key_of(name, spelling, known)
        if key not in known:
            raise TypeError(f"groups: {spelling.name} has no '{name}'; {suggest(name, known) or _all(known)}")
        names = spelling.params.get(key, (key,))
        if len(names) > 1 and name != key:  # one of a tuple
            own = dict(zip(names, found.get(key, defaults[key]), strict=True))
            x = tuple({**own, name: x}.values())
        found[key] = x
    return found


def _key_of(name: str, spelling: Spelling, known: Container[str]) -> str:
    """The key of a setting: itself, PyTorch's word for the spec's, or the tuple that a param of the spec is in."""
    return next((key for key in (name, PYTORCH.get(name)) if key in known), None) or spelling.key_of(name)


def _all(known: Iterable[str]) -> str:
    return f"it has {', '.join(sorted(known))}"


def _hashable(x: Any) -> Hashable:
    """What groups whose settings are equal have in common."""
    x = tuple(x) if isinstance(x, list) else x
    try:
        hash(x)
    except TypeError:  # a dict, as of storages
        return repr(x)
    return x  # type: ignore[no-any-return]
