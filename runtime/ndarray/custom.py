"""Operators written in Python by users: `register` names them, `nd.Custom` calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import autograd
from runtime.base import MXNetError, did_you_mean
from runtime.context import Context
from runtime.ndarray.creation import blank
from runtime.ndarray.ndarray import NDArray

__all__ = ["Custom"]

_known: dict[str, type[CustomOpProp]] = {}


class CustomOp:
    """What an operator computes; subclasses define `forward` and `backward`, which write into arrays they are given."""

    def forward(
        self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]
    ) -> None:
        """Write the outputs of `in_data` to `out_data`, each with `assign(out_data[i], req[i], ...)`."""

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Write what flows into the inputs to `in_grad`, each with `assign(in_grad[i], req[i], ...)`."""

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write `src` to `dst` as `req` wants: 'write' or 'inplace', 'add' to what is there, or 'null', not at all."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        elif req != "null":
            raise MXNetError(
                f"assign: unknown req {req!r}{did_you_mean(str(req), ('null', 'write', 'inplace', 'add'))}"
            )


class CustomOpProp:
    """What is to be known of an operator before it computes; subclasses define what differs from one input `data`
    and one `output` of its shape and type.

    `need_top_grad` says whether `backward` reads `out_grad`: a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the arrays, passed after the inputs, that `forward` and `backward` may change."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> tuple:
        """The shapes of inputs, outputs and auxiliary states, from those of the inputs."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[type]) -> tuple:
        """The element types of inputs, outputs and auxiliary states, from those of the inputs."""
        first = in_type[0]
        return in_type, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states())

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Which of the numbered arrays `backward` reads. They are all kept, whatever this returns."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[type]) -> CustomOp:
        """The object that computes, for inputs of these shapes and types in `ctx`."""
        return CustomOp()


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Decorator: `nd.Custom(..., op_type=reg_name)` calls the operator of this CustomOpProp."""

    def enter(prop_cls: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise TypeError(f"operator.register({reg_name!r}) needs a subclass of CustomOpProp, not {prop_cls!r}")
        _known[reg_name] = prop_cls
        return prop_cls

    return enter


def get_all_registered_operators() -> list[str]:
    """The names that `register` was given."""
    return list(_known)


def properties(op_type: str, attributes: Mapping[str, str]) -> CustomOpProp:
    """What is to be known of the operator registered as `op_type`; MXNetError if there is none."""
    if op_type not in _known:
        raise MXNetError(f"Custom: no operator '{op_type}' is registered{did_you_mean(str(op_type), _known)}")
    return _known[op_type](**attributes)


def Custom(*data: NDArray, op_type: str, **kwargs: Any) -> NDArray | list[NDArray]:
    """Call the operator registered as `op_type`: its output, or a list of several.

    Inputs and auxiliary states are passed in their order or by name; all other keywords go to the constructor of the
    CustomOpProp, as text.
    """
    prop, inputs = bound(op_type, data, kwargs, (NDArray,))
    return CustomCall(op_type, prop, len(prop.list_arguments()), inputs)(*inputs)


def bound(op_type: str, data: tuple, kwargs: dict[str, Any], kinds: tuple[type, ...]) -> tuple[CustomOpProp, list]:
    """What is to be known of a call of the operator `op_type`, and its inputs and states, of the types `kinds`, in
    order."""
    by_name = {name: x for name, x in kwargs.items() if isinstance(x, kinds)}
    prop = properties(op_type, {name: str(value) for name, value in kwargs.items() if name not in by_name})
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    remaining = iter(data)
    inputs = [by_name.pop(name) if name in by_name else next(remaining, None) for name in names]
    left = [*by_name, *(type(x).__name__ for x in remaining)]
    if left or not all(isinstance(x, kinds) for x in inputs):
        raise MXNetError(f"Custom: '{op_type}' has the inputs {names}; {len(data)} arrays and {[*by_name]} do not fit")
    return prop, inputs


def inferred(op_type: str, method: str, prop: CustomOpProp, given: list) -> tuple[list, list, list]:
    """What `infer_shape` or `infer_type` says of inputs, outputs and states; MXNetError if these are not as many."""
    answer = tuple(map(list, getattr(prop, method)(given)))
    answer = answer if len(answer) == 3 else (*answer, [])
    numbers = [len(names) for names in (prop.list_arguments(), prop.list_outputs(), prop.list_auxiliary_states())]
    if list(map(len, answer)) != numbers:
        raise MXNetError(
            f"Custom: {method} of '{op_type}' returned {list(map(len, answer))} entries; there are "
            f"{numbers} inputs, outputs and auxiliary states"
        )
    return answer


class CustomCall(autograd.Function):
    """One call of a CustomOp."""

    def __init__(self, op_type: str, prop: CustomOpProp, count: int, inputs: list[NDArray]) -> None:
        super().__init__()
        self.op_type = op_type
        self._count = count  # of inputs; the others are auxiliary states
        arguments = inputs[:count]
        self._shapes = inferred(op_type, "infer_shape", prop, [list(x.shape) for x in arguments])
        self._types = inferred(op_type, "infer_type", prop, [x.dtype for x in arguments])
        for x, shape in zip(inputs, self._shapes[0] + self._shapes[2], strict=True):
            if x.shape != tuple(shape):
                raise MXNetError(f"Custom: '{op_type}' needs an input of shape {tuple(shape)}, not {x.shape}")
        self._ctx = inputs[0].context if inputs else Context.default_ctx
        self._operator = prop.create_operator(self._ctx, self._shapes[0], self._types[0])
        self._wanted = ["write" if x._in_graph() else "null" for x in arguments]

    def _zeros(self, shapes: list, types: list) -> list[NDArray]:
        return [blank(tuple(s), self._ctx, t) for s, t in zip(shapes, types, strict=True)]

    def forward(self, *inputs: NDArray) -> Any:
        inputs = [x.detach() for x in inputs]
        self._in, self._aux = inputs[: self._count], inputs[self._count :]
        self._out = self._zeros(self._shapes[1], self._types[1])
        self._operator.forward(autograd.is_training(), ["write"] * len(self._out), self._in, self._out, self._aux)
        return self._out[0] if len(self._out) == 1 else self._out

    def backward(self, *output_grads: NDArray) -> list[NDArray | None]:
        gradients = self._zeros(self._shapes[0], self._types[0])
        self._operator.backward(self._wanted, list(output_grads), self._in, self._out, gradients, self._aux)
        return gradients + [None] * len(self._aux)
