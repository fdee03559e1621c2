"""Optax, its update and its application in one jitted function that may reuse the buffers of weights and states.

JAX arrays are immutable, so weights and gradients are copies of the caller's. Every step is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads import LR, MOMENTUM, WD, Tensors

from peers.absent import require


def step(optimizer: str, tensors: Tensors) -> Callable[[], object] | None:
    jax = require("jax", "jax")
    optax = require("optax", "optax")
    rule = _rule(optax, optimizer)
    if rule is None:
        return None

    def update(params: Any, state: Any, grads: Any) -> Any:
        changes, state = rule.update(grads, state, params)
        return optax.apply_updates(params, changes), state

    jitted = jax.jit(update, donate_argnums=(0, 1))
    params = [jax.numpy.array(w) for w in tensors.weights]
    grads = [jax.numpy.array(g) for g in tensors.grads]
    state = rule.init(params)

    def call() -> None:
        nonlocal params, state
        params, state = jitted(params, state, grads)
        jax.block_until_ready((params, state))

    return call


def _rule(optax: Any, optimizer: str) -> Any:
    """The transformation, None where there is none."""
    decay = optax.add_decayed_weights(WD)
    makers: dict[str, Callable[[], Any]] = {
        "sgd": lambda: optax.chain(decay, optax.sgd(LR)),
        "momentum": lambda: optax.chain(decay, optax.sgd(LR, momentum=MOMENTUM)),
        "nag": lambda: optax.chain(decay, optax.sgd(LR, momentum=MOMENTUM, nesterov=True)),
        "adam": lambda: optax.chain(decay, optax.adam(LR)),
        "adagrad": lambda: optax.chain(decay, optax.adagrad(LR)),
        "rmsprop": lambda: optax.chain(decay, optax.rmsprop(LR, decay=0.9)),
        "adadelta": lambda: optax.chain(decay, optax.adadelta(LR, rho=0.9, eps=1e-5)),
        "adabelief": lambda: optax.chain(decay, optax.adabelief(LR)),
        "adafactor": lambda: optax.adafactor(LR, weight_decay_rate=WD),
        "adamax": lambda: optax.chain(decay, optax.adamax(LR)),
        "adamw": lambda: optax.adamw(LR, weight_decay=WD),
        "adan": lambda: optax.adan(LR, weight_decay=WD),
        "lamb": lambda: optax.lamb(LR, weight_decay=WD),
        "lars": lambda: optax.lars(LR, weight_decay=WD, momentum=MOMENTUM),
        "lion": lambda: optax.lion(LR, weight_decay=WD),
        "nadam": lambda: optax.chain(decay, optax.nadam(LR)),
        "novograd": lambda: optax.novograd(LR, weight_decay=WD),
        "radam": lambda: optax.chain(decay, optax.radam(LR)),
        "rprop": lambda: optax.rprop(LR),
        "yogi": lambda: optax.chain(decay, optax.yogi(LR)),
    }
    return makers[optimizer]() if optimizer in makers else None
