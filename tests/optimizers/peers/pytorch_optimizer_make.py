"""Write data/pytorch_optimizer.npz: the weights of every call after some steps, as it computes them in float64.

Run from the root of the repository, in an environment with pytorch_optimizer==4.1.0 and torch:

    python -m tests.optimizers.peers.pytorch_optimizer_make
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytorch_optimizer
import torch

from tests.optimizers.peers.calls import RECORDED, STEPS, Call
from tests.optimizers.peers.pytorch_optimizer_cases import pytorch_optimizer_calls


def trajectory(call: Call) -> np.ndarray:
    """The elements of all weights, one row for each recorded step."""
    first, grads, _, _ = call.numbers()
    params = [torch.nn.Parameter(torch.from_numpy(w)) for w in first]
    optimizer = pytorch_optimizer.load_optimizer(call.name)(params, **call.arguments)
    path = []
    for k in range(STEPS):
        for p, g in zip(params, grads[k], strict=True):
            p.grad = torch.from_numpy(g.copy())
        optimizer.step()
        path.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(path)[list(RECORDED)]


def main() -> None:
    torch.set_default_dtype(torch.float64)
    paths = {call.id: trajectory(call) for call in pytorch_optimizer_calls()}
    np.savez_compressed(Path(__file__).parent / "data" / "pytorch_optimizer.npz", **paths)


if __name__ == "__main__":
    main()
