"""What MXNet's optimizers do beyond their equations: overrides of attributes of `SpecOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALIASES: Mapping[str, str] = {"ccSGD": "SGD"}
"""Further names of classes."""

CLASSES: Mapping[str, Mapping[str, Any]] = {
    "AdaGrad": {"lazy_default": True},
    "Adam": {"lazy_default": True, "follows": {"lazy_update": "epsilon"}, "sets_base_lr": "always"},
    "Adamax": {"sets_base_lr": "always"},
    "Ftrl": {"lazy_default": True, "sets_base_lr": "never"},
    "GroupAdaGrad": {"lazy_default": True},
    "LAMB": {"sets_base_lr": "always"},
    "LARS": {
        "lazy_default": True,
        "follows": {"lazy_update": "momentum"},
        "master_last": True,
        "decayed": ("_weight",),
        "per_param_defaults": {"skip": ("gamma", "beta", "bias")},
    },
    "LBSGD": {
        "lazy_default": True,
        "follows": {"multi_precision": "momentum"},
        "master_last": True,
        "counts_first": False,
    },
    "NAG": {"master_last": True},
    "Nadam": {"sets_base_lr": "always"},
    "RMSProp": {"sets_base_lr": "always"},
    "SGD": {"lazy_default": True, "follows": {"lazy_update": "momentum"}, "master_last": True},
    "Signum": {"sets_base_lr": "always"},
}
"""By class name; the attributes say what each means."""
