"""Calls of optax 0.2.8, and the specs and arguments that compute the same.

Read by the program that runs optax, too, so it imports nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.optimizers.peers.calls import SHAPES, Call

FEW = {
    "sm3": ((3,), (2, 4), (2, 3, 4), (3, 2, 2, 4)),  # slices of every dimension
    "scale_by_sm3": ((3,), (2, 4), (2, 3, 4), (3, 2, 2, 4)),
    "adafactor": ((3,), (2, 4), (2, 3, 4)),  # the last two dimensions are the largest
    "muon": ((3,), (6, 4), (3, 5), (4, 4), (2, 3, 2), ()),
}
"""The shapes for optimizers that go by them."""


def call(
    name: str, spec: str = "", renamed: Mapping[str, Any] | None = None, *, given: Any = (), **arguments: Any
) -> Call:
    """`renamed`: arguments of the spec that optax does not have by that name; None for one of optax's to leave out."""
    return Call(name, arguments, spec or f"optax/{name}", renamed or {}, tuple(given), FEW.get(name, SHAPES))


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
    "nadam": (*BETAS, *ROOTS),
    "nadamw": (*BETAS, *ROOTS, *DECAY),
    "sgd": ({"momentum": 0.9}, {"momentum": 0.0}, {"momentum": 0.5, **NESTEROV[0]}, *NESTEROV),
    "sign_sgd": (),
    "signum": ({"beta": 0.5}, {"beta": 0.0}),
    "lion": (*BETAS, *DECAY, {"weight_decay": 0.0}),
    "fromage": ({"min_norm": 2.0}, {"min_norm": 0.0}),
    "sm3": ({"momentum": 0.5}, {"momentum": 0.0}),
    "optimistic_gradient_descent": ({"alpha": 0.5}, {"beta": 2.0}, {"alpha": 0.5, "beta": 0.0}),
    "optimistic_adam": (*BETAS, *ROOTS, {"nesterov": False}, {"optimism": 0.3}, {"optimism": 0.0}),
    "acprop": (*BETAS, *ROOTS, *DECAY),
    "cocob": ({"alpha": 3.0}, {"eps": 1e-2}, *DECAY),
    "madgrad": ({"momentum": 0.5}, {"momentum": 0.0}, {"eps": 1e-3}, *DECAY),
    "muon": (
        {"nesterov": False},
        {"adaptive": True},
        {"preconditioning": "spectral"},
        {"preconditioning": "aol"},
        {"preconditioning": "schatten", "ns_steps": 3},
        {"ns_coeffs": "dion"},
        {"ns_coeffs": "dion", "preconditioning": "aol", "nesterov": False},
        {"beta": 0.5, "eps": 1e-3, "adam_eps_root": 1e-3},
        {"weight_decay": 0.1, "adam_weight_decay": 0.2, "adam_learning_rate": 0.01},
        {"consistent_rms": 0.2, "adam_b1": 0.5, "adam_b2": 0.9},
    ),
    "schedule_free_sgd": ({"warmup_steps": 4}, {"b1": 0.7, "weight_decay": 0.1}, {"weight_lr_power": 0.0}),
    "schedule_free_adamw": ({"warmup_steps": 4}, *BETAS, {"eps": 1e-3, "weight_decay": 0.1, "weight_lr_power": 1.0}),
}
"""Arguments beside the rate, of specs that have optax's names for them. Each optimizer is also called without any."""


def optax_calls() -> Iterator[Call]:
    for name, each in EACH.items():
        for arguments in ({}, *each):
            yield call(name, **LR, **arguments)
    for arguments in ({}, {"decay_rate": 0.5}, {"momentum": 0.9}, {"weight_decay_rate": 0.1}, {"eps": 1e-3}):
        yield call("adafactor", **LR, **arguments, min_dim_size_to_factor=1)
    for arguments in ({"clipping_threshold": 0.5}, {"multiply_by_parameter_scale": False}, {"decay_offset": -2}):
        yield call("adafactor", **LR, **arguments, min_dim_size_to_factor=2)
    yield call("adafactor", **LR)
    yield call("adafactor", **LR, min_dim_size_to_factor=3)
    no_bound = {"clipping_threshold": float("inf"), "learning_rate": 1.0}
    yield call("adafactor", renamed=no_bound, learning_rate=None, clipping_threshold=None, factored=False)
    yield call("noisy_sgd", renamed={"key": None}, **LR, eta=0.0, key=0)
    each = ((4.0, -6.0, 2.5), (3.5, -5.0, 2.0), (2.0, -1.5, 0.5))
    last = {f"{name}{turn}": x for turn, row in enumerate(each, 3) for name, x in zip("abc", row, strict=True)}
    yield call("muon", renamed={"ns_coeffs": "dion", "ns_steps": 3, **last}, **LR, ns_coeffs=each)
    same = {"ns_coeffs": None, **dict(zip("abc", (3.0, -3.2, 1.2), strict=True))}
    yield call("muon", renamed=same, **LR, ns_coeffs=(3.0, -3.2, 1.2))
    yield from _parts()
    yield from _other_names()
    yield from _with_losses()


def _parts() -> Iterator[Call]:
    """What optax makes its optimizers of, with a rate."""
    for arguments in ({"eps_root": 1e-3}, {"initial_accumulator_value": 0.1}):
        yield call("scale_by_yogi", "optax/yogi", **LR, **arguments)
    for arguments in ({"mode": "smooth", "smooth_beta": 2.0}, {"mode": "refined"}):
        yield call("scale_by_lion", "optax/lion", {"weight_decay": 0.0}, **LR, **arguments)
    for arguments in ({"b1": 0.5, "b2": 0.9}, {"eps": 0.1}):
        yield call("scale_by_sm3", "optax/sm3", {"b1": None, "momentum": arguments.get("b1", 0.9)}, **LR, **arguments)
    yield call("scale_by_stddev", "optax/rmsprop", {"centered": True}, **LR, eps_in_sqrt=False, eps=1e-2)
    for arguments in ({}, {"reps_rel": 0.1, "eps": 1e-2}):
        renamed = {"eps": None, "epsilon": arguments.get("eps", 1e-8)}
        yield call("scale_by_distance_over_gradients", "ldog", renamed, **LR, **arguments)
    fourth = {"clip_value_fn": None, "clip_power": 0.5}
    yield call("adopt", renamed=fourth, **LR, clip_value_fn=np.sqrt)


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
