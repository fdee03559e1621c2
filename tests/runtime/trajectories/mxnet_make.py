"""Write data/mxnet.npz: the weights of every case after every step, as MXNet 1.9.1 computes them.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.runtime.trajectories.mxnet_make
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

from tests.runtime.trajectories.cases import CHANGE, LR_MULT, STEPS, WD_MULT, Case, mxnet_cases


def optimizer(case: Case) -> Any:
    """The optimizer as a user would make it."""
    args = dict(case.args)
    names = dict(enumerate(case.shapes))
    if case.schedule:
        name, settings = case.schedule
        args["lr_scheduler"] = getattr(mx.lr_scheduler, name)(**settings)
    if case.named == "params":
        args["param_dict"] = {
            i: mx.gluon.Parameter(n, lr_mult=LR_MULT.get(n, 1.0), wd_mult=WD_MULT.get(n, 1.0)) for i, n in names.items()
        }
    if case.named == "names":
        args["param_idx2name"] = names
    made = mx.optimizer.create(case.optimizer, multi_precision=case.storage == "master", **args)
    if case.named == "names":
        made.set_lr_mult(LR_MULT)
        made.set_wd_mult(WD_MULT)
    return made


def gradient(case: Case, step: int, grad: np.ndarray) -> Any:
    if not case.sparse:
        return mx.nd.array(grad, dtype=case.dtype)
    rows = case.rows(step)
    return mx.nd.sparse.row_sparse_array((grad[rows], rows), shape=grad.shape, dtype=case.dtype)


def trajectory(case: Case) -> np.ndarray:
    """The elements of all weights, one row for each step."""
    first, grads = case.inputs()
    weights = [mx.nd.array(w, dtype=case.dtype) for w in first]
    if case.sparse and case.optimizer == "ftrl":  # lazy only if the weights are stored by rows, too
        weights = [w.tostype("row_sparse") for w in weights]
    made = optimizer(case)
    update = mx.optimizer.get_updater(made)
    path = []
    for step in range(STEPS):
        if step == CHANGE and case.new_rate is not None:
            made.set_learning_rate(case.new_rate)
        indices = list(range(len(weights)))
        update(indices, [gradient(case, step, g) for g in grads[step]], weights)
        path.append(np.concatenate([w.asnumpy().ravel() for w in weights]))
    return np.array(path)


def main() -> None:
    warnings.simplefilter("ignore")
    # SGLD without its noise: what is left is a function of the gradients.
    mx.optimizer.optimizer.normal = lambda *args, shape, dtype, ctx: mx.nd.zeros(shape, ctx, dtype)
    paths = {case.id: trajectory(case) for case in mxnet_cases()}
    np.savez_compressed(Path(__file__).parent / "data" / "mxnet.npz", **paths)


if __name__ == "__main__":
    main()
