"""Operators written in Python: subclass `CustomOp` and `CustomOpProp`, `register` a name, call `nd.Custom`.

The names and arguments of all operators of graphs are listed here, too.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, ClassVar, NamedTuple

from runtime import symbol
from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.ndarray.custom import CustomOp, CustomOpProp, register
from runtime.ndarray.custom import get_all_registered_operators as _registered
from runtime.symbol import Symbol, table

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]


class OperatorArguments(NamedTuple):
    """The inputs and attributes of an operator: how many, their names, and what each is."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """The names of the operators of graphs, and those that `register` was given."""
    return [*table.names(), *_registered()]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The inputs and attributes of an operator; MXNetError suggests other names if there is none."""
    operator = table.find(op_name)
    found = {x.name: "NDArray-or-Symbol[]" if x.many else "NDArray-or-Symbol" for x in operator.inputs}
    for x in operator.attributes.values():
        kind = "{" + ", ".join(map(repr, x.kind.split("|"))) + "}" if "|" in x.kind else x.kind
        found[x.name] = f"{kind}, required" if x.required else f"{kind}, optional, default={x.default}"
    return OperatorArguments(len(found), list(found), list(found.values()))


# ---------------------------------------------------------------- symbols of Python objects


class PythonOp:
    """An operator of graphs written in Python, as old programs have them; use CustomOp.

    Subclasses define what differs from one input `data` and one `output` of its shape. Calling an object with symbols
    makes a symbol. `need_top_grad` says whether `backward` reads `out_grad`: a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warnings.warn(f"{type(self).__name__}: PythonOp is deprecated, use CustomOp", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """The operator with symbols as its inputs, in order or by name. It computes as long as this process lives: a
        file of the graph has no more than its name."""
        key = f"_python_{next(_numbers)}"
        register(key)(type(f"{type(self).__name__}Prop", (_Prop,), {"own": self}))
        return symbol.Custom(*args, op_type=key, **kwargs)

    def forward(self, in_data: list, out_data: list) -> None:
        """Write the outputs."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list, in_data: list, out_data: list, in_grad: list) -> None:
        """Write the gradients of the inputs."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list) -> tuple[list, list]:
        """The shapes of inputs and outputs, from those of the inputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether `backward` reads `out_grad`."""
        return self.need_top_grad_

    def _given(self, arrays: list[NDArray]) -> list[Any]:
        """What `forward` and `backward` get for arrays."""
        return list(arrays)


class NumpyOp(PythonOp):
    """A PythonOp whose `forward` and `backward` get NumPy arrays."""

    def _given(self, arrays: list[NDArray]) -> list[Any]:
        return [x.asnumpy() for x in arrays]


class NDArrayOp(PythonOp):
    """A PythonOp whose `forward` and `backward` get NDArrays."""

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """Which of the numbered arrays `backward` reads. They are all kept, whatever this returns."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


_numbers = itertools.count()


class _Prop(CustomOpProp):
    """What a PythonOp, `own`, is as a CustomOp."""

    own: ClassVar[PythonOp]

    def __init__(self) -> None:
        super().__init__(self.own.need_top_grad())

    def list_arguments(self) -> list[str]:
        return self.own.list_arguments()

    def list_outputs(self) -> list[str]:
        return self.own.list_outputs()

    def infer_shape(self, in_shape: list[list[int]]) -> tuple:
        return (*self.own.infer_shape(in_shape), [])

    def create_operator(self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[type]) -> CustomOp:
        return _Operator(self.own)


class _Operator(CustomOp):
    def __init__(self, own: PythonOp) -> None:
        self._own = own

    def forward(
        self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]
    ) -> None:
        written = self._own._given(out_data)
        self._own.forward(in_data=self._own._given(in_data), out_data=written)
        self._assign(req, out_data, written)

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        written = self._own._given(in_grad)
        given = [self._own._given(arrays) for arrays in (out_grad, in_data, out_data)]
        self._own.backward(out_grad=given[0], in_data=given[1], out_data=given[2], in_grad=written)
        self._assign(req, in_grad, written)

    def _assign(self, req: list[str], arrays: list[NDArray], written: list[Any]) -> None:
        for x, how, value in zip(arrays, req, written, strict=True):
            if value is not x:
                self.assign(x, how, value)
