"""Write data/torch.npz: the weights of every case after every step, as torch.optim computes them.

Run from the root of the repository, in an environment with torch==2.13.0:

    python -m tests.runtime.trajectories.torch_make
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tests.runtime.trajectories.cases import CHANGE, STEPS, TorchCase, torch_cases


def gradient(case: TorchCase, step: int, grad: np.ndarray) -> torch.Tensor:
    if not case.sparse:
        return torch.from_numpy(grad)
    rows = case.rows(step)
    return torch.sparse_coo_tensor(rows[None], grad[rows], grad.shape, check_invariants=True)


def trajectory(case: TorchCase) -> np.ndarray:
    """The elements of all weights, one row for each step."""
    first, grads = case.inputs()
    weights = [torch.nn.Parameter(torch.from_numpy(w)) for w in first]
    made = getattr(torch.optim, case.peer)(weights, **case.peer_args)
    path = []
    for step in range(STEPS):
        if step == CHANGE and case.new_rate is not None:
            made.param_groups[0]["lr"] = case.new_rate
        for weight, grad in zip(weights, grads[step], strict=True):
            weight.grad = gradient(case, step, grad)
        made.step()
        path.append(np.concatenate([w.detach().numpy().ravel() for w in weights]))
    return np.array(path)


def main() -> None:
    paths = {case.id: trajectory(case) for case in torch_cases()}
    np.savez_compressed(Path(__file__).parent / "data" / "torch.npz", **paths)


if __name__ == "__main__":
    main()
