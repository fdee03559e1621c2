"""Operators that report their outputs to a callback."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from runtime.name import Prefix
from runtime.ndarray import NDArray

_INPUTS_NUMBERED = ("Activation",)
"""Operators whose inputs MXNet calls input0, input1, ..., not by the names of their arguments."""


class Monitored:
    """`F` with an operator hook: the operators of `module`, which call `callback` with their outputs.

    See `HybridBlock.register_op_hook`. Names are counted from 0.
    """

    def __init__(
        self, module: ModuleType, prefix: str, callback: Callable[[bytes, bytes, NDArray], object], monitor_all: bool
    ) -> None:
        self._module = module
        self._names = Prefix(prefix)
        self._callback = callback
        self._monitor_all = monitor_all

    def __getattr__(self, key: str) -> Any:
        found = getattr(self._module, key)
        if isinstance(found, ModuleType):
            inner = Monitored(found, "", self._callback, self._monitor_all)
            inner._names = self._names
            return inner
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
            node = self._names.get(name, key.lower())
            if self._monitor_all:
                self._tell_inputs(node, key, found, args, kwargs)
            result = found(*args, **kwargs)
            outputs = result if isinstance(result, (list, tuple)) else [result]
            for i, x in enumerate(outputs):
                if isinstance(x, NDArray):
                    self._tell(f"{node}_output{i if len(outputs) > 1 else ''}", key, x)
            return result

        return call

    def _tell_inputs(self, node: str, key: str, operator: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        """Report the arrays among the arguments; those of `*args` are numbered."""
        bound = inspect.signature(operator).bind(*args, **kwargs).arguments
        inputs = {}
        for argument, value in bound.items():
            if isinstance(value, tuple):
                inputs.update({f"{argument}{i}": x for i, x in enumerate(value)})
            else:
                inputs[argument] = value
        arrays = {argument: x for argument, x in inputs.items() if isinstance(x, NDArray)}
        for i, (argument, x) in enumerate(arrays.items()):
            self._tell(f"{node}_{f'input{i}' if key in _INPUTS_NUMBERED else argument}", key, x)

    def _tell(self, name: str, operator: str, array: NDArray) -> None:
        self._callback(name.encode(), operator.encode(), array)
