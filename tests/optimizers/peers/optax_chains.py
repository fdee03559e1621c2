"""Chains and wrappers of optax 0.2.8, and the specs with transforms that compute the same.

Read by the program that runs optax, too, so it imports nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.optimizers.peers.calls import SHAPES, Call

LR = {"learning_rate": 0.1}
NAMES = {"MultiSteps": "multi_steps"}
BEFORE: dict[str, tuple[dict[str, Any], ...]] = {
    "clip": ({"max_delta": 0.5},),
    "clip_by_global_norm": ({"max_norm": 1.0}, {"max_norm": 100.0}),
    "clip_by_block_rms": ({"threshold": 0.5},),
    "adaptive_grad_clip": ({"clipping": 0.1}, {"clipping": 0.9, "eps": 2.0}),
    "zero_nans": ({},),
    "ema": ({"decay": 0.9}, {"decay": 0.5, "debias": False}),
    "trace": ({"decay": 0.9}, {"decay": 0.5, "nesterov": True}),
    "normalize": ({},),
    "normalize_by_update_norm": ({}, {"scale_factor": 2.0, "eps": 0.1}),
    "add_decayed_weights": ({"weight_decay": 0.1},),
    "centralize": ({},),
}
"""First in a chain: what changes gradients."""
BEHIND: dict[str, tuple[dict[str, Any], ...]] = {
    "apply_every": ({"k": 3},),
    "keep_params_nonnegative": ({},),
    "scale_by_param_block_norm": ({}, {"min_scale": 2.0}),
    "scale_by_param_block_rms": ({"min_scale": 0.1},),
    "reduce_on_plateau": (
        {"patience": 2, "factor": 0.5, "rtol": 0.3},
        {"patience": 1, "cooldown": 2, "atol": 0.5},
        {"patience": 1, "accumulation_size": 2, "factor": 0.3, "atol": 1.0, "min_scale": 0.2},
    ),
}
"""Last in a chain: what changes steps."""
AROUND: dict[str, tuple[dict[str, Any], ...]] = {
    "MultiSteps": ({"every_k_schedule": 3}, {"every_k_schedule": 2, "use_grad_mean": False}),
    "mechanize": ({"s_init": 1e-2}, {"num_betas": 3, "weight_decay": 0.5, "eps": 1e-3}),
    "schedule_free": ({"b1": 0.9}, {"b1": 0.7, "weight_lr_power": 1.0}),
    "lookahead": ({"sync_period": 3, "slow_step_size": 0.5},),
}
"""What takes an optimizer."""
OURS = {"sync_period": "k", "slow_step_size": "alpha", "b1": "momentum"}
"""Names of arguments of transforms that are not optax's alone."""
BASES: tuple[tuple[str, dict[str, Any]], ...] = (("adam", {}), ("sgd", {"momentum": 0.9}), ("adamw", {"b1": 0.5}))


def _spec(base: str, name: str, arguments: Mapping[str, Any]) -> str:
    own = name in ("centralize", "schedule_free", "lookahead")
    given = {OURS.get(key, key) if own else key: x for key, x in arguments.items()}
    text = ", ".join(f"{key} = {str(x).lower()}" for key, x in given.items())
    return f"optax/{base} with {'' if own else 'optax/'}{NAMES.get(name, name)}({text})"


def optax_chains() -> Iterator[Call]:
    for place, transforms in (("before", BEFORE), ("behind", BEHIND), ("around", AROUND)):
        for name, each in transforms.items():
            for arguments in each:
                for base, others in BASES:
                    spec, given = _spec(base, name, arguments), ("value",) if name == "reduce_on_plateau" else ()
                    yield Call(base, {**LR, **others}, spec, {}, given, SHAPES, (place, name, arguments))
    for arguments in ({}, {"min_norm": 2.0}, {"trust_coefficient": 0.1, "eps": 0.1}):
        spec = _spec("adam", "scale_by_trust_ratio", arguments)
        yield Call("scale_by_adam", LR, spec, {}, (), SHAPES, ("behind", "scale_by_trust_ratio", arguments))
    noise = {"eta": 0.0, "gamma": 0.5, "key": 0}
    spec = _spec("sgd", "add_noise", {"eta": 0.0, "gamma": 0.5})
    yield Call("sgd", LR, spec, {}, (), SHAPES, ("before", "add_noise", noise))
