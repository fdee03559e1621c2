"""What stands in the place of calls of operators, gradients and updates while the profiler runs, and times them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.autograd.graph import Node
from runtime.core import backend
from runtime.ndarray import creation
from runtime.ndarray.custom import CustomCall
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator
from runtime.optimizer.updater import Updater
from runtime.plan.plans import Plans
from runtime.profiler.records import record

_NAMES = {
    "batch_norm": "BatchNorm",
    "cast": "Cast",
    "concat": "Concat",
    "convolve": "Convolution",
    "ctc": "CTCLoss",
    "dropout_factors": "Dropout",
    "elman": "RNN",
    "flip": "reverse",
    "gru": "RNN",
    "leaky": "LeakyReLU",
    "linear": "FullyConnected",
    "lstm": "RNN",
    "matmul": "dot",
    "pad": "Pad",
    "pool_max": "Pooling",
    "pool_sum": "Pooling",
    "reshape_copy": "Reshape",
    "softmax_output": "SoftmaxOutput",
    "split": "SliceChannel",
    "svm_output": "SVMOutput",
}
"""Operators that MXNet calls otherwise."""
_ARITHMETIC = {
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "divide": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "lesser": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "lesser_equal": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "modulo": ("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "multiply": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "not_equal": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "power": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "subtract": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
}
"""MXNet's names of operators of two arrays, of an array and a number, and of a number and an array."""

_lock = threading.Lock()
_installed = False


class _Custom(threading.local):
    """The user's operator that a thread is in, or ''."""

    name = ""


_custom = _Custom()


def _timed(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    custom = _custom.name
    begin = time.perf_counter_ns()
    try:
        result = function(*args, **kwargs)
        backend.synchronize_all()
        return result
    finally:
        category, name = ("Custom Operator", f"{custom}::{name}") if custom else ("operator", name)
        record("X", category, name, begin, time.perf_counter_ns() - begin)


def _name(operator: Any, inputs: Iterable[Any]) -> str:
    """The name of MXNet's operator that computes what `operator` does."""
    name = getattr(operator, "name", type(operator).__name__.lstrip("_"))
    if name not in _ARITHMETIC:
        return _NAMES.get(name, name)
    numbers = [not (isinstance(x, (NDArray, np.ndarray)) or backend.is_array(x)) for x in inputs]
    return _ARITHMETIC[name][2 - numbers.index(True) if True in numbers else 0]


def _call(self: Operator, *inputs: Any, **attrs: Any) -> Any:
    return _timed(_name(self, inputs), _METHODS[Operator, "__call__"][0], self, *inputs, **attrs)


def _pull(self: Node, gradient: Any) -> Iterator[Any]:
    name = f"_backward_{_name(self.operator, self.inputs).lstrip('_')}"
    return iter(_timed(name, lambda: list(_METHODS[Node, "pull"][0](self, gradient))))


def _make(make: str, *args: Any) -> NDArray:
    return _timed(f"_{make}", _METHODS[creation, "_made"][0], make, *args)


def _in_custom(method: str, prefix: str) -> Callable[..., Any]:
    """What stands in the place of a method of calls of users' operators: what runs in it is theirs."""

    def call(self: CustomCall, *arrays: NDArray) -> Any:
        outer, _custom.name = _custom.name, f"{prefix}{self.op_type}"
        try:
            return _timed("pure_python", _METHODS[CustomCall, method][0], self, *arrays)
        finally:
            _custom.name = outer

    return call


def _update(self: Updater, *args: Any, **kwargs: Any) -> Any:
    return _timed(f"update_{type(self.optimizer).__name__}", _METHODS[Updater, "__call__"][0], self, *args, **kwargs)


def _unplanned(self: Plans, function: Callable[..., Any], data: list[NDArray], params: Sequence[Any]) -> Any:
    """What was compiled of a function does not call the operators that are timed."""
    return function(*data)


_METHODS: dict[tuple[Any, str], tuple[Callable[..., Any], Callable[..., Any]]] = {
    (Operator, "__call__"): (Operator.__call__, _call),
    (Node, "pull"): (Node.pull, _pull),
    (Updater, "__call__"): (Updater.__call__, _update),
    (CustomCall, "forward"): (CustomCall.forward, _in_custom("forward", "")),
    (CustomCall, "backward"): (CustomCall.backward, _in_custom("backward", "_backward_")),
    (creation, "_made"): (creation._made, _make),
    (Plans, "__call__"): (Plans.__call__, _unplanned),
}
"""Methods and functions, and what stands in their place while the profiler runs."""


def install(wanted: bool) -> None:
    """Have operators timed if they are `wanted`, and else called as they are."""
    global _installed
    with _lock:
        if wanted != _installed:
            for (owner, name), methods in _METHODS.items():
                setattr(owner, name, methods[wanted])
            _installed = wanted
