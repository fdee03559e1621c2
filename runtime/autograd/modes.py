"""Whether a thread records, and whether it is in training mode; the scopes that change it."""

from __future__ import annotations

import threading
from typing import Any


class _Mode(threading.local):
    """The thread's modes. They are attributes, so that a `Scope` finds all in one dictionary."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False
        self.trace: Any = None
        """The `Trace` that the thread's calls are noted for, or None."""
        self.storing = False
        """Whether the thread walks back, and variables will receive the gradients."""
        self.noting = False
        """Whether calls leave nodes: while the thread records, or is traced."""


mode = _Mode()


def _set_recording(recording: bool) -> None:
    mode.recording = recording
    mode.noting = recording or mode.trace is not None


class Scope:
    """A `with` block that sets recording and training mode; None leaves a mode as it is.

    `storing`: whether what it does is a walk back whose gradients variables receive.
    """

    __slots__ = ("_inner", "_outer")

    def __init__(self, recording: bool | None, training: bool | None, storing: bool = False) -> None:
        self._inner = (recording, training, storing)

    def __enter__(self) -> None:
        modes = mode.__dict__  # each attribute of a `threading.local` is looked up there anew
        self._outer = modes["recording"], modes["noting"], modes["training"], modes["storing"]
        recording, training, modes["storing"] = self._inner
        if recording is not None:
            modes["recording"] = recording
            modes["noting"] = recording or modes["trace"] is not None
        if training is not None:
            modes["training"] = training

    def __exit__(self, *exception: object) -> None:
        modes = mode.__dict__
        modes["recording"], modes["noting"], modes["training"], modes["storing"] = self._outer


def record(train_mode: bool = True) -> Scope:
    """`with record():` operators leave what `backward` needs, and layers such as Dropout act as in training."""
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """`with pause():` nothing is recorded; for computations inside `record` that need no gradient."""
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """`with train_mode():` layers act as in training; recording stays as it is."""
    return Scope(None, True)


def predict_mode() -> Scope:
    """`with predict_mode():` layers act as in prediction; recording stays as it is."""
    return Scope(None, False)


def is_recording() -> bool:
    return mode.recording


def is_training() -> bool:
    return mode.training


def set_recording(is_recording: bool) -> bool:
    """Switch recording on or off; returns what it was. `record` and `pause` are the usual way."""
    before = mode.recording
    _set_recording(bool(is_recording))
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off; returns what it was. `train_mode` and `predict_mode` are the usual way."""
    before, mode.training = mode.training, bool(train_mode)
    return before
