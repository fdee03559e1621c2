"""Settings of a Trainer's parameters by patterns over their names: `groups=` and `no_decay=`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

from optgen import by_name
from runtime.base import ArgumentError
from runtime.gluon.parameter import Parameter
from runtime.optimizer import Optimizer
from runtime.optimizer.by_name import applies, number_for
from runtime.optimizer.spec import SpecOptimizer

_MULTIPLIERS = {"lr": "lr_mult", "learning_rate": "lr_mult", "wd": "wd_mult"}


def apply(params: Sequence[Parameter], optimizer: Optimizer, rules: Any, no_decay: Any) -> None:
    """Give parameters, and the optimizer, what the rules that are for them say.

    `lr` and `wd` become the parameter's `lr_mult` and `wd_mult`, so that a schedule moves them, too. `lr_mult`,
    `wd_mult` and the spec's `per param` params are taken as they are. ArgumentError for anything else, for a pattern
    that is for no parameter, and for a rate or decay that is no multiple of the optimizer's.
    """
    named = [by_name.Named((param.name,), _shape(param, no_decay)) for param in params]
    each: list[dict[str, Any]] = [{} for _ in params]
    try:
        if no_decay is not None:
            rule = no_decay, {"wd_mult": 0.0}
            for own, several in zip(each, by_name.settings([rule], named, "no_decay"), strict=True):
                for settings in several:
                    own |= settings
        if rules is not None:
            for own, several in zip(each, by_name.settings(rules, named), strict=True):
                for settings in several:
                    own |= _as_multipliers(settings, optimizer)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"Trainer: {error}") from None
    for name in dict.fromkeys(key for own in each for key in own if key not in ("lr_mult", "wd_mult")):
        given = {param.name: own[name] for param, own in zip(params, each, strict=True) if name in own}
        _set_own(optimizer, name, given, params)
    for param, own in zip(params, each, strict=True):
        for key in ("lr_mult", "wd_mult"):
            if key in own:
                setattr(param, key, own[key])


def _shape(param: Parameter, no_decay: Any) -> tuple[int, ...]:
    """The shape, of which an axis may be 0 that is not known yet; ArgumentError for one of which nothing is known."""
    if param.shape is None and no_decay is not None:
        raise ArgumentError(f"no_decay: the shape of parameter '{param.name}' is not known yet; run the network once")
    return tuple(param.shape or ())


def _as_multipliers(settings: Mapping[str, Any], optimizer: Optimizer) -> dict[str, Any]:
    """Settings with multipliers in the place of rates and decays; TypeError for what is one for all parameters."""
    base = {"lr_mult": float(getattr(optimizer.lr_scheduler, "base_lr", optimizer.lr)), "wd_mult": optimizer.wd}
    own = (*optimizer.named_params, *optimizer.per_param_names) if isinstance(optimizer, SpecOptimizer) else ()
    found: dict[str, Any] = {}
    for name, x in settings.items():
        key = _MULTIPLIERS.get(name, name)
        if key not in (*base, *own):
            known = ", ".join((*_MULTIPLIERS, *base, *own))
            raise TypeError(
                f"groups: '{name}' of {type(optimizer).__name__} is the same for all parameters; these may differ: "
                f"{known}"
            )
        if key in own:
            found[key] = x
        elif isinstance(x, bool) or not isinstance(x, SupportsFloat):
            raise TypeError(f"groups: {name}: a number, not {x!r}")
        elif key == name:
            found[key] = float(x)
        elif base[key] or not x:
            found[key] = float(x) / base[key] if x else 0.0
        else:
            raise ValueError(f"groups: {name}={x!r} is no multiple of the optimizer's, which is 0; give that a number")
    return found


def _set_own(optimizer: Any, name: str, given: Mapping[str, Any], every: Sequence[Parameter]) -> None:
    """Have a param or flag of the spec have these values for parameters of these names, and its own for the others.

    The optimizer knows names by their ends, of which the first that fits counts: the longest are first.
    """
    names, now = sorted((param.name for param in every), key=len, reverse=True), getattr(optimizer, name)
    if name in optimizer.named_params:
        numbers = [(x, given.get(x, number_for(optimizer.spec, name, now, x))) for x in names]
        setattr(optimizer, name, tuple(numbers))
        return
    for x in given.values():
        if not isinstance(x, bool):
            raise ArgumentError(f"groups: {name}: True or False, not {x!r}")
    chosen = tuple(x for x in names if given.get(x, applies(now, x)))
    for x in names:
        if x not in chosen and x.endswith(chosen):
            raise ArgumentError(
                f"groups: '{name}' of '{x}' cannot differ from that of a parameter whose name is its end; give one of "
                "them another prefix"
            )
    setattr(optimizer, name, chosen)
