"""Write data/optax.npz: the weights of every call after some steps, as optax 0.2.8 computes them in float64.

Run from the root of the repository, in an environment with optax==0.2.8 and jax:

    python -m tests.optimizers.peers.optax_make
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tests.optimizers.peers.calls import RECORDED, STEPS, Call
from tests.optimizers.peers.optax_cases import optax_calls


def curvature() -> optax.GradientTransformationExtraArgs:
    """An estimate of the Hessian's diagonal that is given at each step."""
    return optax.GradientTransformationExtraArgs(lambda params: None, lambda g, state, params=None, *, h: (h, state))


def trajectory(call: Call) -> np.ndarray:
    """The elements of all weights, one row for each recorded step."""
    first, grads, estimates, losses = call.numbers()
    params = [jnp.asarray(w) for w in first]
    arguments: dict[str, Any] = dict(call.arguments)
    if call.name == "sophia":
        arguments["hessian_diagonal_fn"] = curvature()
    made = getattr(optax, call.name, None) or getattr(optax.contrib, call.name)
    optimizer = optax.with_extra_args_support(made(**arguments))
    state = optimizer.init(params)
    path = []
    for k in range(STEPS):
        given = {"value": {"value": losses[k]}, "h_hat": {"h": [jnp.asarray(h) for h in estimates[k]]}}
        extra = {key: x for name in call.given for key, x in given[name].items()}
        updates, state = optimizer.update([jnp.asarray(g) for g in grads[k]], state, params, **extra)
        params = optax.apply_updates(params, updates)
        path.append(np.concatenate([np.asarray(w).ravel() for w in params]))
    return np.array(path)[list(RECORDED)]


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    paths = {call.id: trajectory(call) for call in optax_calls()}
    np.savez_compressed(Path(__file__).parent / "data" / "optax.npz", **paths)


if __name__ == "__main__":
    main()
