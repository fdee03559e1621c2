"""Operators written in Python, as nodes of graphs."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import test_utils as tools

A = np.array([[1.0, 2], [3, 4]])
X, Y = mx.sym.var("x"), mx.sym.var("y")


@mx.operator.register("scaled_square")
class _Square(mx.operator.CustomOpProp):
    """`scale x^2`, and the count of its calls."""

    def __init__(self, scale: str = "1") -> None:
        super().__init__()
        self.scale = float(scale)

    def list_auxiliary_states(self) -> list[str]:
        return ["calls"]

    def infer_shape(self, in_shape: list) -> tuple:
        return in_shape, [in_shape[0]], [[1]]

    def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> mx.operator.CustomOp:
        prop = self

        class Operator(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
                aux[0][:] += 1
                self.assign(out_data[0], req[0], prop.scale * in_data[0] ** 2)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):  # type: ignore[no-untyped-def]
                self.assign(in_grad[0], req[0], 2 * prop.scale * in_data[0] * out_grad[0])

        return Operator()


def test_operators_written_in_python() -> None:
    square = mx.sym.Custom(X, op_type="scaled_square", scale=3, name="sq")
    assert (square.list_arguments(), square.list_outputs()) == (["x"], ["sq_output"])
    assert square.list_auxiliary_states() == ["sq_calls"]
    assert square.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [(1,)])
    assert square.infer_type(x="float64") == ([np.float64], [np.float64], [np.float64])
    assert square.infer_shape_partial() == ([()], [()], [()])
    tools.check_symbolic_forward(square, [A], [3 * A * A], aux_states=[np.zeros(1)])
    tools.check_numeric_gradient(mx.sym.load_json(square.tojson()) + 1, [A], [np.zeros(1)], numeric_eps=0.01, rtol=0.01)
    executor = square.simple_bind(mx.cpu(), x=(2, 2))
    executor.forward()
    executor.forward()
    assert executor.aux_dict["sq_calls"].asscalar() == 2
    assert mx.sym.Custom(data=X, calls=Y, op_type="scaled_square").list_auxiliary_states() == ["y"]
    with pytest.raises(mx.MXNetError, match="no operator 'scaled_squares' is registered; did you mean"):
        mx.sym.Custom(X, op_type="scaled_squares")
    assert {"Activation", "scaled_square"} < set(mx.operator.get_all_registered_operators())
    arguments = mx.operator.get_operator_arguments("Activation")
    assert arguments.narg == 2 and arguments.names == ["data", "act_type"]
    assert arguments.types == ["NDArray-or-Symbol", "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required"]


@mx.operator.register("counted")
class _Counted(mx.operator.CustomOpProp):
    def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> mx.operator.CustomOp:
        class Operator(mx.operator.CustomOp):
            """`x` times the number of passes, whose gradient is that number."""

            passes = 0

            def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
                self.passes += 1
                self.assign(out_data[0], req[0], self.passes * in_data[0])

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):  # type: ignore[no-untyped-def]
                self.assign(in_grad[0], req[0], self.passes * out_grad[0])

        return Operator()


def test_an_executor_makes_an_operator_once() -> None:
    graph = mx.sym.Custom(X, op_type="counted") + 10 * mx.sym.Custom(X, op_type="counted")
    executor = graph.simple_bind(mx.cpu(), x=(1,))
    executor.arg_dict["x"][:] = 1
    for passes in (1, 2, 3):
        assert executor.forward(is_train=True)[0].asscalar() == 11 * passes
        executor.backward()
        assert executor.grad_dict["x"].asscalar() == 11 * passes
    assert graph.eval(x=mx.nd.ones((1,)))[0].asscalar() == 11  # another executor
    loop, _ = mx.sym.contrib.foreach(lambda x, s: (mx.sym.Custom(x, op_type="counted"), s), X, [])
    assert loop.eval(x=mx.nd.ones((2, 1)))[0].asnumpy().tolist() == [[1], [1]]  # one for each turn


class _Softmax(mx.operator.NumpyOp):
    """The example of MXNet's documents: softmax, and the gradient of its cross-entropy."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: list) -> tuple[list, list]:
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]]

    def forward(self, in_data: list, out_data: list) -> None:
        y = np.exp(in_data[0] - in_data[0].max(axis=1, keepdims=True))
        out_data[0][:] = y / y.sum(axis=1, keepdims=True)

    def backward(self, out_grad: list, in_data: list, out_data: list, in_grad: list) -> None:
        in_grad[0][:] = out_data[0] - np.eye(out_data[0].shape[1])[in_data[1].astype(int)]


class _Squared(mx.operator.NDArrayOp):
    def forward(self, in_data: list, out_data: list) -> None:
        out_data[0][:] = in_data[0] * in_data[0]

    def backward(self, out_grad: list, in_data: list, out_data: list, in_grad: list) -> None:
        in_grad[0][:] = 2 * in_data[0] * out_grad[0]


def test_operators_of_old_programs() -> None:
    with pytest.warns(DeprecationWarning, match="use CustomOp"):
        softmax, square = _Softmax(), _Squared()
    graph = softmax(data=X, name="softmax")
    assert graph.list_arguments() == ["x", "softmax_label"] and graph.infer_shape(x=(2, 3))[0] == [(2, 3), (2,)]
    found = [symbol.simple_bind(mx.cpu(), x=(2, 2)) for symbol in (graph, mx.sym.SoftmaxOutput(data=X, name="softmax"))]
    for executor in found:
        executor.forward(is_train=True, x=mx.nd.array(A), softmax_label=mx.nd.array([1, 0]))
        executor.backward()
    for y, z in zip(*((x.outputs[0], x.grad_dict["x"]) for x in found), strict=True):
        np.testing.assert_allclose(y.asnumpy(), z.asnumpy(), 1e-6)
    tools.check_numeric_gradient(square(X) * 3, [A], numeric_eps=0.01, rtol=0.01)
