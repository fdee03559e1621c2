"""Write data/optax.npz: the weights of every call after some steps, as optax 0.2.8 computes them in float64; and
data/optax.json, the arguments of everything in optax that makes an optimizer or a part of one.

Run from the root of the repository, in an environment with optax==0.2.8 and jax:

    python -m tests.optimizers.peers.optax_make

Calls that the file has are kept. Remove the file, and all are computed anew.
"""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tests.optimizers.peers.calls import RECORDED, STEPS, Call
from tests.optimizers.peers.optax_cases import optax_calls
from tests.optimizers.peers.optax_chains import optax_chains


def curvature() -> optax.GradientTransformationExtraArgs:
    """An estimate of the Hessian's diagonal that is given at each step."""
    return optax.GradientTransformationExtraArgs(lambda params: None, lambda g, state, params=None, *, h: (h, state))


def named(name: str) -> Any:
    return getattr(optax, name, None) or getattr(optax.contrib, name)


def made(call: Call) -> Any:
    """The optimizer of a call, in its chain."""
    arguments: dict[str, Any] = dict(call.arguments)
    if call.name == "sophia":
        arguments["hessian_diagonal_fn"] = curvature()
    parts = []
    if call.name.startswith("scale_by"):
        parts = [optax.scale_by_learning_rate(arguments.pop("learning_rate"))]
    place, name, others = call.transform or ("", "", {})
    optimizer = named(call.name)(**arguments)
    if place == "around":
        rate = {"learning_rate": 0.1} if name == "schedule_free" else {}
        return named(name)(optimizer, **rate, **others)
    other = [named(name)(**others)] if name else []
    before, behind = (other, parts) if place == "before" else ([], [*other, *parts])
    return optax.chain(*before, optimizer, *behind)


def trajectory(call: Call) -> np.ndarray:
    """The elements of all weights, one row for each recorded step."""
    first, grads, estimates, losses = call.numbers()
    params = [jnp.asarray(w) for w in first]
    optimizer = optax.with_extra_args_support(made(call))
    if call.is_lookahead:
        params = optax.LookaheadParams.init_synced(params)
    state = optimizer.init(params)
    update = jax.jit(optimizer.update)
    path = []
    for k in range(STEPS):
        given = {"value": {"value": losses[k]}, "h_hat": {"h": [jnp.asarray(h) for h in estimates[k]]}}
        extra = {key: x for name in call.given for key, x in given[name].items()}
        updates, state = update([jnp.asarray(g) for g in grads[k]], state, params, **extra)
        params = optax.apply_updates(params, updates)
        leaves = params.fast if call.is_lookahead else params
        path.append(np.concatenate([np.asarray(w).ravel() for w in leaves]))
    return np.array(path)[list(RECORDED)]


def constructors() -> dict[str, list[str]]:
    """The arguments of what optax and optax.contrib make transformations of gradients with."""
    found = {}
    for prefix, module in (("", optax), ("contrib.", optax.contrib)):
        for name, made in sorted(vars(module).items()):
            if not name.startswith("_") and inspect.isfunction(inspect.unwrap(getattr(made, "func", made))):
                given = inspect.signature(made)
                if "GradientTransformation" in str(given.return_annotation) or name in ("dog", "dowg"):
                    found[prefix + name] = list(given.parameters)
    return found


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    file = Path(__file__).parent / "data" / "optax.npz"
    kept = dict(np.load(file)) if file.exists() else {}
    calls = {call.id: call for call in (*optax_calls(), *optax_chains())}
    paths = {name: kept[name] if name in kept else trajectory(call) for name, call in calls.items()}
    np.savez_compressed(file, **paths)
    file.with_suffix(".json").write_text(json.dumps(constructors(), indent=1) + "\n")


if __name__ == "__main__":
    main()
