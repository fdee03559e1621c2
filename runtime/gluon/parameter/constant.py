"""Parameters that are not learned."""

from __future__ import annotations

import warnings
from typing import Any

from runtime import initializer
from runtime import ndarray as nd
from runtime.gluon.parameter.parameter import Parameter
from runtime.ndarray import NDArray


class Constant(Parameter):
    """An array that a block holds and no trainer changes; `set_data` does.

    `value` is the array, or what `nd.array` makes one of.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else nd.array(value)
        super().__init__(
            name,
            "null",
            self.value.shape,
            self.value.dtype,
            init=initializer.Constant(self.value),
            differentiable=False,
        )

    @property
    def grad_req(self) -> str:
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(f"constant '{self.name}' has no gradient: grad_req {req!r} is ignored", stacklevel=2)
