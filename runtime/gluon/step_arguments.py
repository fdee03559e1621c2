"""What a step of a Trainer is given beside the batch size: the loss, and the phase of a step with several gradients."""

from __future__ import annotations

from typing import Any

from runtime.base import ArgumentError
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import Optimizer


def give_loss(optimizer: Optimizer, loss: Any, batch_size: int) -> None:
    """Have an optimizer that reads the loss read this one, divided by `batch_size`; ArgumentError if there is none.

    `loss` is a number, an array, or a list of these, which are added up.
    """
    if "loss" not in optimizer.given:
        return
    if loss is None:
        raise ArgumentError(f"{type(optimizer).__name__} reads the loss: step(batch_size, loss=...), or a closure")
    parts = loss if isinstance(loss, (list, tuple)) else [loss]
    optimizer.loss = sum(float(x.sum().asscalar() if isinstance(x, NDArray) else x) for x in parts) / batch_size


def needs_closure(optimizer: Optimizer, phase: str | None) -> bool:
    """Whether a step, or a phase of it, reads gradients or the loss."""
    return phase is None or optimizer.needs_gradients or "loss" in optimizer.spec.reads_in(phase)


def begin_phase(optimizer: Optimizer, phase: str | None) -> None:
    """Have an optimizer compute a phase; ArgumentError unless it has one of that name, or none and gets none."""
    name, phases = type(optimizer).__name__, optimizer.phases
    if phase is None and phases:
        calls = ", then ".join(f"step(..., phase='{x}')" for x in phases)
        raise ArgumentError(
            f"{name}: a step has phases, each with gradients of its own: pass a closure that computes the loss and "
            f"calls backward, or call {calls}"
        )
    if phase is not None and phase not in phases:
        raise ArgumentError(f"{name} has no phase '{phase}'; it has {', '.join(phases) or 'none'}")
    if phases:
        optimizer.phase = phase
