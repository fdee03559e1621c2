"""Shape inference: the shapes of parameters from the operators that use them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.context import Context
from runtime.gluon.block.protocols import HybridBlockLike
from runtime.gluon.parameter import Parameter
from runtime.ndarray import NDArray, custom

Shape = tuple[int, ...]


class Unknown:
    """A placeholder for the array of a parameter whose shape is not known."""

    def __init__(self, param: Parameter) -> None:
        self.param = param

    @property
    def shape(self) -> Shape | None:
        return self.param.shape

    def known(self, shape: Shape, ctx: Context) -> NDArray:
        """The array in `ctx`, now that the shape is known."""
        self.param.shape = shape
        self.param._finish_deferred_init()
        return self.param.data(ctx)


class Inferring:
    """`F` during shape inference: the operators of `module`, which first set the shapes of the parameters that they are
    given."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, key: str) -> Any:
        found = getattr(self._module, key)
        if key == "Custom":
            return _custom
        rule = _RULES.get(key)
        if rule is None:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(found).bind_partial(*args, **{k: v for k, v in kwargs.items() if k != "name"})
            bound.apply_defaults()
            shapes = rule(**bound.arguments) if isinstance(bound.args[0], NDArray) else {}
            for argument, shape in shapes.items():
                given = bound.arguments.get(argument)
                if isinstance(given, Unknown):
                    bound.arguments[argument] = given.known(shape, bound.args[0].context)
            return found(*bound.args, **bound.kwargs)

        return call


def _custom(*data: Any, op_type: str, **kwargs: Any) -> Any:
    """`Custom`, whose own `infer_shape` says the shapes of its inputs and states."""
    kwargs.pop("name", None)
    prop, inputs = custom.bound(op_type, data, kwargs, (NDArray, Unknown))
    shapes = [list(x.shape or ()) for x in inputs[: len(prop.list_arguments())]]
    found, _, states = custom.inferred(op_type, "infer_shape", prop, shapes)
    ctx = next(x.context for x in inputs if isinstance(x, NDArray))
    arrays = [
        x.known(tuple(shape), ctx) if isinstance(x, Unknown) else x
        for x, shape in zip(inputs, found + states, strict=True)
    ]
    options = {key: value for key, value in kwargs.items() if not isinstance(value, (NDArray, Unknown))}
    return nd.Custom(*arrays, op_type=op_type, **options)


def infer(block: HybridBlockLike, args: tuple, ctx: Context) -> None:
    """Run `block` to set the shapes of its parameters; ArgumentError naming those that stay unknown."""
    params = block._reg_params
    arrays = {key: param.data(ctx) if param._is_shape_known() else Unknown(param) for key, param in params.items()}
    cause: Exception | None = None
    with autograd.pause():
        try:
            block.hybrid_forward(Inferring(nd), *args, **arrays)
        except Exception as error:  # an error that is not about shapes comes again in the computation itself
            cause = error
    unknown = [param for param in params.values() if not param._is_shape_known()]
    if unknown:
        raise ArgumentError(
            f"the shape of {', '.join(map(str, unknown))} does not follow from the inputs: give the parameter its "
            "whole shape, or define infer_shape"
        ) from cause


# ---------------------------------------------------------------- shapes of weights, by operator


def _fully_connected(data: NDArray, num_hidden: int, flatten: bool = True, **_: Any) -> dict[str, Shape]:
    length = math.prod(data.shape[1:]) if flatten else data.shape[-1]
    return {"weight": (num_hidden, length), "bias": (num_hidden,)}


def _convolution(
    data: NDArray, kernel: Shape, num_filter: int, num_group: int = 1, layout: str | None = None, **_: Any
) -> dict[str, Shape]:
    last = layout is not None and layout.endswith("C")
    channels = data.shape[-1 if last else 1] // num_group
    weight = (num_filter, *kernel, channels) if last else (num_filter, channels, *kernel)
    return {"weight": weight, "bias": (num_filter,)}


def _deconvolution(data: NDArray, kernel: Shape, num_filter: int, num_group: int = 1, **_: Any) -> dict[str, Shape]:
    return {"weight": (data.shape[1], num_filter // num_group, *kernel), "bias": (num_filter,)}


def _normalization(data: NDArray, axis: int = 1, **_: Any) -> dict[str, Shape]:
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data.shape[axis],))


def _channels(data: NDArray, **_: Any) -> dict[str, Shape]:
    return dict.fromkeys(("gamma", "beta"), (data.shape[1],))


def _embedding(data: NDArray, input_dim: int, output_dim: int, **_: Any) -> dict[str, Shape]:
    return {"weight": (input_dim, output_dim)}


_RULES: dict[str, Callable[..., dict[str, Shape]]] = {
    "FullyConnected": _fully_connected,
    "Convolution": _convolution,
    "Deconvolution": _deconvolution,
    "BatchNorm": _normalization,
    "LayerNorm": _normalization,
    "InstanceNorm": _channels,
    "LeakyReLU": _channels,
    "Embedding": _embedding,
}
