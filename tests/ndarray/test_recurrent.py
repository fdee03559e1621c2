"""Compiled recurrent layers: batches that are shared among tasks, their gradients, and the functions in their gates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from optgen.loops.kernel import kernel
from optgen.loops.language import Array
from runtime import MXNetError, autograd, nd
from runtime.native.formulas import expm1, sigmoid_value, tanh_value
from runtime.ndarray.rnn.stacked import GATES
from tests.ndarray.gradients import Case


@kernel
def compute(task: int, x: Array, exp: Array, s: Array, t: Array, n: int) -> None:
    for i in range(n):
        exp[i] = expm1(x[i])
        s[i] = sigmoid_value(x[i])
        t[i] = tanh_value(x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_are_exact(dtype: type) -> None:
    small = np.logspace(-12, 0, 1001)
    x = np.concatenate([np.linspace(-70, 70, 100_001), small, -small, [0]]).astype(dtype)
    found = np.empty((3, x.size), dtype)
    compute(1, 0, x, *found, x.size)
    wide = x.astype(np.longdouble)
    wanted = np.array([np.expm1(wide), 1 / (1 + np.exp(-wide)), np.tanh(wide)])
    assert_allclose(found, wanted, rtol=2 * np.finfo(dtype).eps, atol=0)


def test_exponentials_of_what_is_no_number() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    _, s, t = found = np.empty((3, x.size), np.float32)
    compute(1, 0, x, *found, x.size)
    assert_allclose(s, [1, 0, np.nan, 1, 0], atol=1e-30)
    assert_array_equal(t, [1, -1, np.nan, 1, -1])


def network(mode: str, batch: int, steps: int, projected: bool) -> tuple[list[nd.NDArray], dict]:
    """The inputs of `nd.RNN`, all of which want gradients, and its arguments."""
    inputs, hidden = 5, 6
    state = 4 if projected else hidden
    height = GATES[mode] * hidden
    size = height * (inputs + state + 2) + state * hidden * projected
    random = np.random.default_rng(batch)
    shapes = [(steps, batch, inputs), (size,), (1, batch, state), *([(1, batch, hidden)] * (mode == "lstm"))]
    arrays = [nd.array(random.standard_normal(shape), dtype="float64") for shape in shapes]
    for x in arrays:
        x.attach_grad()
    attrs = {"state_size": hidden, "num_layers": 1, "mode": mode, "state_outputs": True}
    return arrays, attrs | ({"projection_size": state} if projected else {})


CASES = [("lstm", False), ("lstm", True), ("gru", False), ("rnn_tanh", False)]


@pytest.mark.parametrize(("mode", "projected"), CASES)
def test_a_sequence_does_not_depend_on_its_batch(mode: str, projected: bool) -> None:
    arrays, attrs = network(mode, 37, 4, projected)
    data, parameters, *states = arrays
    whole = nd.RNN(*arrays, **attrs)
    for n in (0, 11, 12, 36):
        one = nd.RNN(data[:, n : n + 1], parameters, *(s[:, n : n + 1] for s in states), **attrs)
        for y, part in zip(whole, one, strict=True):
            assert_allclose(y[:, n : n + 1].asnumpy(), part.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("heads", [[0], [1], [0, 1]])
@pytest.mark.parametrize(("mode", "projected"), CASES)
def test_gradients_are_those_of_the_steps(mode: str, projected: bool, heads: list[int]) -> None:
    """With `create_graph`, gradients come from operators instead."""
    arrays, attrs = network(mode, 19, 3, projected)
    found = []
    for create_graph in (False, True):
        with autograd.record():
            y = nd.RNN(*arrays, **attrs)
            total = nd.add_n(*((y[i] * y[i]).sum() for i in heads))
            found.append(autograd.grad(total, arrays, create_graph=create_graph))
    for compiled, stepped in zip(*found, strict=True):
        assert_allclose(compiled.asnumpy(), stepped.asnumpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("mode", ["rnn_tanh", "lstm", "gru"])
def test_no_steps_leave_the_state(mode: str) -> None:
    arrays, attrs = network(mode, 2, 3, False)
    y, h, *_ = nd.RNN(arrays[0][:0], *arrays[1:], **attrs | {"state_outputs": True})
    assert len(y) == 0
    np.testing.assert_array_equal(h.asnumpy(), arrays[2].asnumpy())


def test_types_that_do_not_fit() -> None:
    arrays, attrs = network("gru", 2, 3, False)
    with pytest.raises(MXNetError, match="RNN: data must be floats, not int32"):
        nd.RNN(*(x.astype("int32") for x in arrays), **attrs)
    with pytest.raises(MXNetError, match="RNN: data is float32, states and weights float64"):
        nd.RNN(arrays[0].astype("float32"), *arrays[1:], **attrs)


def _gru(data: nd.NDArray, parameters: nd.NDArray, state: nd.NDArray) -> nd.NDArray:
    return nd.RNN(data, parameters, state, mode="gru", state_size=1, num_layers=1)


GRADIENTS = {
    "RNN": Case(
        _gru,
        [0.5 * np.random.RandomState(0).standard_normal(shape) for shape in ((3, 2, 2), (15,), (1, 2, 1))],
    )
}
"""See `test_gradients`; all modes are in tests/gluon/test_rnn.py."""
