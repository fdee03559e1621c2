"""Which optimizer a state dict is of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from optgen.spec_identity import difference, identity
from optgen.torch import codes
from optgen.torch.protocols import Owner
from optgen.torch.spelling import OPTIONS
from optgen.torch.state import MASTER, STEP

SPEC = "optgen_spec"
"""The key of a group that says which spec it is of. It is in the groups themselves, as torch.distributed.checkpoint
takes the keys of flattened state dicts from there. PyTorch's classes have none."""
ADDED = ("foreach", "maximize", "capturable", "differentiable", "fused", "decoupled_weight_decay")
"""Keys of groups that PyTorch's optimizers came to have, so that older state dicts lack them."""
VALUES = frozenset((
    "alpha", "amsgrad", "beta2_decay", "betas", "centered", "d", "dampening", "eps", "etas",
    "initial_accumulator_value", "lambd", "lr", "lr_decay", "momentum", "momentum_decay", "nesterov",
    "ns_coefficients", "ns_steps", "adjust_lr_fn", "rho", "step_sizes", "t0", "weight_decay",
))  # fmt: skip
"""The keys of groups that some optimizer of PyTorch has, but for those of ADDED."""
STATES = frozenset((
    "acc_delta", "ax", "col_var", "eta", "exp_avg", "exp_avg_sq", "exp_inf", "grad_avg", "max_exp_avg_sq",
    "momentum_buffer", "mu", "mu_product", "prev", "row_var", "square_avg", "step_size", "sum", "variance",
))  # fmt: skip
"""The states that some optimizer of PyTorch has, beside the count."""


def mark(optimizer: Owner, groups: Iterable[dict[str, Any]]) -> None:
    """Have groups, or what is pickled, say which spec they are of."""
    own = identity(optimizer.spec)
    for group in groups:
        group[SPEC] = dict(own)


def check_specs(optimizer: Owner, groups: Iterable[Mapping[str, Any]]) -> None:
    """ValueError if a group of a state dict, or of a pickle, is of another spec, of another version of it, or of one
    with other states."""
    name = type(optimizer).__name__
    for group in groups:
        try:
            saved = group.get(SPEC)
            differs = difference(optimizer.spec, saved) if optimizer.saves_identity or saved is not None else None
        except ValueError as error:
            raise ValueError(f"{name}: '{SPEC}' of a group: {error}") from None
        if differs is not None:
            raise ValueError(f"{name}: the state dict is of another optimizer: {differs}")


def check_values(optimizer: Owner, groups: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    """ValueError if one of some groups, beside those here, is of another optimizer of PyTorch: it has values of that
    which are not in the group here, where a user may have put them, or lacks what this class always had."""
    own = {*optimizer.defaults, *optimizer.spelling.defaults}
    needed = [] if optimizer.saves_identity else sorted(own.difference(ADDED, OPTIONS))
    for group, here in groups:
        others, missing = sorted(VALUES & group.keys() - own - here.keys()), [x for x in needed if x not in group]
        if others or missing:
            what = f"has {', '.join(others)}" if others else f"lacks {', '.join(missing)}"
            raise ValueError(f"{type(optimizer).__name__}: the state dict is of another optimizer: a group {what}")


def check_states(optimizer: Owner, saved: Mapping[torch.Tensor, Any]) -> None:
    """ValueError if a parameter's states are those of another optimizer: one is of PyTorch's and not of the spec, or
    some are unknown, and none are of the spec; or if one is a meta tensor. TypeError if they are no dict."""
    key_of = optimizer.state_keys.key_of
    own = [key_of(s.name) for s in optimizer.spec.states]
    known = {*own, *(given.name for given in optimizer.spec.inputs)}
    for p, values in saved.items():
        if not isinstance(values, Mapping):
            raise TypeError(f"the state of {optimizer.describe(p)}: expected a dict of its tensors, not {values!r}")
        for name, x in values.items():
            if isinstance(x, torch.Tensor) and x.is_meta and not p.is_meta:
                raise ValueError(f"state['{name}'] of {optimizer.describe(p)}: a meta tensor, which holds no numbers")
        names = map(str, values)
        found = [name for name in names if name not in (STEP, MASTER) and not name.endswith(codes.SCALE)]
        others = set(found) - known
        if others & STATES or (own and others and not set(own).intersection(found)):
            raise ValueError(
                f"{type(optimizer).__name__}: the state dict is of another optimizer: {optimizer.describe(p)} has the "
                f"states {', '.join(found)} there, and {', '.join(own) or 'none'} here"
            )
