"""What is compared with other libraries: optimizers, their arguments, and the numbers they are run on.

Read by the programs that run the other libraries, too, so it imports nothing but NumPy. All numbers are multiples of
1/1024 and fit in float16: the same in every type and on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

STEPS = 12
CHANGE = 6
"""The step, counted from 0, before which `new_rate` is set."""

SHAPES = {"fc_weight": (3, 4), "fc_bias": (3,), "bn_gamma": (2, 1, 2)}
LR_MULT: dict[int | str, float] = {"fc_weight": 0.5, "bn_gamma": 2.0}
WD_MULT: dict[int | str, float] = {"fc_weight": 1.5}


@dataclass(frozen=True)
class Case:
    """One trajectory, of all tensors of `SHAPES` or of the first `tensors`."""

    optimizer: str
    label: str
    args: dict[str, Any] = field(default_factory=dict)
    storage: str = "float32"  # "float32", "float16", or "master": float16 with multi_precision
    schedule: tuple[str, dict[str, Any]] | None = None  # class and arguments
    named: str = ""  # "names": by param_idx2name, set_lr_mult and set_wd_mult; "params": by param_dict
    new_rate: float | None = None
    sparse: bool = False  # row-sparse gradients of one matrix
    tensors: int = len(SHAPES)

    @property
    def id(self) -> str:
        return f"{self.optimizer}-{self.label}-{self.storage}"

    @property
    def dtype(self) -> str:
        return "float32" if self.storage == "float32" else "float16"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"embed_weight": (6, 3)} if self.sparse else dict(list(SHAPES.items())[: self.tensors])

    def inputs(self) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
        """The first weights, and the gradients of each step, as `dtype`. One weight is 0, and one gradient always."""
        random = np.random.RandomState(7)

        def numbers(shape: tuple[int, ...]) -> np.ndarray:
            sign = 2 * random.randint(0, 2, shape) - 1
            return (sign * random.randint(16, 257, shape) / 256 * 2.0 ** random.randint(-2, 2, shape)).astype(
                self.dtype
            )

        weights = [numbers(shape) for shape in self.shapes.values()]
        grads = [[numbers(shape) for shape in self.shapes.values()] for _ in range(STEPS)]
        weights[0].flat[0] = 0
        for step in grads:
            step[0].flat[1] = 0
        return weights, grads

    def rows(self, step: int) -> np.ndarray:
        """Which rows of a row-sparse gradient are there; in the first step, one."""
        return np.array([r for r in range(6) if (r * 5 + step * 7) % 6 < 1 + step % 4], np.int64)


# ---------------------------------------------------------------- MXNet

# Learning rates large enough that an error of a hundredth shows after twelve steps. AdaDelta has none.
COMMON: dict[str, dict[str, float]] = {
    "sgd": {"learning_rate": 0.1},
    "nag": {"learning_rate": 0.1},
    "signum": {"learning_rate": 0.05},
    "ftml": {"learning_rate": 0.1},
    "lars": {"learning_rate": 0.2, "eta": 0.5},
    "lbsgd": {"learning_rate": 0.1},
    "lamb": {"learning_rate": 0.1},
    "dcasgd": {"learning_rate": 0.1},
    "sgld": {"learning_rate": 0.1},
    "adam": {"learning_rate": 0.1},
    "adagrad": {"learning_rate": 0.2},
    "rmsprop": {"learning_rate": 0.1},
    "adadelta": {},
    "ftrl": {"learning_rate": 0.3},
    "adamax": {"learning_rate": 0.1},
    "nadam": {"learning_rate": 0.1},
    "groupadagrad": {"learning_rate": 0.2},
}
"""Arguments of all cases but the one of defaults."""

OWN: dict[str, dict[str, dict[str, Any]]] = {
    "sgd": {"momentum": {"momentum": 0.9}},
    "nag": {"momentum": {"momentum": 0.9}},
    "signum": {"momentum": {"momentum": 0.5, "wd_lh": 0.2}, "sign": {"momentum": 0.0}},
    "ftml": {"betas": {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}},
    "lars": {
        "momentum": {"momentum": 0.9, "eta": 0.1, "eps": 0.05},
        "uncorrected": {"momentum": 0.9, "momentum_correction": False},
    },
    "lbsgd": {
        "momentum": {"momentum": 0.9, "batch_scale": 2, "num_epochs": 3},
        "linear": {"batch_scale": 3, "warmup_epochs": 2, "updates_per_epoch": 4},
        "power2": {"batch_scale": 3, "warmup_epochs": 2, "updates_per_epoch": 4, "warmup_strategy": "power2"},
        "sqrt": {"batch_scale": 2, "warmup_epochs": 3, "updates_per_epoch": 4, "warmup_strategy": "sqrt"},
        "lars": {"batch_scale": 2, "warmup_strategy": "lars", "momentum": 0.5},
        "begin": {"batch_scale": 4, "begin_epoch": 2, "updates_per_epoch": 3},
    },
    "lamb": {
        "betas": {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01},
        "lower": {"lower_bound": 2.5},
        "upper": {"upper_bound": 0.5},
        "uncorrected": {"bias_correction": False},
    },
    "dcasgd": {"lamda": {"lamda": 0.5}},
    "sgld": {},
    "adam": {"betas": {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}},
    "adagrad": {"eps": {"eps": 0.1}},
    "rmsprop": {
        "gamma1": {"gamma1": 0.7, "epsilon": 0.01},
        "centered": {"centered": True},
        "gamma2": {"centered": True, "gamma1": 0.8, "gamma2": 0.6, "epsilon": 0.01},
        "clip_weights": {"clip_weights": 0.6},
    },
    "adadelta": {"rho": {"rho": 0.7, "epsilon": 0.01}},
    "ftrl": {"lamda1": {"lamda1": 0.2, "beta": 0.5}},
    "adamax": {"betas": {"beta1": 0.8, "beta2": 0.9}},
    "nadam": {"betas": {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, "schedule_decay": 0.2}},
    "groupadagrad": {"eps": {"eps": 0.1}},
}
"""Their own arguments, each at another value than its default; but DCASGD with momentum raises an error in MXNet."""

SCHEDULES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("FactorScheduler", {"step": 3, "factor": 0.5, "stop_factor_lr": 0.02, "base_lr": 0.1}),
    ("MultiFactorScheduler", {"step": [5, 9], "factor": 0.3, "base_lr": 0.1}),
    ("PolyScheduler", {"max_update": 13, "pwr": 2, "base_lr": 0.1, "final_lr": 0.01, "warmup_steps": 5}),
    ("CosineScheduler", {"max_update": 16, "base_lr": 0.1, "warmup_steps": 6, "warmup_begin_lr": 0.02}),
    ("CosineScheduler", {"max_update": 14, "final_lr": 0.03, "base_lr": 0.1}),
    ("FactorScheduler", {"step": 4, "factor": 0.5, "base_lr": 0.1, "warmup_steps": 7, "warmup_begin_lr": 0.05,
                         "warmup_mode": "constant"}),
)  # fmt: skip

FLOAT32_STATES = ("adagrad", "adadelta", "rmsprop", "ftrl", "groupadagrad")
"""They refuse float16 weights without multi_precision."""

ONE_TENSOR = {
    "nadam": "one product of momenta serves all parameters",
    "lbsgd": "the rate of the first of several parameters is that of the step before",
    "groupadagrad": "takes matrices only",
}

SPARSE: dict[str, dict[str, dict[str, Any]]] = {
    "sgd": {
        "lazy": {"wd": 0.05},
        "standard": {"wd": 0.05, "lazy_update": False},
        "lazy-momentum": {"momentum": 0.9, "wd": 0.05, "clip_gradient": 0.25},
        "standard-momentum": {"momentum": 0.9, "wd": 0.05, "lazy_update": False},
    },
    "adam": {"lazy": {"wd": 0.05, "clip_gradient": 0.25}, "standard": {"wd": 0.05, "lazy_update": False}},
    "adagrad": {"lazy": {"rescale_grad": 0.5, "clip_gradient": 0.25}},
    "ftrl": {"lazy": {"rescale_grad": 0.5, "wd": 0.05}},
    "groupadagrad": {"lazy": {"rescale_grad": 0.5, "clip_gradient": 0.25}},
    "lars": {"standard": {"momentum": 0.9, "wd": 0.05, "lazy_update": False}},  # never lazy here: norms join the rows
    "lbsgd": {"lazy": {"momentum": 0.9, "wd": 0.05}},
    "nag": {"standard": {"momentum": 0.9, "wd": 0.05}},
    "rmsprop": {"standard": {"wd": 0.05}},
}
"""Arguments to run with row-sparse gradients."""


def mxnet_cases() -> Iterator[Case]:
    """Cases of MXNet 1.9.1."""
    schedules = itertools.cycle(SCHEDULES)
    for name in COMMON:
        dense, sparse = _mxnet_cases(name, next(schedules))
        yield from _stored(dense)
        yield from sparse
    yield from _stored([Case("test", "defaults"), Case("test", "rescaled", {"rescale_grad": 0.5})])


def _stored(cases: Iterable[Case]) -> Iterator[Case]:
    for case in cases:
        yield case
        yield replace(case, storage="master")
        if case.optimizer not in FLOAT32_STATES:
            yield replace(case, storage="float16")


def _mxnet_cases(name: str, schedule: tuple[str, dict[str, Any]]) -> tuple[list[Case], list[Case]]:
    common = COMMON[name]
    decay = {"wd": 0.05} if name != "groupadagrad" else {}  # which refuses it
    new_rate = 0.4 * common["learning_rate"] if common else None

    def case(label: str, args: dict[str, Any], **settings: Any) -> Case:
        return Case(name, label, {**common, **args}, tensors=1 if name in ONE_TENSOR else len(SHAPES), **settings)

    dense = [
        replace(case("defaults", {}), args={}),
        case("named", {**decay, "rescale_grad": 0.5, "clip_gradient": 0.25}, named="names"),
        case("scheduled", {**decay, "begin_num_update": 2}, schedule=schedule),
    ]
    if name != "adamax":  # clipped to 0, its step is 0/0
        # MXNet's LARS knows no names from param_dict.
        named = "params" if name != "lars" else ""
        dense.append(case("clip0", {**decay, "clip_gradient": 0.0}, named=named, new_rate=new_rate))
    for label, args in OWN[name].items():
        dense.append(case(label, {**decay, "rescale_grad": 0.5, **args}, new_rate=new_rate))
    return dense, [case(f"sparse-{label}", args, sparse=True) for label, args in SPARSE.get(name, {}).items()]


# ---------------------------------------------------------------- PyTorch


@dataclass(frozen=True)
class TorchCase(Case):
    """A case that `torch.optim` computes, too, under other names."""

    peer: str = ""
    peer_args: dict[str, Any] = field(default_factory=dict)


def torch_cases() -> Iterator[TorchCase]:
    """Cases of torch.optim, where its equations are ours, or differ only in where an epsilon below rounding is added.

    Left out, as other equations: momentum with dampening or a changing rate (in SGD the rate is inside our velocity,
    outside theirs), Nesterov's with weight decay (ours pulls at the new weight), weight decay in Adagrad and Adadelta
    (ours is not part of the gradient), a larger epsilon, Adagrad's lr_decay. Adafactor factors other matrices of
    tensors of more than two dimensions.
    """
    betas = {"beta1": 0.8, "beta2": 0.95}, {"betas": (0.8, 0.95)}
    decay = {"wd": 0.05}, {"weight_decay": 0.05}

    def case(
        optimizer: str, peer: str, label: str, *args: tuple[dict[str, Any], dict[str, Any]], **settings: Any
    ) -> TorchCase:
        ours, theirs = ({k: v for side in sides for k, v in side.items()} for sides in zip(*args, strict=True))
        ours, theirs = {"learning_rate": 0.1, **ours}, {"lr": 0.1, **theirs}
        return TorchCase(optimizer, label, ours, peer=peer, peer_args=theirs, **settings)

    epsilon = {"epsilon": 1e-12}, {"eps": 1e-12}
    momentum = {"momentum": 0.9}
    yield case("sgd", "SGD", "plain", decay, new_rate=0.03)
    yield case("sgd", "SGD", "momentum", decay, (momentum, momentum))
    yield case("nag", "SGD", "momentum", (momentum, {**momentum, "nesterov": True}))
    amsgrad = {"amsgrad": True}
    decoupled = {"decoupled_weight_decay": True}
    yield case("adam", "Adam", "decay", epsilon, decay, new_rate=0.03)
    yield case("adam", "Adam", "betas", betas)
    yield case("adam", "Adam", "amsgrad", betas, (amsgrad, amsgrad))
    yield case("adam", "SparseAdam", "sparse-lazy", betas, sparse=True)
    yield case("adamw", "AdamW", "decay", ({"epsilon": 1e-8}, {}), decay, betas, new_rate=0.03)
    yield case("radam", "RAdam", "decay", decay)
    yield case("radam", "RAdam", "decoupled", decay, betas, (decoupled, decoupled))
    yield case("nadam", "NAdam", "decay", decay)
    yield case("nadam", "NAdam", "betas", betas, ({"schedule_decay": 0.2}, {"momentum_decay": 0.2}), new_rate=0.03)
    yield case("adamax", "Adamax", "decay", decay, new_rate=0.03)
    yield case("adamax", "Adamax", "betas", betas)
    yield case("adagrad", "Adagrad", "plain", ({"eps": 1e-12}, {}), new_rate=0.03)
    yield case("adadelta", "Adadelta", "plain", ({"rho": 0.8, "epsilon": 1e-3}, {"rho": 0.8, "eps": 1e-3, "lr": 1.0}))
    yield case("rmsprop", "RMSprop", "decay", epsilon, decay, ({"rho": 0.7}, {"alpha": 0.7}), new_rate=0.03)
    centered = {"centered": True, "momentum": 0.6}
    yield case("rmsprop", "RMSprop", "centered", epsilon, ({}, {"alpha": 0.9}), (centered, centered))
    yield case("rprop", "Rprop", "plain", ({}, {}))
    yield case(
        "rprop",
        "Rprop",
        "steps",
        (
            {"eta_minus": 0.3, "eta_plus": 1.5, "step_min": 0.08, "step_max": 0.2},
            {"etas": (0.3, 1.5), "step_sizes": (0.08, 0.2)},
        ),
    )
    power = {"lambd": 0.5, "alpha": 0.6}
    yield case("asgd", "ASGD", "power", decay, (power, power))
    yield case("adafactor", "Adafactor", "plain", ({}, {}), tensors=2)
    yield case(
        "adafactor",
        "Adafactor",
        "decay",
        decay,
        (
            {"eps2": 0.5, "clip_threshold": 1.1, "beta2_decay": -0.5},
            {"eps": (None, 0.5), "d": 1.1, "beta2_decay": -0.5},
        ),
        tensors=2,
    )
