"""The keyword arguments of `load`: values are checked, and flags decided.

A flag may depend on a parameter, through its shape or because it is set for each one (`per param`). Flags are therefore
decided twice: those that are the same for all parameters when a rule is loaded, and all of them for each parameter.
"""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optgen.axes import Kind
from optgen.diagnostics import suggest
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Text, Unary
from optgen.ir import COMPENSATION, COMPUTE, LEAST_NORMAL, WEIGHTS
from optgen.ir.storage import STORAGES, storages_of
from optgen.model import PHASE, Flag, Flags, FlagValue, Optimizer, Param
from optgen.shapes import sizes
from optgen.truth import COMPARISONS

_PACKAGES = ("optgen", "runtime")
UNSET = math.nan
"""The value in kernels of a parameter that is none. As a bound it clips nothing, because no comparison with it
holds."""


@dataclass(frozen=True)
class Arguments:
    """Checked arguments: values by canonical name (None: unset), the flags that were set, and all flags that follow.

    `each` has the values of params that were given as lists, one for each parameter; `values` has their defaults.
    """

    values: Mapping[str, float | None]
    chosen: Mapping[str, FlagValue]
    flags: Mapping[str, FlagValue]
    each: Mapping[str, list[float | None]] = field(default_factory=dict)


def resolve(optimizer: Optimizer, given: Mapping[str, Any]) -> Arguments:
    """Check the keyword arguments of `load`. Raises TypeError for unknown names, ValueError for bad values."""
    params, flags = optimizer.all_params, {f.name: f for f in optimizer.flags if f.condition is None}
    values: dict[str, float | None] = {name: p.default for name, p in params.items()}
    chosen: dict[str, FlagValue] = {f.name: f.default for f in flags.values() if f.default is not None}
    each: dict[str, list[float | None]] = {}
    spelt: dict[str, str] = {}
    for name, x in given.items():
        if name in flags:
            chosen[name] = _flag_value(optimizer, flags[name], x)
            continue
        param = find(optimizer, name)
        if param.name in spelt:
            raise TypeError(f"{optimizer.name}: '{spelt[param.name]}' and '{name}' are one argument, given twice")
        spelt[param.name] = name
        if param.given and x is not None:
            raise TypeError(f"{optimizer.name}: '{name}' is an input, which each step is given: step({name}=...)")
        listed = _listed(x) if param.per_param else None
        if listed is not None:
            each[param.name] = [check(optimizer, param, own) for own in listed]
            continue
        values[param.name] = check(optimizer, param, x)
        check_read(optimizer, param, values[param.name])
    return Arguments(values, chosen, resolve_flags(optimizer, values, chosen), each)


def resolve_flags(
    optimizer: Optimizer,
    values: Mapping[str, float | None],
    chosen: Mapping[str, FlagValue],
    sizes: Mapping[str, int] | None = None,
    *,
    sparse: bool = False,
) -> dict[str, FlagValue]:
    """All flags: the chosen ones, and the derived ones by the parameter values. Raises ValueError if a `require` fails.

    Without the `sizes` of a parameter, the flags that depend on them are left out. `sparse`: the parameter is updated
    row by row. `chosen` may name the phase of a step, which is else the first.
    """
    flags: dict[str, FlagValue] = {}
    known: dict[str, float | None] = {**values, **(sizes or {})}

    def holds(condition: Expr, names: frozenset[str]) -> bool | None:
        return bool(_value(condition, known, flags)) if names <= {*known, *flags} else None

    for flag in optimizer.flags:
        value = chosen[flag.name] if flag.condition is None else holds(flag.condition, flag.names)
        if value is not None:
            flags[flag.name] = value
    if optimizer.reads_sparse:
        flags["sparse"] = sparse
    if optimizer.phases:
        flags[PHASE] = chosen.get(PHASE, optimizer.phases[0])
    for require in optimizer.requires:
        if holds(require.condition, require.names) is False:
            raise ValueError(f"{optimizer.name}: {require.message}")
    return flags


def per_param(optimizer: Optimizer, given: Mapping[str, Iterable[Any]] | None, n: int) -> list[dict[str, FlagValue]]:
    """The flags that are set for each of n parameters. Raises TypeError for other flags, ValueError for bad values."""
    flags = {f.name: f for f in optimizer.flags if f.per_param}
    each: list[dict[str, FlagValue]] = [{} for _ in range(n)]
    for name, values in (given or {}).items():
        if name not in flags:
            hint = suggest(name, flags) or (f"it has {', '.join(flags)}" if flags else "it has none")
            if any(f.name == name and f.condition is None for f in optimizer.flags):
                hint = f"this one is for all parameters, unless the spec has 'flag {name} per param = ...'"
            raise TypeError(f"{optimizer.name} has no flag '{name}' that is set for each parameter; {hint}")
        found = _listed(values)
        if found is None or len(found) != n:
            raise ValueError(f"{optimizer.name}: '{name}' must be a list with one value for each of {n} parameters")
        for flags_of, x in zip(each, found, strict=True):
            flags_of[name] = _flag_value(optimizer, flags[name], x)
    return each


def check_lengths(optimizer: Optimizer, each: Mapping[str, Sequence[Any]], n: int) -> Mapping[str, Sequence[Any]]:
    """Params with a value for each of n parameters; ValueError for another number of them."""
    for name, values in each.items():
        if len(values) != n:
            count = f"{len(values)} value{'' if len(values) == 1 else 's'}"
            raise ValueError(f"{optimizer.name}: '{name}' has {count} for {n} parameters")
    return each


def _listed(values: Iterable[Any]) -> list[Any] | None:
    """The values of an iterable, such as an array, as a list; None for text, a mapping, and what is not iterable."""
    try:
        return None if isinstance(values, str | bytes | Mapping) else list(values)
    except TypeError:
        return None


def check_dtype(dtype: str, master: bool, weights: str | None = None) -> None:
    """Raise ValueError for a dtype that parameters cannot have, and for one that has no master weight, or whose weights
    are not rounded so."""
    if dtype not in COMPUTE:
        raise ValueError(f"dtype must be one of {', '.join(COMPUTE)}, not {dtype!r}")
    if master and STORAGES[dtype].bits != 16:
        raise ValueError(f"master weights are for float16 and bfloat16 parameters; those of {dtype} are their own")
    if weights is None:
        return
    if weights not in WEIGHTS:
        raise ValueError(f"weights must be {' or '.join(map(repr, WEIGHTS))}, or None, not {weights!r}")
    if master:
        raise ValueError(f"weights={weights!r} with a master, which loses nothing: leave one of the two out")
    if STORAGES[dtype].bits != 16:
        raise ValueError(f"weights={weights!r} is for float16 and bfloat16 parameters; {dtype} ones are not rounded")


def check_weights(optimizer: Optimizer, weights: str | None) -> None:
    """ValueError for a spec that has the name of the state that `weights` adds."""
    names = {*(s.name for s in optimizer.states), *(i.name for i in optimizer.inputs)}
    if weights == "kahan" and COMPENSATION in names:
        raise ValueError(
            f"{optimizer.name} has a '{COMPENSATION}' of its own, and weights='kahan' keeps a state of that name; "
            "rename that of the spec"
        )


MATMULS = ("float32", "bfloat16", "deterministic")


def check_matmul(matmul: str) -> str:
    """How matrices are multiplied; ValueError for what is no such way."""
    if matmul not in MATMULS:
        raise ValueError(f"matmul must be one of {', '.join(MATMULS)}, not {matmul!r}")
    return matmul


def storages(
    optimizer: Optimizer, dtype: str, given: str | Mapping[str, str] | None, weights: str | None = None
) -> dict[str, str]:
    """The storages of elementwise states by name. `given` is one for all of them, or a mapping for some.

    Others are left out, which have the dtype of the weight, unless `weights` says how that is rounded: then they are
    float32. In 16 bits, an average of weights or of squares would stay where it is, as the weights would.

    Raises TypeError for a name that is no elementwise state, ValueError for an unknown storage.
    """
    allowed = storages_of(COMPUTE[dtype])
    states = [s.name for s in optimizer.states if s.kind is Kind.ELEM]

    def check(x: str) -> str:
        for storage in allowed:
            if storage == x:
                return storage
        hint = suggest(str(x), allowed) or f"it can be {', '.join(allowed)}"
        raise ValueError(f"{optimizer.name}: states of {dtype} parameters cannot be stored as {x!r}; {hint}")

    if isinstance(given, str):
        return dict.fromkeys(states, check(given))
    given = given or {}
    for name in given:
        if name not in states:
            hint = suggest(name, states) or (f"it has {', '.join(states)}" if states else "it has none")
            raise TypeError(f"{optimizer.name} has no elementwise state '{name}'; {hint}")
    others = dict.fromkeys(states, "float32") if weights else {}
    return others | {name: check(x) for name, x in given.items()}


def stored(optimizer: Optimizer, flags: Flags, wanted: Mapping[str, str], *, small: bool) -> dict[str, str]:
    """The storage of each elementwise state of a variant for which one is `wanted`. For `small` parameters, and for
    histories, it is float32 in place of codes in blocks."""
    found: dict[str, str] = {}
    for s in optimizer.program(flags).states:
        if s.kind is Kind.ELEM and s.name in wanted:
            storage = wanted[s.name]
            found[s.name] = "float32" if (small or s.entries) and STORAGES[storage].block else storage
    return found


def find(optimizer: Optimizer, name: str) -> Param:
    """The parameter with this name or alias; `learning_rate` is `lr`. Raises TypeError if there is none."""
    params = optimizer.all_params
    if name == "learning_rate":
        return params["lr"]
    if name in params:
        return params[name]
    for param in params.values():
        if name in param.aliases:
            return param
    for flag in optimizer.flags:
        if name == flag.name and flag.condition is not None:
            raise TypeError(f"{optimizer.name}: '{name}' follows from other arguments; set those")
        if name == flag.name:
            raise TypeError(f"{optimizer.name}: '{name}' chooses the code: give it when the rule is loaded")
    known = [n for p in params.values() for n in (p.name, *p.aliases)]
    known += ["learning_rate", *(f.name for f in optimizer.flags if f.condition is None)]
    hint = suggest(name, known)
    raise TypeError(f"{optimizer.name} has no argument '{name}'; {hint or 'it has ' + ', '.join(known)}")


def check(optimizer: Optimizer, param: Param, x: Any) -> float | None:
    """The checked value of a parameter: a number in its interval, 0 for -0, or None for one that may be unset."""
    if x is None:
        if param.optional or param.given:
            return None
        raise ValueError(f"{optimizer.name}: '{param.name}' must be a number, not None")
    try:
        if isinstance(x, str | bytes):  # float() would read it
            raise TypeError("text")
        value = float(x)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{optimizer.name}: '{param.name}' must be a number, not {x!r}") from error
    except OverflowError as error:
        raise ValueError(f"{optimizer.name}: '{param.name}' is too large for a double") from error
    if param.is_int and not value.is_integer():
        raise ValueError(f"{optimizer.name}: '{param.name}' must be a whole number, not {x!r}")
    if param.interval is not None and value not in param.interval:
        raise ValueError(f"{optimizer.name}: '{param.name}' must be in {param.interval}, not {x!r}")
    if math.isnan(value):
        raise ValueError(f"{optimizer.name}: '{param.name}' must be a number, not NaN")
    if value == 0:
        return None if param.zero_off else 0.0  # for -0, too: bounds rely on that
    return value


def check_given(optimizer: Optimizer, names: Iterable[str], given: Mapping[str, Any]) -> None:
    """TypeError naming an input of kind host that a step is not given."""
    for name in names:
        if given.get(name) is None:
            raise TypeError(f"{optimizer.name} reads '{name}', which each step is given: step({name}=...)")


def warn_of_subnormals(optimizer: Optimizer, dtype: str, values: Mapping[str, Any]) -> None:
    """Warn of hyper-parameters that are 0 where they meet elements, as no float32 of a sweep is subnormal."""
    for name, value in values.items():
        each = value if isinstance(value, list) else [value]
        for x in each:
            if isinstance(x, float) and 0 < abs(x) < LEAST_NORMAL and COMPUTE[dtype] == "f32":
                what = f"{optimizer.name}: '{name}' is {x!r}, which is 0 where it meets float32 elements"
                text = f"{what}: these have no numbers between 0 and 2^-126 = 1.18e-38"
                warnings.warn(text, stacklevel=_calls_to_user())
                break


def _calls_to_user() -> int:
    """The `stacklevel` with which a warning of the caller shows code outside of these packages."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    return level


def _flag_value(optimizer: Optimizer, flag: Flag, x: Any) -> FlagValue:
    several = bool(getattr(x, "ndim", 0))  # an array, which `in` cannot compare
    if flag.choices:
        if several or x not in flag.choices:
            one_of = ", ".join(map(repr, flag.choices))
            raise ValueError(f"{optimizer.name}: '{flag.name}' must be one of {one_of}, not {x!r}")
        return str(x)
    if several or x not in (True, False):
        each = f"; where parameters differ: bind(..., flags={{'{flag.name}': [...]}}), in PyTorch a group that sets it"
        help = each if flag.per_param else ""
        raise ValueError(f"{optimizer.name}: '{flag.name}' must be True or False, not {x!r}{help}")
    return bool(x)


def check_read(optimizer: Optimizer, param: Param, x: float | None) -> None:
    """Raise ValueError for `wd` or `clip_gradient` if no equation reads it: it would be silently ignored."""
    if param.name in ("wd", "clip_gradient") and x and param.name not in optimizer.reads:
        own = param.name == "wd" and "weight_decay" in optimizer.all_params
        hint = "it is 'weight_decay' here" if own else "leave it at its default"
        raise ValueError(f"{optimizer.name} does not use '{param.name}'; {hint}")


def number(expr: Expr, values: Mapping[str, float | None]) -> float:
    """The value of an expression of params, sizes and numbers, as a number of turns is one."""
    return float(_value(expr, values, {}))


def lengths(
    optimizer: Optimizer, flags: Flags, values: Mapping[str, float | None], shape: Sequence[int]
) -> dict[str, int]:
    """The dimensions that values of a variant have, and that follow from params and from the sizes of a parameter;
    ValueError if one is no whole number from 1 on, or for a parameter without elements from 0 on."""
    own = sizes(shape, optimizer.last_two)
    found = {}
    for dim in optimizer.dims_of(flags):
        x = number(dim.value, {**values, **own})
        least = 1 if own["size"] else 0
        if not (x.is_integer() and x >= least):
            read = ", ".join(f"{name}={values[name]:g}" for name in sorted(dim.params))
            raise ValueError(
                f"{optimizer.name}: the dimension '{dim.name}' is {x:g} for a parameter of shape {tuple(shape)}"
                f"{f' and {read}' if read else ''}, and has to be a whole number from {least} on; ceil() and "
                "max(1, ...) make it one"
            )
        found[dim.name] = int(x)
    return found


def _value(expr: Expr, values: Mapping[str, float | None], flags: Mapping[str, FlagValue]) -> Any:
    """The value of a condition over params and flags.

    What is computed from an unset parameter is None; a comparison with it is false.
    """
    match expr:
        case Number(value=x):
            return x
        case Text(value=x):
            return x
        case Name(id=name):
            return flags[name] if name in flags else values[name]
        case IsSet(name=name):
            return values[name.id] is not None
        case Unary(op="not", operand=x):
            return not _value(x, values, flags)
        case Unary(op="-", operand=x):
            inner = _value(x, values, flags)
            return None if inner is None else -inner
        case Binary(op="and", left=a, right=b):
            return _value(a, values, flags) and _value(b, values, flags)
        case Binary(op="or", left=a, right=b):
            return _value(a, values, flags) or _value(b, values, flags)
        case Binary(op=op, left=a, right=b):
            x, y = _value(a, values, flags), _value(b, values, flags)
            if x is None or y is None:
                return False if op in COMPARISONS else None
            return _OPERATIONS[op](x, y)
        case Call(function="min" | "max" as function, args=args):
            return {"min": min, "max": max}[function](_value(x, values, flags) for x in args)
        case Call(function="floor" | "ceil" as function, args=(x,)):
            return {"floor": math.floor, "ceil": math.ceil}[function](_value(x, values, flags))
    raise TypeError(f"not a condition over parameters: {expr!r}")


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **COMPARISONS,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: x / y if y else math.nan,
}
