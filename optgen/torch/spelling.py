"""How a user knows what belongs to a spec: its arguments as keys of parameter groups, as PyTorch spells them where it
has a word; and parameters in errors, by their names, or by group, place and shape."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from optgen import arguments
from optgen.execute.steps.step import SEED_LIMIT
from optgen.model import Flag, FlagValue, Optimizer, Param

# ---------------------------------------------------------------- arguments

ARGUMENTS: Mapping[str, tuple[Any, str]] = {
    "storage": (None, "how elementwise states are kept, all of them or by name, as `optgen.load` has it"),
    "master": (False, "keep a float32 weight beside each parameter of 16 bits"),
    "weights": (None, "how weights of 16 bits without a master are rounded, as `optgen.load` has it"),
    "seed": (0, "of draws and of random rounding"),
    "capturable": (False, "on a GPU: a captured CUDA graph of a step is a step whenever it is replayed"),
    "clip_norm": (None, "limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before"),
    "fused": (None, "have a GradScaler leave to the step to unscale gradients, and to skip itself"),
    "in_backward": (False, "update each parameter within `backward`, when its gradient is complete, and free that"),
    "accumulate": (1, "how many calls of `step` make an update, of the sum of their gradients"),
    "skip_nonfinite": (False, "leave out steps with a gradient that is infinite or NaN, which `skipped` counts"),
    "donate_grads": (False, "on a CPU: let a step use the memory of gradients, after which `p.grad` is None"),
    "states": (None, "'cpu': parameters on a GPU have their states in the memory of the host, and are updated there"),
    "groups": (None, "settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`"),
    "no_decay": (None, "a pattern of parameters without weight decay; '1d': those of at most one dimension"),
}
"""The arguments of every optimizer, beside those of its spec: their defaults, and what they are."""
MATMUL = "how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'"
WORKERS = "the process group of the workers that average their weights; None: all processes"
STORAGE_OPTIONS = ("storage", "master", "weights", "states")
"""The keys of a group that say how its states and weights are kept."""
OPTIONS = ("maximize", *STORAGE_OPTIONS, "capturable", "fused", "matmul")
"""Keys of parameter groups beside those of the spec; all groups have all but the last one."""
OF_ALL_GROUPS = ("seed", "clip_norm", "in_backward", "accumulate", "skip_nonfinite", "donate_grads")
"""Arguments that stand in no group: they are the optimizer's."""
RESERVED = ("params", "param_names", *OPTIONS, "differentiable", "following", *OF_ALL_GROUPS, "groups", "no_decay")
"""Arguments and keys that every optimizer has; no param or flag of a spec can be spelt so."""
SCHEDULED = ("initial_lr", "max_lr", "min_lr", "swa_lr", "last_lr", "base_momentum", "max_momentum")
"""Keys that PyTorch's schedulers write into groups; a param of a spec would be overwritten."""
PYTORCH = {"wd": "weight_decay", "epsilon": "eps"}
"""The names that PyTorch has for params of other names."""
TUPLES = {
    "betas": ("beta1", "beta2", "beta3", "beta4"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
    "ns_coefficients": ("a", "b", "c"),
}
"""The keys that hold several params, as PyTorch has them."""

GroupKeys = Mapping[str, tuple[str, ...]]
"""The params that each key of a group holds: a number if it is one, a tuple if there are several."""


@dataclass(frozen=True)
class Spelling:
    """The arguments of a spec as keys of a group: `params` says which params a key holds, `flags` are the same in
    both. `defaults` are the values of all keys, in the order of the signature. `unset` is what None means, of flags
    that PyTorch lets be None. Errors call the spec `name`."""

    params: GroupKeys
    flags: tuple[str, ...]
    defaults: Mapping[str, Any]
    name: str
    unset: Mapping[str, FlagValue] = field(default_factory=dict)

    def flags_of(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """The flags that a group sets."""
        return {name: self.unset.get(name) if group[name] is None else group[name] for name in self.flags}

    def read(self, group: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, FlagValue]]:
        """The params and flags that a group sets, by the spec's names; tensors of one element are read.

        TypeError or ValueError naming a key that has as many values as it should not.
        """
        values: dict[str, Any] = {}
        for key, names in self.params.items():
            given = group[key]
            if len(names) == 1:
                values[names[0]] = _number(key, given)
                continue
            try:
                each = list(given)
            except TypeError:
                raise TypeError(f"{key}: expected {len(names)} numbers, not {given!r}") from None
            if len(each) != len(names):
                raise ValueError(f"{key}: expected {len(names)} numbers ({', '.join(names)}), not {len(each)}")
            values |= {name: _number(key, x) for name, x in zip(names, each, strict=True)}
        return values, self.flags_of(group)

    def key_of(self, name: str) -> str:
        """The key that holds a param."""
        return next((key for key, names in self.params.items() if name in names), name)

    def refuse_options(self, group: Mapping[str, Any]) -> None:
        """TypeError for a key of a group that is an argument of the whole optimizer, and would do nothing."""
        for key in OF_ALL_GROUPS:
            if key in group:
                raise TypeError(f"{self.name}: '{key}' is of the whole optimizer; no group has it")

    def refuse_names(self, group: Mapping[str, Any]) -> None:
        """TypeError for a key of a group that is a param's name where its key is another, and would do nothing."""
        for name in group:
            key = self.key_of(name)
            if key != name and name not in self.flags:
                raise TypeError(f"{self.name}: a group has no '{name}'; it is '{key}' here")

    def check(self, spec: Optimizer, param: Param, x: Any) -> float | None:
        """The checked value of a param; TypeError or ValueError in the words of its key."""
        try:
            value = arguments.check(spec, param, x)
            arguments.check_read(spec, param, value)
        except (TypeError, ValueError):
            with self.spelt(spec):
                raise
        return value

    @contextmanager
    def spelt(self, spec: Optimizer) -> Iterator[None]:
        """Have TypeErrors and ValueErrors about a spec say names as a caller knows them: 'beta1' is betas[0]."""
        try:
            yield
        except (TypeError, ValueError) as error:
            message = self._respelt(str(error).replace(spec.name, self.name, 1))
            if message == str(error):
                raise
            raise type(error)(message) from error

    def _respelt(self, message: str) -> str:
        for key, names in self.params.items():
            for k, name in enumerate(names):
                if (key,) != names:
                    message = message.replace(f"'{name}'", f"'{key}'" if len(names) == 1 else f"'{key}[{k}]'")
        return message


def _number(key: str, x: Any) -> Any:
    """The number that a tensor of one element holds; anything else is returned as it is."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.numel() != 1:
        raise ValueError(f"{key}: expected a number or a tensor of one element, not one of shape {tuple(x.shape)}")
    return x.item()


def of_spec(spec: Optimizer) -> Spelling:
    """The spelling of a spec: lr first, then the params and flags in the file's order, then the reserved params."""
    read = spec.reads
    params = {p.name: p for p in spec.params if not p.given}
    for name, param in spec.all_params.items():
        if name not in params and not param.given and (name == "lr" or name in read):
            params[name] = param
    params = {"lr": params.pop("lr"), **params}
    flags = {f.name: f for f in spec.flags if f.condition is None}
    keys = _keys(list(params), {*params, *flags})
    defaults: dict[str, Any] = {}
    for key, names in keys.items():
        values = tuple(params[name].default for name in names)
        defaults[key] = values if len(names) > 1 else values[0]
    defaults |= {name: flag.default for name, flag in flags.items()}
    for name in defaults:
        if name in RESERVED and name != "maximize":
            raise ValueError(f"{spec.name}: '{name}' is an argument of every PyTorch optimizer; choose another name")
        if name in SCHEDULED:
            raise ValueError(f"{spec.name}: PyTorch's schedulers write '{name}' into groups; choose another name")
    return Spelling(keys, tuple(flags), defaults, spec.name)


def _keys(names: list[str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """The key of each param, in order; params of one tuple stand where the first of them does."""
    keys: dict[str, tuple[str, ...]] = {}
    betas = tuple(name for name in TUPLES["betas"] if name in names)
    for name in names:
        if len(betas) > 1 and name in betas and "betas" not in taken:
            keys["betas"] = betas
        else:
            key = PYTORCH.get(name, name)
            keys[name if key in taken else key] = (name,)
    return keys


def of_torch(spec: Optimizer, name: str, defaults: Mapping[str, Any]) -> Spelling:
    """The spelling of a spec of one of PyTorch's optimizers, of this name, whose groups have these defaults."""
    params = spec.all_params
    keys: dict[str, tuple[str, ...]] = {key: (key,) for key in defaults if key in params}
    for key, names in TUPLES.items():
        if key in defaults and key not in params:
            keys[key] = tuple(name for name in names if name in params)
    flags = {f.name: f.default for f in spec.flags if f.condition is None and f.name in defaults}
    unset = {key: x for key, x in flags.items() if x is not None and defaults[key] is None}
    return Spelling(keys, tuple(flags), dict(defaults), name, unset)


def checked(spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> arguments.Arguments:
    """The arguments that a group sets; TypeError or ValueError in the words of its keys."""
    values, flags = spelling.read(group)
    given = {name: x for name, x in values.items() if x != spec.all_params[name].default}
    with spelling.spelt(spec):
        found = arguments.resolve(spec, {**given, **flags})
        for name in found.each:
            raise TypeError(f"{spec.name}: '{name}' must be a number; parameters with another one are another group")
        return found


def arguments_of(spec: Optimizer, matmul: str) -> Mapping[str, tuple[Any, str]]:
    """The arguments of an optimizer beside those of its spec; of one with products of matrices, how they are computed
    by default, and of one with means over workers, which these are."""
    products = {"matmul": (matmul, MATMUL)} if spec.has_products else {}
    return {**ARGUMENTS, **products, **({"workers": (None, WORKERS)} if spec.has_workers else {})}


def checked_seed(seed: Any) -> int:
    """A seed as an int; ValueError if it is no whole number from 0 to 2^64 - 1."""
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:  # a float, text, None, NumPy's bool
        number = -1
    if not 0 <= number < SEED_LIMIT:
        raise ValueError(f"seed: a whole number from 0 to 2^64 - 1, not {seed!r}")
    return number


def python_name(text: str) -> str:
    """A class name made of the name of a spec."""
    return re.sub(r"\W", "_", text)


def describe(item: Param | Flag) -> str:
    """What an argument is, in a line of a docstring."""
    if isinstance(item, Flag):
        return item.doc or "a flag of the spec"
    interval = f"in {item.interval}" if item.interval else ""
    return ", ".join(filter(None, (item.doc, interval))) or "a param of the spec"


# ---------------------------------------------------------------- parameters in errors

PLACE = re.compile(r"\b(params|grads|state\['?[\w.]+'?\])\[(\d+)\](\.grad|\.values|\.indices)?")
"""What errors of a bound step call a tensor, by its number among those that are bound."""
KINDS = (TypeError, ValueError, ArithmeticError)
"""The errors of a bound step that name a tensor."""

TWICE = re.compile(r"(, of shape \([^)]*\))\1")
"""What a parameter without a name, and an error that tells its shape, say both."""


@contextmanager
def naming(params: Sequence[torch.Tensor], describe: Callable[[torch.Tensor], str]) -> Iterator[None]:
    """Have errors about the tensors of bound parameters say which parameters they are of."""
    try:
        yield
    except KINDS as error:
        message = PLACE.sub(lambda found: _words(found, params, describe), str(error))
        message = TWICE.sub(r"\1", message)
        if message == str(error):
            raise
        raise kind_of(error)(message) from error


def kind_of(error: Exception) -> type[Exception]:
    """Which of the errors that a step may raise this one is."""
    return next((kind for kind in KINDS if isinstance(error, kind)), RuntimeError)


def _words(found: re.Match[str], params: Sequence[torch.Tensor], describe: Callable[[torch.Tensor], str]) -> str:
    what, number, part = found.groups()
    if int(number) >= len(params):
        return found[0]
    param = describe(params[int(number)])
    if what == "params" and not part:
        return param
    return f"the gradient of {param}" if what in ("params", "grads") else f"{what} of {param}"


def describe_param(groups: Sequence[dict[str, object]], param: torch.Tensor) -> str:
    """A parameter of groups as errors call it."""
    for k, group in enumerate(groups):
        params, names = group["params"], group.get("param_names")
        assert isinstance(params, list)
        for i, p in enumerate(params):
            if p is param:
                if isinstance(names, list):
                    return f"parameter '{names[i]}'"
                return f"parameter {i} of group {k}, of shape {tuple(p.shape)}"
    return f"a parameter of shape {tuple(param.shape)}"
