"""Calls of the optimizers' operators that are compared with MXNet's.

Read by the program that runs MXNet, too, so it imports nothing but NumPy. Arrays and options are drawn from binary
fractions of few digits: they are the same in every type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHAPE = (3, 2)
STEPS = 2

CHOICES: dict[str, tuple[float, ...]] = {
    "lr": (0.0625, 0.125, 0.5),
    "wd": (0.0, 0.03125, 0.25),
    "rescale_grad": (1.0, 0.5, 2.0),
    "clip_gradient": (-1.0, 0.25, 0.5),
    "clip_grad": (-1.0, 0.25, 0.5),
    "clip_weights": (-1.0, 0.5),
    "momentum": (0.0, 0.5, 0.875),
    "wd_lh": (0.0, 0.125),
    "beta1": (0.5, 0.875),
    "beta2": (0.75, 0.9375),
    "gamma1": (0.5, 0.875),
    "gamma2": (0.5, 0.875),
    "epsilon": (2.0**-20, 0.0625),
    "lamda1": (0.125, 0.5),
    "beta": (0.5, 2.0),
    "eta": (0.5, 1.0),
    "bias_correction": (True, False),
    "lower_bound": (-1.0, 2.5),
    "upper_bound": (-1.0, 0.5),
}
PLAIN = ("wd", "rescale_grad", "clip_gradient")
REQUIRED = ("lr", "eta")

SINGLE: dict[str, tuple[int, tuple[str, ...]]] = {
    "sgd_update": (0, ("lr", *PLAIN)),
    "sgd_mom_update": (1, ("lr", "momentum", *PLAIN)),
    "nag_mom_update": (1, ("lr", "momentum", *PLAIN)),
    "signsgd_update": (0, ("lr", *PLAIN)),
    "signum_update": (1, ("lr", "momentum", "wd_lh", *PLAIN)),
    "adam_update": (2, ("lr", "beta1", "beta2", "epsilon", *PLAIN)),
    "ftml_update": (3, ("lr", "beta1", "beta2", "epsilon", "wd", "rescale_grad", "clip_grad")),
    "ftrl_update": (2, ("lr", "lamda1", "beta", *PLAIN)),
    "rmsprop_update": (1, ("lr", "gamma1", "epsilon", "clip_weights", *PLAIN)),
    "rmspropalex_update": (3, ("lr", "gamma1", "gamma2", "epsilon", "clip_weights", *PLAIN)),
    "lamb_update_phase1": (2, ("beta1", "beta2", "epsilon", "bias_correction", "rescale_grad", "clip_gradient")),
    "contrib.adamw_update": (2, ("lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")),
}
"""How many states an operator has, and its options."""

MASTER = ("sgd_update", "sgd_mom_update", "nag_mom_update", "lamb_update_phase1", "contrib.adamw_update")
SEVERAL = ("sgd_update", "sgd_mom_update")
LAZY = ("sgd_update", "sgd_mom_update", "adam_update")


@dataclass(frozen=True)
class Case:
    """One call, repeated with the gradient of the next step."""

    operator: str
    number: int
    options: dict[str, Any] = field(default_factory=dict)
    states: int = 0
    dtype: str = "float32"
    master: bool = False
    count: int = 0  # how many weights are updated in one call; 0: the operator is for one
    stored: str = ""  # "w" and "s": the weight and the states are row-sparse, as the gradient; "-": it alone

    @property
    def id(self) -> str:
        kind = f"-{self.stored}" if self.stored else ""
        return f"{self.operator}-{self.number}-{self.dtype}{kind}"


def cases() -> Iterator[Case]:
    """All of them, the same at every call."""
    random = np.random.RandomState(5)

    def drawn(names: tuple[str, ...]) -> dict[str, Any]:
        return {x: random.choice(CHOICES[x]).item() for x in names if x in REQUIRED or random.rand() < 0.7}

    for operator, (states, names) in SINGLE.items():
        for number in range(5):
            dtype = "float64" if number == 4 and not operator.startswith("rms") else "float32"
            yield Case(operator, number, drawn(names), states, dtype)
        yield Case(operator, 5, drawn(names), states, "float16")
        if operator in MASTER:
            name = operator.replace("contrib.", "contrib.mp_") if "." in operator else f"mp_{operator}"
            for number in range(2):
                yield Case(name, number, drawn(names), states, "float16", master=True)
    for operator in SEVERAL:
        states, names = SINGLE[operator]
        for name, master in (("multi_", False), ("multi_mp_", True)):
            for prefix in ("", "preloaded_"):
                options = drawn(tuple(x for x in names if x not in ("lr", "wd")))
                dtype = "float16" if master else "float32"
                yield Case(prefix + name + operator, 0, options, states, dtype, master, count=3)
    for operator, names in (("adamw", ("beta1", "beta2", "epsilon")), ("lamb", ("lower_bound", "bias_correction"))):
        for name, dtype in (
            (f"contrib.multi_{operator}_update", "float32"),
            (f"contrib.multi_mp_{operator}_update", "float16"),
        ):
            yield Case(name, 0, drawn(names), 2, dtype, dtype == "float16", count=3)
    for operator in (*LAZY, "ftrl_update", "rmsprop_update", "sparse.adagrad_update"):
        states, names = SINGLE.get(operator, (1, ("lr", "epsilon", "rescale_grad", "clip_gradient")))
        for stored in ("-", "ws", "w") if "adagrad" not in operator else ("-", "ws"):
            yield Case(operator, 6, drawn(names), states, stored=stored)
            if operator in LAZY:
                yield Case(operator, 7, drawn(names) | {"lazy_update": False}, states, stored=stored)


def run(mx: Any, case: Case) -> np.ndarray:
    """All that the calls of a case changed, as one vector."""
    random = np.random.RandomState(case.number)
    function = mx.nd
    for part in case.operator.split("."):
        function = getattr(function, part)

    def array(dtype: str = case.dtype, stored: bool = False, positive: bool = False) -> Any:
        values = random.randint(8, 129, SHAPE) / 64 * (1 if positive else random.choice([-1, 1], SHAPE))
        dense = mx.nd.array(values, dtype=dtype)
        return dense.tostype("row_sparse") if stored else dense

    n, wide = max(case.count, 1), "float32" if case.master else case.dtype
    weights = [array(stored="w" in case.stored) for _ in range(n)]
    # The first state of all is a mean of squares, or can be one; those of centered RMSProp fit together.
    states = [[array(wide, "s" in case.stored, positive=True) * 2.0**-k for k in range(case.states)] for _ in range(n)]
    if "s" in case.stored:
        states = [[x.tostype("row_sparse") for x in own] for own in states]
    if case.operator.startswith("rmspropalex"):
        for n_, g, _ in states:
            g[:] = g / 16
            n_[:] = n_ + 1
    masters = [[w.astype("float32")] if case.master else [] for w in weights]
    for step in range(STEPS):
        grads = [_gradient(mx, array(), step) if case.stored else array() for _ in range(n)]
        results = _call(mx, function, case, step, weights, grads, states, masters)
    arrays = [x for group in ([results], [weights], states, masters) for own in group for x in own]
    return np.concatenate([x.asnumpy().astype(np.float64).ravel() for x in arrays])


def _gradient(mx: Any, dense: Any, step: int) -> Any:
    """Two rows of three."""
    rows = [[0, 2], [1, 2]][step]
    return mx.nd.sparse.row_sparse_array((dense.asnumpy()[rows], rows), shape=SHAPE, dtype="float32")


def _call(
    mx: Any, function: Any, case: Case, step: int, weights: list, grads: list, states: list, masters: list
) -> list:
    options, n = dict(case.options), len(weights)
    lrs, wds = [0.125 * (i + 1) for i in range(n)], [0.25 * i for i in range(n)]
    if "ftml" in case.operator or "phase1" in case.operator:
        options["t"] = step + 1
    if "phase1" in case.operator:
        options["wd"] = 0.125
        return [function(weights[0], grads[0], *states[0], *masters[0], **options)]
    if not case.count:
        if "adamw" in case.operator:
            options["rescale_grad"] = mx.nd.array([0.5])
        return [function(weights[0], grads[0], *states[0], *masters[0], out=weights[0], **options)]
    if "contrib" in case.operator:
        columns = [weights, grads, *map(list, zip(*states, strict=True)), *map(list, zip(*masters, strict=True))]
        if "adamw" in case.operator:
            return function(*columns, 0.5, lrs, wds, [1.0, 0.5, 0.25], out=weights, **options)
        return function(*columns, [step + 1] * n, lrs, wds, out=weights, **options)
    data = [x for w, g, s, m in zip(weights, grads, states, masters, strict=True) for x in (w, g, *s, *m)]
    if "preloaded" in case.operator:
        data += [mx.nd.array(lrs), mx.nd.array(wds)]
    else:
        options |= {"lrs": lrs, "wds": wds}
    return function(*data, num_weights=n, out=weights, **options)
