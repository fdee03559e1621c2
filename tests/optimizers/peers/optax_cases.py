"""Calls of optax 0.2.8, and the specs and arguments that compute the same.

Read by the program that runs optax, too, so it imports nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.optimizers.peers.calls import SHAPES, Call


def call(
    name: str, spec: str = "", renamed: Mapping[str, Any] | None = None, *, given: Any = (), **arguments: Any
) -> Call:
    """`renamed`: arguments of the spec that optax does not have by that name; None for one of optax's to leave out."""
    tensors = 2 if name in ("adafactor", "sm3") else len(SHAPES)
    return Call(name, arguments, spec or f"optax/{name}", renamed or {}, tuple(given), tensors)


LR = {"learning_rate": 0.1}
ROOTS = ({"eps": 1e-3}, {"eps_root": 1e-3})
BETAS = ({"b1": 0.5}, {"b2": 0.7})
DECAY = ({"weight_decay": 0.1},)
NESTEROV = ({"nesterov": True},)
EACH: dict[str, tuple[dict[str, Any], ...]] = {
    "adam": (*BETAS, *ROOTS, *NESTEROV, {"nesterov": True, "b1": 0.5, "eps_root": 1e-3}),
    "adamw": (*BETAS, *ROOTS, *DECAY, *NESTEROV, {"nesterov": True, "eps_root": 0.1, "weight_decay": 0.2}),
    "amsgrad": (*BETAS, *ROOTS, {"bias_correction_mu": False}, {"bias_correction_nu": False}),
    "adamax": (*BETAS, {"eps": 1e-3}),
    "adamaxw": (*BETAS, {"eps": 1e-3}, *DECAY),
    "adabelief": (*BETAS, *ROOTS, *NESTEROV, {"eps": 1e-8, "eps_root": 1e-8}),
    "radam": (*BETAS, *ROOTS, *NESTEROV, {"threshold": 4.0}, {"b2": 0.9, "nesterov": True}),
    "adan": (*BETAS, *ROOTS, *DECAY, {"b3": 0.5}),
    "yogi": (*BETAS, {"eps": 1e-6}),
    "adagrad": ({"initial_accumulator_value": 0.0}, {"initial_accumulator_value": 1.0, "eps": 1e-2}),
    "adadelta": ({"rho": 0.5}, {"eps": 1e-3}, *DECAY),
    "lamb": (*BETAS, *ROOTS, *DECAY),
    "lars": (*DECAY, *NESTEROV, {"trust_coefficient": 0.1, "eps": 0.1}, {"momentum": 0.5}),
    "novograd": (*BETAS, *ROOTS, *DECAY),
    "rmsprop": (
        {"decay": 0.5},
        {"eps": 1e-3},
        {"initial_scale": 1.0},
        {"eps_in_sqrt": False, "eps": 1e-3},
        {"centered": True},
        {"centered": True, "eps_in_sqrt": False, "eps": 1e-3},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "centered": True},
        {"bias_correction": True, "initial_scale": 0.1},
    ),
    "rprop": ({"eta_minus": 0.3, "eta_plus": 1.5}, {"min_step_size": 0.08, "max_step_size": 0.2}),
    "optimistic_adam_v2": (*BETAS, *ROOTS, {"nesterov": False}, {"alpha": 0.5, "beta": 2.0}),
    "ademamix": (*BETAS, *ROOTS, *DECAY, {"b3": 0.9, "alpha": 2.0}),
    "simplified_ademamix": (*BETAS, *ROOTS, *DECAY, {"alpha": 3.0}),
    "adopt": (*BETAS, {"eps": 1e-2}, *NESTEROV, {"use_clipping": False}, {"use_clipping": False, "nesterov": True}),
    "dadapt_adamw": ({"estim_lr0": 0.01, "betas": (0.5, 0.9)}, {"estim_lr0": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    "prodigy": (
        {"estim_lr0": 0.01, "betas": (0.5, 0.9)},
        {"estim_lr0": 0.01, "beta3": 0.8, "estim_lr_coef": 2.0},
        {"estim_lr0": 0.01, "safeguard_warmup": True, "weight_decay": 0.1, "eps": 1e-2},
    ),
    "dog": (
        {"init_step": ("distance", 0.1)},
        {"init_step": ("learning_rate", 0.2), "weight_decay": 0.1},
        {"init_step": ("heuristic", 0.01), "eps": 0.1},
    ),
    "dowg": ({"init_estim_sq_dist": 0.1}, {"eps": 0.01, "weight_decay": 0.1}),
    "schedule_free_sgd": ({"warmup_steps": 4}, {"b1": 0.7, "weight_decay": 0.1}, {"weight_lr_power": 0.0}),
    "schedule_free_adamw": ({"warmup_steps": 4}, *BETAS, {"eps": 1e-3, "weight_decay": 0.1, "weight_lr_power": 1.0}),
}
"""Arguments beside the rate, of specs that have optax's names for them. Each optimizer is also called without any."""


def optax_calls() -> Iterator[Call]:
    for name, each in EACH.items():
        for arguments in ({}, *each):
            yield call(name, **LR, **arguments)
    for arguments in ({}, {"decay_rate": 0.5}, {"momentum": 0.9}, {"weight_decay_rate": 0.1}, {"eps": 1e-3}):
        yield call("adafactor", **LR, **arguments, min_dim_size_to_factor=1, renamed={"min_dim_size_to_factor": None})
    for arguments in ({"clipping_threshold": 0.5}, {"multiply_by_parameter_scale": False}, {"decay_offset": -2}):
        yield call("adafactor", **LR, **arguments, min_dim_size_to_factor=1, renamed={"min_dim_size_to_factor": None})
    no_bound = {"clipping_threshold": float("inf"), "learning_rate": 1.0}
    yield call("adafactor", renamed=no_bound, learning_rate=None, clipping_threshold=None, factored=False)
    yield from _other_names()
    yield from _with_losses()


def _other_names() -> Iterator[Call]:
    """Optimizers for which there is a spec elsewhere."""
    yield call("sgd", "torch/sgd", **LR)
    yield call("sgd", "torch/sgd", **LR, momentum=0.9)
    yield call("sgd", "torch/sgd", **LR, momentum=0.9, nesterov=True)
    yield call("sign_sgd", "signum", {"momentum": 0.0}, **LR)
    yield call("signum", "signum", {"momentum": 0.8, "beta": None}, **LR, beta=0.8)
    yield call("lion", "lion", {"weight_decay": None, "wd": 1e-3}, **LR)
    lion = {"beta1": 0.5, "beta2": 0.8, "wd": 0.2}
    yield call(
        "lion", "lion", {"b1": None, "b2": None, "weight_decay": None, **lion}, **LR, b1=0.5, b2=0.8, weight_decay=0.2
    )
    yield call("fromage", "fromage", {"min_norm": 1e-6}, **LR)
    yield call("fromage", "fromage", **LR, min_norm=2.0)
    yield call("noisy_sgd", "noisysgd", {"key": None}, **LR, eta=0.0, key=0)
    yield call("sm3", "sm3", {"momentum": 0.9, "epsilon": 1e-8}, **LR)
    yield call("sm3", "sm3", {"epsilon": 1e-8}, **LR, momentum=0.0)
    yield call("optimistic_gradient_descent", "optimistic_sgd", **LR)
    yield call("optimistic_gradient_descent", "optimistic_sgd", **LR, alpha=0.5, beta=2.0)
    first = {"learning_rate": 1.0, "alpha": 0.1}
    yield call("optimistic_adam", "optax/optimistic_adam_v2", {**first, "beta": 0.1}, **LR)
    yield call(
        "optimistic_adam", "optax/optimistic_adam_v2", {**first, "beta": 0.3, "optimism": None}, **LR, optimism=0.3
    )
    yield call("acprop", "acprop", **LR)
    roots = {"epsilon": 1e-3, "epsilon_root": 1e-2, "wd": 0.1, "beta1": 0.5, "beta2": 0.9}
    theirs = {"eps": 1e-3, "eps_root": 1e-2, "weight_decay": 0.1, "b1": 0.5, "b2": 0.9}
    yield call("acprop", "acprop", {**dict.fromkeys(theirs), **roots}, **LR, **theirs)
    yield call("cocob", "cocob", {"epsilon": 1e-8})
    scaled = {"rescale_grad": 0.5, "wd": 0.05, "epsilon": 1e-2}
    theirs = {"learning_rate": 0.5, "weight_decay": 0.1, "eps": 1e-2}
    yield call("cocob", "cocob", {**dict.fromkeys(theirs), **scaled}, **theirs, alpha=3.0)
    yield call("madgrad", "madgrad", **LR)
    theirs = {"weight_decay": 0.1, "eps": 1e-3}
    yield call(
        "madgrad", "madgrad", {**dict.fromkeys(theirs), "wd": 0.1, "epsilon": 1e-3}, **LR, **theirs, momentum=0.5
    )
    for name, spec in (("novograd", "novograd"), ("lamb", "lamb")):
        theirs = {"b1": 0.8, "b2": 0.7, "eps": 1e-3, "weight_decay": 0.1}
        ours = {"beta1": 0.8, "beta2": 0.7, "epsilon": 1e-3, "wd": 0.1}
        yield call(name, spec, {**dict.fromkeys(theirs), **ours}, **LR, **theirs)


def _with_losses() -> Iterator[Call]:
    """Optimizers that are given the loss, or an estimate of the curvature, at each step."""
    yield call("polyak_sgd", given=["value"])
    for arguments in ({"max_learning_rate": 0.1}, {"f_min": 1.0, "eps": 0.5}):
        yield call("polyak_sgd", given=["value"], **arguments)
    yield call("polyak_sgd", renamed={"learning_rate": 0.5, "scaling": None}, given=["value"], scaling=0.5, f_min=2.0)
    yield call("polyak_sgd", renamed={"variant": "sps_plus"}, given=["value"], variant="sps+", f_min=2.0)
    adapted = {"adapt_lower_bound": True, "lower_bound": -1.0}
    for name, betas in (("momo", {"beta": 0.5}), ("momo_adam", {"b1": 0.5, "b2": 0.9, "eps": 1e-3})):
        for arguments in (
            {},
            betas,
            {"weight_decay": 0.1, "lower_bound": 1.0},
            adapted,
            {**adapted, "weight_decay": 0.1},
        ):
            yield call(name, given=["value"], **LR, **arguments)
    for arguments in ({}, *BETAS, *DECAY, {"gamma": 0.5, "eps": 1e-3}, {"clip_threshold": 0.3}, {"update_interval": 3}):
        yield call("sophia", given=["h_hat"], **LR, **arguments)
    yield call(
        "sophia", renamed={"clip_threshold": float("inf")}, given=["h_hat"], **LR, clip_threshold=None, gamma=9.0
    )
