"""Gradients as scripts of MXNet before 1.0 ask for them; `runtime.autograd` is their successor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from runtime import autograd
from runtime.autograd import backward, mark_variables
from runtime.base import ArgumentError
from runtime.ndarray import NDArray

__all__ = [
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Record and compute as in training from here on, or do neither; returns whether it was so before."""
    autograd.set_recording(is_train)
    return autograd.set_training(is_train)


def train_section() -> AbstractContextManager[None]:
    """`with train_section():` what is computed inside is recorded, as in training."""
    return autograd.record()


def test_section() -> AbstractContextManager[None]:
    """`with test_section():` what is computed inside is not recorded, as in prediction."""
    return autograd.pause()


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Compute the gradients of the outputs' sum in the marked variables."""
    backward(list(outputs))


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of `func` in its arguments, or in those of `argnum`, and its value."""

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> tuple[list[NDArray], Any]:
        chosen = range(len(args)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum
        variables = [args[i] for i in chosen]
        for x in variables:
            if not isinstance(x, NDArray):
                raise ArgumentError(f"gradients are in arrays, not in {type(x).__name__}")
        gradients = [x.zeros_like() for x in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., list[NDArray]]:
    """A function that returns the gradients of `func` in its arguments, or in those numbered `argnum`."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
