"""The families of the gallery: what specs that come with optgen have in common, in the words of their papers."""

from __future__ import annotations

import functools
from collections.abc import Mapping

GENERAL: Mapping[str, tuple[str, str]] = {
    "adam": (
        "Adam and what came of it",
        "acprop adabelief adabound adadelta adagrad adai adam adam_atan2 adam_hd adamax adamc adamod adamp adamw adan "
        "adapnm adashift ademamix adopt cautious_adamw diffgrad fadam ftml ftrl grams groupadagrad kate laprop mars "
        "nadam nadamw optimistic_adam padam qhadam radam rmsprop simplified_ademamix smorms3 spam stableadamw "
        "stablespam yogi",
    ),
    "memory": ("less memory", "adafactor adalomo adammini came sinkgd sm3"),
    "momentum": (
        "SGD and momentum",
        "accsgd adagrad_norm aggmo asgd dcasgd gravity lbsgd madgrad nag nsgd optimistic_sgd pid pnm qhm sgd sgd_hd "
        "sgdp sgdw swats test",
    ),
    "layers": ("norms of layers", "amos fromage lamb lans larc lars novograd"),
    "no-rate": (
        "no learning rate to tune",
        "cocob dadaptadam dadaptlion dadaptsgd dog dowg ldog prodigy yellowfin",
    ),
    "no-schedule": ("no schedule", "schedulefree_adamw schedulefree_radam schedulefree_sgd"),
    "signs": (
        "signs of gradients",
        "addsign cautious_lion ef_signsgd focus lion powersign rprop signum tiger",
    ),
    "curvature": ("curvature", "adahessian apollodqn lbfgs sophia"),
    "noise": ("noise", "ivon noisysgd psgld sghmc sgld"),
    "loss": ("a rate that follows from the loss", "alig"),
    "no-gradients": ("no gradients", "mezo"),
    "games": ("games", "extra_adam extragradient"),
}
"""Families of the specs without a folder: a word for it, what it is, and its specs."""
FOLDERS: Mapping[str, str] = {
    "matrix": "products of matrices",
    "torch": "as in torch.optim",
    "optax": "as in optax",
}
"""What specs in a folder have in common."""
WITHOUT_A_RATE = (
    *GENERAL["no-rate"][1].split(),
    *("optax/cocob", "optax/dadapt_adamw", "optax/dog", "optax/dowg", "optax/prodigy"),
)
"""Specs that find the length of a step themselves; a rate, where they have one, stays at 1."""


def titles() -> Mapping[str, str]:
    """What each family is, by the word for it."""
    return {**{key: title for key, (title, _) in GENERAL.items()}, **FOLDERS}


def of(name: str) -> str:
    """The family of a spec that comes with optgen: that of its folder, or the one that names it. KeyError for none."""
    folder = name.rpartition("/")[0]
    return folder or _by_name()[name]


@functools.cache
def _by_name() -> Mapping[str, str]:
    return {name: key for key, (_, names) in GENERAL.items() for name in names.split()}
