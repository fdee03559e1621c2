"""Operators written in Python by users: `register` names them, `nd.Custom` calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from runtime import autograd
from runtime.base import MXNetError, did_you_mean
from runtime.context import Context
from runtime.core.scope import ThreadStack
from runtime.ndarray.creation import blank
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse import tostype

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

    def infer_storage_type(self, in_stype: list[str]) -> tuple:
        """How inputs, outputs and auxiliary states are stored, 'default', 'csr' or 'row_sparse', from the inputs."""
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple:
        """How `backward` gets what it is given: 'default', 'csr' or 'row_sparse' for each array of each list.

        The gradients of outputs and of inputs, `ograd_stype` and `igrad_stype`, are 'default' before.
        """
        return ograd_stype, in_stype, out_stype, igrad_stype, aux_stype

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
    return CustomCall(op_type, prop, inputs)(*inputs)


_passes = ThreadStack(lambda: ({}, {}))
"""For each pass of a graph the operators of its nodes, and those of them that have not computed in it yet."""


@contextlib.contextmanager
def with_operators(operators: dict[Any, CustomOp]) -> Iterator[None]:
    """In the block, nodes of a graph compute with their `operators`, where those that are made are entered.

    So an executor makes the operator of a node once, as in MXNet, and what the operator remembers is there in the next
    pass. A node in a loop computes several times, and with an operator of its own each time but the first.
    """
    _passes.stack.append((operators, dict(operators)))
    try:
        yield
    finally:
        _passes.stack.pop()


def of_node(node: Any, inputs: Sequence[NDArray], op_type: str, attributes: dict[str, str]) -> NDArray | list[NDArray]:
    """What `Custom` returns, for a node of a graph; see `with_operators`."""
    prop, arrays = bound(op_type, tuple(inputs), attributes, (NDArray,))
    operators, left = _passes.value
    call = CustomCall(op_type, prop, arrays, left.pop(node, None))
    if len(_passes.stack) > 1:
        operators.setdefault(node, call.operator)
    return call(*arrays)


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
    """What a method that infers says of inputs, outputs and states; MXNetError if these are not as many."""
    answer = tuple(map(list, getattr(prop, method)(given)))
    answer = answer if len(answer) == 3 else (*answer, [])
    numbers = [len(names) for names in (prop.list_arguments(), prop.list_outputs(), prop.list_auxiliary_states())]
    if list(map(len, answer)) != numbers:
        raise MXNetError(
            f"Custom: {method} of '{op_type}' returned {list(map(len, answer))} entries; there are "
            f"{numbers} inputs, outputs and auxiliary states"
        )
    return answer


@contextlib.contextmanager
def _as_mxnet_errors(where: str) -> Iterator[None]:
    """What is raised in the block is an MXNetError too, besides what it is; `where` is noted."""
    try:
        yield
    except Exception as error:
        kind = type(error)
        if not isinstance(error, MXNetError):
            try:
                both = type(kind.__name__, (MXNetError, kind), {"__module__": kind.__module__})
                copy = both.__new__(both, *error.args).with_traceback(error.__traceback__)
                vars(copy).update(vars(error))
                error = copy
            except TypeError:  # classes that do not mix, or want other arguments
                error = MXNetError(f"{kind.__name__}: {error}").with_traceback(error.__traceback__)
        error.add_note(f"in {where}")
        raise error from error.__cause__


class CustomCall(autograd.Function):
    """One call of a CustomOp: of `operator`, or of one that is made for it."""

    def __init__(
        self, op_type: str, prop: CustomOpProp, inputs: list[NDArray], operator: CustomOp | None = None
    ) -> None:
        super().__init__()
        self.op_type = op_type
        self._prop = prop
        self._count = len(prop.list_arguments())  # the other inputs are auxiliary states
        arguments = inputs[: self._count]
        self._shapes = inferred(op_type, "infer_shape", prop, [list(x.shape) for x in arguments])
        self._types = inferred(op_type, "infer_type", prop, [x.dtype for x in arguments])
        self._stypes = inferred(op_type, "infer_storage_type", prop, [x.stype for x in arguments])
        for x, shape in zip(inputs, self._shapes[0] + self._shapes[2], strict=True):
            if x.shape != tuple(shape):
                raise MXNetError(f"Custom: '{op_type}' needs an input of shape {tuple(shape)}, not {x.shape}")
        self._ctx = inputs[0].context if inputs else Context.default_ctx
        if operator is None:
            operator = prop.create_operator(self._ctx, self._shapes[0], self._types[0])
        self.operator = operator
        self._wanted = ["write" if x._in_graph() else "null" for x in arguments]

    def _zeros(self, shapes: list, types: list, stypes: list) -> list[NDArray]:
        each = zip(shapes, types, stypes, strict=True)
        return [tostype(blank(tuple(shape), self._ctx, dtype), stype) for shape, dtype, stype in each]

    def _stored_backward(self) -> tuple[list[str], list[str]]:
        """How `backward` takes the gradients of outputs and writes those of inputs."""
        ins, outs, states = self._stypes
        given = (["default"] * len(outs), [*ins], [*outs], ["default"] * len(ins), [*states])
        answer = self._prop.infer_storage_type_backward(*given)
        if list(map(len, answer)) != list(map(len, given)):
            raise MXNetError(
                f"Custom: infer_storage_type_backward of '{self.op_type}' returned {list(map(len, answer))} entries; "
                f"needed are {list(map(len, given))}"
            )
        return answer[0], answer[3]

    def forward(self, *inputs: NDArray) -> Any:
        inputs = [x.detach() for x in inputs]
        self._in, self._aux = inputs[: self._count], inputs[self._count :]
        self._out = self._zeros(self._shapes[1], self._types[1], self._stypes[1])
        with _as_mxnet_errors(f"forward of the operator '{self.op_type}'"):
            self.operator.forward(autograd.is_training(), ["write"] * len(self._out), self._in, self._out, self._aux)
        return self._out[0] if len(self._out) == 1 else self._out

    def backward(self, *output_grads: NDArray) -> list[NDArray | None]:
        taken, written = self._stored_backward()
        gradients = self._zeros(self._shapes[0], self._types[0], written)
        given = [tostype(dy, stype) for dy, stype in zip(output_grads, taken, strict=True)]
        with _as_mxnet_errors(f"backward of the operator '{self.op_type}'"):
            self.operator.backward(self._wanted, given, self._in, self._out, gradients, self._aux)
        return gradients + [None] * len(self._aux)
