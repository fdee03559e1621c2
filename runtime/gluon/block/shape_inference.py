"""Shape inference: the shapes of parameters from the operators that use them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.context import Context
from runtime.gluon.block.protocols import HybridBlockLike
from runtime.gluon.parameter import Parameter
from runtime.ndarray import NDArray, custom
from runtime.symbol import table
from runtime.symbol.graph import Node
from runtime.symbol.shapes import shape_rule

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
    given, as far as the rules of graphs tell them. Parameters get values in `ctx`.

    `prefix` is what the table of operators puts before the names of the module.
    """

    def __init__(self, module: ModuleType, ctx: Context, prefix: str = "") -> None:
        self._module, self._ctx, self._prefix = module, ctx, prefix

    def __getattr__(self, key: str) -> Any:
        found = getattr(self._module, key)
        if isinstance(found, ModuleType):
            return Inferring(found, self._ctx, f"_{key}_")
        if key == "Custom":
            return _custom
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            name = self._prefix + key
            if not any(isinstance(x, Unknown) for x in (*args, *kwargs.values())) or name not in table.names():
                return found(*args, **kwargs)
            bound = inspect.signature(found).bind_partial(*args, **{k: v for k, v in kwargs.items() if k != "name"})
            for argument, shape in _shapes(table.find(name), bound.arguments):
                given = bound.arguments.get(argument)
                if isinstance(given, Unknown) and shape is not None and -1 not in shape:
                    bound.arguments[argument] = given.known(shape, self._ctx)
            return found(*bound.args, **bound.kwargs)

        return call


def _shapes(operator: table.Operator, arguments: Mapping[str, Any]) -> list[tuple[str, Shape | None]]:
    """The names of the operator's inputs, with what its rule tells of their shapes."""
    given = {key: x for key, x in arguments.items() if key in operator.attributes and x is not None}
    node = Node(operator, operator.name, {key: operator.text(key, x) for key, x in given.items()})
    names = [name for name, _ in node.input_names]
    inputs = [_known_shape(arguments.get(name)) for name in names]
    found, _ = shape_rule(node, inputs, [None] * len(node.output_names))
    return list(zip(names, found, strict=True))


def _known_shape(x: Any) -> Shape | None:
    """What is known of the shape of an argument; -1 stands for an unknown length."""
    if isinstance(x, Unknown):
        return None if x.shape is None else tuple(n if n > 0 else -1 for n in x.shape)
    return x.shape if isinstance(x, NDArray) else None


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
            block.hybrid_forward(Inferring(nd, ctx), *args, **arrays)
        except Exception as error:  # an error that is not about shapes comes again in the computation itself
            cause = error
    unknown = [param for param in params.values() if not param._is_shape_known()]
    if unknown:
        raise ArgumentError(
            f"the shape of {', '.join(map(str, unknown))} does not follow from the inputs: give the parameter its "
            "whole shape, or define infer_shape"
        ) from cause
