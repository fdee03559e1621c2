"""Twelve steps of every optimizer beside those of other libraries: the same arguments give the same weights.

The weights of the others are in data/, written by mxnet_make.py and torch_make.py. A weight may differ by atol + rtol
times the largest magnitude it had so far. Of weights in float16 without a master, it may further differ by as much as
MXNet differs from the same formulas in float64 (replay.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import gluon, lr_scheduler, nd, optimizer
from tests.runtime.trajectories import replay
from tests.runtime.trajectories.cases import CHANGE, LR_MULT, STEPS, WD_MULT, Case, TorchCase, mxnet_cases, torch_cases

TOLERANCES = {"float32": (2e-5, 1e-6), "master": (1.1e-3, 1e-6), "float16": (2e-3, 1e-3)}
"""Relative and absolute, by what is stored."""

Array = Any


@cache
def recorded(peer: str) -> dict[str, Array]:
    with np.load(Path(__file__).parent / "data" / f"{peer}.npz") as file:
        return dict(file)


def make(case: Case) -> Any:
    """The optimizer as a user would make it."""
    args = dict(case.args)
    names = dict(enumerate(case.shapes))
    if case.schedule:
        name, settings = case.schedule
        args["lr_scheduler"] = getattr(lr_scheduler, name)(**settings)
    if case.named == "params":
        args["param_dict"] = {
            i: gluon.Parameter(n, lr_mult=LR_MULT.get(n, 1.0), wd_mult=WD_MULT.get(n, 1.0)) for i, n in names.items()
        }
    if case.named == "names":
        args["param_idx2name"] = names
    made = optimizer.create(case.optimizer, multi_precision=case.storage == "master", **args)
    if case.named == "names":
        made.set_lr_mult(LR_MULT)
        made.set_wd_mult(WD_MULT)
    return made


def gradient(case: Case, step: int, grad: Array) -> Any:
    if not case.sparse:
        return nd.array(grad, dtype=case.dtype)
    rows = case.rows(step)
    return nd.sparse.row_sparse_array((grad[rows], rows), shape=grad.shape, dtype=case.dtype)


def trajectory(case: Case, made: Any, times: float = 1.0) -> Array:
    """The elements of all weights, one row for each step; first weights and gradients times `times`."""
    first, grads = case.inputs()
    weights = [nd.array(times * w, dtype=case.dtype) for w in first]
    update = optimizer.get_updater(made)
    path = []
    for step in range(STEPS):
        if step == CHANGE and case.new_rate is not None:
            made.set_learning_rate(case.new_rate)
        update(list(range(len(weights))), [gradient(case, step, times * g) for g in grads[step]], weights)
        path.append(np.concatenate([w.asnumpy().ravel() for w in weights]))
    return np.array(path)


def with_and_without_input(case: Case) -> tuple[Array, Array]:
    """Two trajectories of SGLD with the same noise; in the second, first weights and gradients are 0.

    Its step is linear in weight, gradient and noise, so their difference is a trajectory without noise.
    """
    paths = []
    for times in (1.0, 0.0):
        made = make(case)
        made.seed = 1
        paths.append(trajectory(case, made, times).astype(float))
    return paths[0], paths[1]


def allowed(case: Case, *paths: Array) -> Array:
    """By how much each element may differ at each step, from the sum of the magnitudes of these trajectories."""
    rtol, atol = TOLERANCES[case.storage]
    first = np.abs(np.concatenate([w.ravel() for w in case.inputs()[0]]).astype(float))
    magnitudes = np.vstack([first, sum(np.abs(path) for path in paths)])
    return atol + rtol * np.fmax.accumulate(magnitudes)[1:]


def check(ours: Array, theirs: Array, bound: Array) -> None:
    assert np.isfinite(ours).all()
    with np.errstate(invalid="ignore"):
        excess = np.nan_to_num(np.abs(ours - theirs) / bound)  # NaN: theirs is not a number, nor is the bound
    step, element = np.unravel_index(excess.argmax(), excess.shape)
    assert excess.max() <= 1, (
        f"{excess.max():.3g} times what is allowed at step {step + 1}, element {element}: "
        f"{ours[step, element]!r}, not {theirs[step, element]!r}"
    )


@pytest.mark.parametrize("case", list(torch_cases()), ids=lambda case: case.id)
def test_torch(case: TorchCase) -> None:
    theirs = recorded("torch")[case.id].astype(float)
    check(trajectory(case, make(case)), theirs, allowed(case, theirs))


@pytest.mark.filterwarnings("ignore:states of float16")
@pytest.mark.parametrize("case", list(mxnet_cases()), ids=lambda case: case.id)
def test_mxnet(case: Case) -> None:
    theirs = recorded("mxnet")[case.id].astype(float)
    if case.optimizer == "sgld":
        path, noise = with_and_without_input(case)
        ours, bound = path - noise, allowed(case, path, noise)
    else:
        ours, bound = trajectory(case, make(case)).astype(float), allowed(case, theirs)
    with np.errstate(all="ignore"):
        error = np.abs(theirs - replay.trajectory(case))
    if case.storage == "float16":  # MXNet's own arithmetic is in float16, too, where an epsilon of 1e-8 is 0
        check(ours, theirs, bound + error)
    else:
        assert not (error > bound).any(), "replay.py does not say what MXNet computes"
        assert np.isfinite(theirs).all() or case.optimizer == "adamax"  # 0/0 where there never was a gradient
        check(ours, theirs, bound)
