"""Operators that users write in Python."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd

NO_GRADIENT = {"Custom"}


class Scaled(mx.operator.CustomOp):
    """factor*a*b and a + b; counts its calls in an auxiliary state."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, is_train: bool, req: list, in_data: list, out_data: list, aux: list) -> None:
        a, b = in_data
        self.assign(out_data[0], req[0], self.factor * a * b)
        self.assign(out_data[1], req[1], a + b)
        aux[0][:] += 1 if is_train else 100

    def backward(self, req: list, out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list) -> None:
        a, b = in_data
        product, total = out_grad
        self.assign(in_grad[0], req[0], self.factor * product * b + total)
        self.assign(in_grad[1], req[1], self.factor * product * a + total)
        self.assign(in_grad[0], "add", nd.zeros(a.shape))


@mx.operator.register("scaled_for_test")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor: str = "1") -> None:
        super().__init__()
        self.factor = float(factor)

    def list_arguments(self) -> list[str]:
        return ["a", "b"]

    def list_outputs(self) -> list[str]:
        return ["product", "total"]

    def list_auxiliary_states(self) -> list[str]:
        return ["calls"]

    def infer_shape(self, in_shape: list) -> tuple:
        return [in_shape[0]] * 2, [in_shape[0]] * 2, [[1]]

    def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> Scaled:
        assert ctx == mx.current_context() and in_shapes == [[2], [2]] and in_dtypes == [np.float32] * 2
        return Scaled(self.factor)


def test_inputs_outputs_and_states() -> None:
    a, b, calls = nd.array([1, 2]), nd.array([3, 4]), nd.zeros(1)
    a.attach_grad()
    b.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            product, total = nd.Custom(a, b=b, calls=calls, op_type="scaled_for_test", factor=2)
            (product + 10 * total).backward()
    assert product.asnumpy().tolist() == [6, 16] and total.asnumpy().tolist() == [4, 6]
    assert a.grad.asnumpy().tolist() == [16, 18] and b.grad.asnumpy().tolist() == [24, 28]
    with autograd.record():
        product, _ = nd.Custom(a, b.detach(), calls, op_type="scaled_for_test")
    product.backward()
    assert a.grad.asnumpy().tolist() == [3, 4]
    nd.Custom(a, b, calls, op_type="scaled_for_test")
    assert calls.asscalar() == 103


@mx.operator.register("loss_for_test")
class LossProp(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> mx.operator.CustomOp:
        class Loss(mx.operator.CustomOp):
            def forward(self, is_train: bool, req: list, in_data: list, out_data: list, aux: list) -> None:
                self.assign(out_data[0], req[0], in_data[0])

            def backward(
                self, req: list, out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list
            ) -> None:
                self.assign(in_grad[0], req[0], out_data[0] - 1)

        return Loss()


def test_one_output_and_its_context() -> None:
    x = nd.array([[3, 5]], ctx=mx.cpu(1), dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(data=x, op_type="loss_for_test", name="loss")
    y.backward()
    assert y.context == mx.cpu(1) and y.dtype == np.float64
    assert x.grad.asnumpy().tolist() == [[2, 4]]


def test_parameters_get_the_shapes_that_the_operator_infers() -> None:
    class Block(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.b = self.params.get("b", shape=(0,), init="ones", allow_deferred_init=True)
            self.calls = self.params.get("calls", shape=(0,), init="zeros", grad_req="null", allow_deferred_init=True)

        def hybrid_forward(self, F: ModuleType, x: nd.NDArray, b: nd.NDArray, calls: nd.NDArray) -> nd.NDArray:
            return F.Custom(x, calls=calls, b=b, name="y", op_type="scaled_for_test", factor=2)[0]

    for hybrid in (False, True):
        block = Block()
        block.initialize()
        block.hybridize(hybrid)
        assert block(nd.array([1, 2])).asnumpy().tolist() == [2, 4]
        assert block.b.shape == (2,) and block.calls.shape == (1,)


def test_errors() -> None:
    x = nd.ones(2)
    with pytest.raises(mx.MXNetError, match="no operator 'loss_for_tset' is registered; did you mean 'loss_for_test'"):
        nd.Custom(x, op_type="loss_for_tset")
    with pytest.raises(mx.MXNetError, match=r"'scaled_for_test' has the inputs \['a', 'b', 'calls'\]; 2 arrays"):
        nd.Custom(x, x, op_type="scaled_for_test")
    with pytest.raises(mx.MXNetError, match="do not fit"):
        nd.Custom(x, x, op_type="loss_for_test")
    with pytest.raises(mx.MXNetError, match=r"needs an input of shape \(1,\), not \(2,\)"):
        nd.Custom(x, x, x, op_type="scaled_for_test")
    with pytest.raises(TypeError, match="needs a subclass of CustomOpProp"):
        mx.operator.register("wrong")(Scaled)
    with pytest.raises(mx.MXNetError, match="unknown req 'wirte'"):
        Scaled(1).assign(x, "wirte", 1)


def test_what_an_operator_raises_is_raised_by_the_call() -> None:
    @mx.operator.register("broken_for_test")
    class BrokenProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape: list) -> tuple:
            return in_shape, []

    with pytest.raises(mx.MXNetError, match=r"infer_shape of 'broken_for_test' returned \[1, 0, 0\] entries"):
        nd.Custom(nd.ones(2), op_type="broken_for_test")


def test_an_operator_of_no_elements() -> None:
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: list, in_data: list, out_data: list, aux: list) -> None:
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req: list, out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("twice_of_nothing")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: mx.Context, shapes: list, types: list) -> Twice:
            return Twice()

    x = nd.empty((0, 3))
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="twice_of_nothing")
    y.backward()
    assert y.shape == x.grad.shape == (0, 3)


def test_errors_of_an_operator_are_mxnet_errors_and_what_they_were() -> None:
    class Missing(KeyError):
        def __init__(self, key: str, place: int) -> None:
            super().__init__(key)
            self.place = place

    class Raising(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux) -> None:
            raise Missing("weight", 3)

    class Failing(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux) -> None:
            assert in_data[0].shape == (3,)

    for name, operator in ("raising_for_test", Raising), ("failing_for_test", Failing):

        @mx.operator.register(name)
        class Prop(mx.operator.CustomOpProp):
            made = operator

            def create_operator(self, ctx, in_shapes, in_dtypes):
                return self.made()

    with pytest.raises(mx.MXNetError, match="weight") as caught:
        nd.Custom(nd.ones(2), op_type="raising_for_test")
    assert isinstance(caught.value, Missing) and caught.value.place == 3
    assert caught.value.__notes__ == ["in forward of the operator 'raising_for_test'"]
    with pytest.raises(mx.MXNetError) as caught:
        nd.Custom(nd.ones(2), op_type="failing_for_test")
    assert isinstance(caught.value, AssertionError)


def test_an_operator_of_sparse_arrays() -> None:
    """Outputs and gradients are given to `forward` and `backward` as they are said to be stored."""
    seen = []

    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux) -> None:
            seen.append(out_data[0].stype)
            self.assign(out_data[0], req[0], nd.sparse.square(in_data[0]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux) -> None:
            seen.extend([out_grad[0].stype, in_grad[0].stype])
            self.assign(in_grad[0], req[0], 2 * in_data[0])

    @mx.operator.register("square_for_test")
    class SquareProp(mx.operator.CustomOpProp):
        def infer_storage_type(self, in_stype: list) -> tuple:
            return in_stype, in_stype, []

        def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
            return ["default"], in_stype, out_stype, in_stype, aux_stype

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Square()

    x = nd.array([[0, 2], [3, 0]]).tostype("csr")
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="square_for_test")
    y.backward()
    assert seen == ["csr", "default", "csr"] and y.stype == "csr"
    assert y.asnumpy().tolist() == [[0, 4], [9, 0]] and x.grad.asnumpy().tolist() == [[0, 4], [6, 0]]
