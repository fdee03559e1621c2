"""One recurrent layer in one direction: all time steps in one operator, with its gradient through time.

Data is (T, N, C): time steps, batch, channels. The products with the inputs of all steps are one matrix product. The
loop over time has the product with the last state, and the gates: `native.recurrent` on the CPU, whose matrices are in
panels, `gpu_recurrent` on a GPU. The gradient of data that is not in the graph is not computed. The rows of the weights
are the gates, one below the other: input, forget, cell, output for LSTM (Hochreiter and Schmidhuber 1997, with forget
gates by Gers et al. 2000); reset, update, new for GRU (Cho et al. 2014, with the reset gate after the product, as cuDNN
has it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from optgen.linalg.matrices import SUMMED
from runtime import autograd
from runtime.core.backend import is_host
from runtime.core.blas import FLOPS, matmul
from runtime.native import panels
from runtime.native import recurrent as native
from runtime.native.formulas import gru_state, lstm_memory
from runtime.ndarray import elementwise as ew
from runtime.ndarray.linalg.products import dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.activation import sigmoid
from runtime.ndarray.nn.fully_connected import FullyConnected
from runtime.ndarray.operator import Operator, differentiate_again, ignore_fp_errors, in_float32, repeating
from runtime.ndarray.rnn import gpu_recurrent
from runtime.ndarray.shape.slicing import split, stack

Arrays = tuple[np.ndarray, ...]
Function = Callable[[Any], Any]


def _project(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`x w^T + b` for all steps."""
    y = matmul(x.reshape(-1, x.shape[2]), w.T)
    y += b
    return y.reshape(*x.shape[:2], len(w))


def _weight_gradients(d: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of w and b in `x w^T + b`, summed over steps and batch; d is the gradient of the result."""
    rows = d.reshape(-1, d.shape[2])
    return matmul(rows.T, x.reshape(-1, x.shape[2])), rows.sum(axis=0)


def _data_gradient(d: np.ndarray, w: np.ndarray) -> np.ndarray:
    return matmul(d.reshape(-1, d.shape[2]), w).reshape(*d.shape[:2], w.shape[1])


def _before(h0: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The state that each step started from."""
    return np.concatenate([h0[None], y[:-1]])


def _flow(g: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    """The gradient of an output as a new array; zeros for None."""
    return np.zeros_like(like) if g is None else g.copy()


LARGE_MATRIX = 1 << 18
"""The elements from which on a matrix does not stay in the second cache."""
WEIGHT_BLOCKS = 10
"""The tasks that gradients of weights are made in."""


class Sequences(NamedTuple):
    """How the sequences of a batch are shared: tasks, the sequences of each, and the work of the products of gates and
    states, of all steps. They do not depend on the number of threads."""

    tasks: int
    rows: int
    work: int


def _shared(batch: int, gates: np.ndarray, state: int) -> Sequences:
    """Two tasks at least. A tile has 8 rows; a matrix that comes from the third cache is read for 16."""
    most = 16 if gates.shape[2] * state > LARGE_MATRIX else 8
    rows = max(min(most, -(-batch // 2)), 1)
    return Sequences(-(-batch // rows), rows, 2 * gates.size * state // FLOPS)


def _projected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`x w^T` for all steps, on the CPU."""
    return panels.product(x, panels.packed(w, turned=True), len(w))


def _weights_and_data(
    di: np.ndarray, dh: np.ndarray, x: np.ndarray, h0: np.ndarray, y: np.ndarray, wi: np.ndarray, of_data: bool
) -> tuple[list[np.ndarray], Arrays]:
    """The gradients of the data, if asked for, and of the matrices and biases: (dwi, dwh, dbi, dbh). `di` and `dh` are
    those of the products with the inputs and with the states."""
    if not is_host(x):
        dwi, dbi = _weight_gradients(di, x)
        dwh, dbh = _weight_gradients(dh, _before(h0, y))
        return [_data_gradient(di, wi)] if of_data else [], (dwi, dwh, dbi, dbh)
    (steps, batch, height), inputs, state = di.shape, x.shape[2], h0.shape[1]
    dwi, dwh = np.empty((height, inputs), di.dtype), np.empty((height, state), di.dtype)
    dbi, dbh = np.empty(height, di.dtype), np.empty(height, di.dtype)
    rows = -(-height // (8 * WEIGHT_BLOCKS)) * 8
    of_x, of_h = _rows(x[:1], x[1:]), _rows(h0[None], y[:-1])
    native.weight_gradients(
        -(-height // rows), 2 * di.size * (inputs + state) // FLOPS, di, dh, of_x, of_h, dwi, dwh, dbi, dbh,
        steps * batch, height, inputs, state, rows, panels.panel_width(di.dtype), di is dh, panels.code(di.dtype),
        scratch=rows * SUMMED,
    )  # fmt: skip
    return [panels.product(di, panels.packed(wi), inputs)] if of_data else [], (dwi, dwh, dbi, dbh)


def _rows(first: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What `weight_gradients` multiplies with: panels of the rows of the first step and of those of the others."""
    _, batch, n = first.shape
    total = (len(first) + len(others)) * batch
    width = panels.panel_width(first.dtype)
    blocks = -(-n // width)
    packed = panels.aligned(blocks * width * total, first.dtype)
    tasks = -(-total // SUMMED) * blocks
    native.pack_states(tasks, total * n, first, others, packed, batch, total, n, width)
    return packed


def _without(gradients: list, x: NDArray) -> list[NDArray | None]:
    """What an operator returned, with None for the gradient of data x that is not in the graph."""
    return gradients if x._node is not None else [None, *gradients]


# ---------------------------------------------------------------- Elman


@repeating
@Operator
@in_float32
@ignore_fp_errors
def _elman(
    x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray, *, activation: str
) -> Arrays:
    """`h_t = activation(wi x_t + bi + wh h_(t-1) + bh)`: all h, and the last."""
    last = np.empty_like(h)
    if is_host(x):
        y = _projected(x, wi)
        (steps, batch, n), turned = y.shape, panels.packed(wh, turned=True)
        tasks, rows, work = _shared(batch, y, n)
        native.elman(
            tasks, work, y, h, turned, bi, bh, last, steps, batch, n, rows, _KINDS[activation], panels.code(x.dtype)
        )
    else:
        y = _project(x, wi, bi + bh)
        last[...] = gpu_recurrent.elman(y, h, wh.T.copy(), activation)
    return y, last


_KINDS = {"relu": native.RELU, "tanh": native.TANH}


@repeating
@Operator
@in_float32
def _elman_gradient(
    y: np.ndarray, x: np.ndarray, h0: np.ndarray, wi: np.ndarray, wh: np.ndarray, dy: np.ndarray | None,
    dlast: np.ndarray | None, *, activation: str, of_data: bool,
) -> Arrays:  # fmt: skip
    d = np.empty_like(y)
    if is_host(y):
        (steps, batch, n), dh = y.shape, np.empty_like(h0)
        tasks, rows, work = _shared(batch, y, n)
        native.elman_back(
            tasks, work, y, panels.packed(wh), dy, dlast, dh, d, steps, batch, n, rows, _KINDS[activation],
            dy is not None, dlast is not None, panels.code(y.dtype),
        )  # fmt: skip
    else:
        dh = gpu_recurrent.elman_back(y, wh, dy, _flow(dlast, h0), d, activation)
    dx, weights = _weights_and_data(d, d, x, h0, y, wi, of_data)
    return (*dx, dh, *weights)


@_elman.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray, activation: str) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(lambda *i: _elman_steps(*i, activation), g, inputs)
    x, h0, wi, wh, *_ = inputs
    given = x._node is not None
    return _without(_elman_gradient(y[0], x, h0, wi, wh, *g, activation=activation, of_data=given), x)


def _elman_steps(x, h, wi, wh, bi, bh, activation):  # type: ignore[no-untyped-def]
    states = []
    for step in x:
        a = FullyConnected(step, wi, bi) + FullyConnected(h, wh, bh)
        h = ew.tanh(a) if activation == "tanh" else ew.maximum(a, 0)
        states.append(h)
    return [stack(*states), h]


# ---------------------------------------------------------------- LSTM


@repeating
@Operator
@in_float32
def _lstm(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray,
    wr: np.ndarray | None,
) -> Arrays:  # fmt: skip
    """`c_t = f c_(t-1) + i g`, `h_t = o tanh(c_t)`: all h, the last h and c, all c, and all gates.

    With `wr`, (projected, hidden), the state is `wr h_t`.
    """
    (steps, batch, _), n, state = x.shape, c.shape[1], h.shape[1]
    cells, y = np.empty_like(x, shape=(steps, batch, n)), np.empty_like(x, shape=(steps, batch, state))
    last_h, last_c = np.empty_like(h), np.empty_like(c)
    if is_host(x):
        gates = _projected(x, wi)
        turned, wr_turned = (None if w is None else panels.packed(w, turned=True) for w in (wh, wr))
        tasks, rows, work = _shared(batch, gates, state)
        native.lstm(
            tasks, work, gates, h, c, turned, bi, bh, wr_turned, cells, y, last_h, last_c,
            steps, batch, n, state, rows, wr is not None, panels.code(x.dtype), scratch=rows * n,
        )  # fmt: skip
    else:
        gates = _project(x, wi, bi + bh)
        last_h[...], last_c[...] = gpu_recurrent.lstm(gates, h, c, wh.T.copy(), wr, cells, y)
    return y, last_h, last_c, cells, gates


@repeating
@Operator
@in_float32
def _lstm_gradient(
    y: np.ndarray, cells: np.ndarray, gates: np.ndarray, x: np.ndarray, h0: np.ndarray, c0: np.ndarray,
    wi: np.ndarray, wh: np.ndarray, wr: np.ndarray | None, dy: np.ndarray | None, dlast_h: np.ndarray | None,
    dlast_c: np.ndarray | None, dcells: np.ndarray | None, *, of_data: bool,
) -> Arrays:  # fmt: skip
    d = np.empty_like(gates)
    (steps, batch, n), state = cells.shape, h0.shape[1]
    projects = wr is not None
    if is_host(gates):
        dh, dc, dstates = np.empty_like(h0), np.empty_like(c0), np.empty_like(y) if projects else None
        tasks, rows, work = _shared(batch, gates, state)
        native.lstm_back(
            tasks, work, gates, cells, c0, panels.packed(wh), panels.packed(wr) if projects else None,
            dy, dcells, dlast_h, dlast_c, dh, dc, d, dstates, steps, batch, n, state, rows, projects,
            *(x is not None for x in (dy, dcells, dlast_h, dlast_c)), panels.code(d.dtype), scratch=rows * n,
        )  # fmt: skip
    else:
        dstates = _flow(dy, y) if projects else dy
        flows = _flow(dlast_h, h0), _flow(dlast_c, c0)
        dh, dc = gpu_recurrent.lstm_back(gates, cells, c0, wh, wr, dstates, dcells, *flows, d)
    dx, weights = _weights_and_data(d, d, x, h0, y, wi, of_data)
    of_wr = (_weight_gradients(dstates, gates[..., 3 * n :] * np.tanh(cells))[0],) if projects else ()
    return (*dx, dh, dc, *weights, *of_wr)


@_lstm.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(_lstm_steps, g, inputs)
    x, h0, c0, wi, wh, _, _, wr = inputs
    given = x._node is not None
    return _without(_lstm_gradient(y[0], y[3], y[4], x, h0, c0, wi, wh, wr, *g[:4], of_data=given), x)


def lstm_step(gates: Iterable[Any], c: Any, gate: Function, activation: Function) -> tuple[Any, Any]:
    """The new h and c of long short-term memory; `gates` are the sums for input, forget, cell and output."""
    i, f, g, o = gates
    c = lstm_memory.python(gate(f), c, gate(i), activation(g))
    return gate(o) * activation(c), c


def _lstm_steps(x, h, c, wi, wh, bi, bh, wr):  # type: ignore[no-untyped-def]
    states, cells = [], []
    for step in x:
        gates = split(FullyConnected(step, wi, bi) + FullyConnected(h, wh, bh), 4, axis=1)
        h, c = lstm_step(gates, c, sigmoid, ew.tanh)
        h = h if wr is None else dot(h, wr, transpose_b=True)
        states.append(h)
        cells.append(c)
    return [stack(*states), h, c, stack(*cells)]


# ---------------------------------------------------------------- GRU


@repeating
@Operator
@in_float32
def _gru(x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray) -> Arrays:
    """`n = tanh(wi_n x_t + bi_n + r (wh_n h_(t-1) + bh_n))`, `h_t = (1 - z) n + z h_(t-1)`.

    All h, the last, all gates, and all `wh_n h_(t-1) + bh_n`.
    """
    (steps, batch, _), n = x.shape, h.shape[1]
    y, kept, last = (np.empty_like(x, shape=(*outer, n)) for outer in ((steps, batch), (steps, batch), (batch,)))
    if is_host(x):
        gates, turned = _projected(x, wi), panels.packed(wh, turned=True)
        tasks, rows, work = _shared(batch, gates, n)
        native.gru(
            tasks, work, gates, h, turned, bi, bh, kept, y, last, steps, batch, n, rows, panels.code(x.dtype),
            scratch=rows * 3 * n,
        )  # fmt: skip
    else:
        gates = _project(x, wi, bi)
        last[...] = gpu_recurrent.gru(gates, h, wh.T.copy(), bh, kept, y)
    return y, last, gates, kept


@repeating
@Operator
@in_float32
def _gru_gradient(
    y: np.ndarray, gates: np.ndarray, kept: np.ndarray, x: np.ndarray, h0: np.ndarray, wi: np.ndarray,
    wh: np.ndarray, dy: np.ndarray | None, dlast: np.ndarray | None, *, of_data: bool,
) -> Arrays:  # fmt: skip
    d, dproduct = np.empty_like(gates), np.empty_like(gates)
    steps, batch, n = y.shape
    if is_host(gates):
        dh = np.empty_like(h0)
        tasks, rows, work = _shared(batch, gates, n)
        native.gru_back(
            tasks, work, gates, kept, y, h0, panels.packed(wh), dy, dlast, dh, d, dproduct, steps, batch, n, rows,
            dy is not None, dlast is not None, panels.code(d.dtype),
        )  # fmt: skip
    else:
        dh = gpu_recurrent.gru_back(gates, kept, y, h0, wh, dy, _flow(dlast, h0), d, dproduct)
    dx, weights = _weights_and_data(d, dproduct, x, h0, y, wi, of_data)
    return (*dx, dh, *weights)


@_gru.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(_gru_steps, g, inputs)
    x, h0, wi, wh, *_ = inputs
    return _without(_gru_gradient(y[0], y[2], y[3], x, h0, wi, wh, *g[:2], of_data=x._node is not None), x)


def gru_step(i: Iterable[Any], h: Iterable[Any], before: Any, gate: Function, activation: Function) -> Any:
    """The new state of gated recurrent units; `i` and `h` are the products of reset, update and new gate."""
    (ir, iz, inew), (hr, hz, hnew) = i, h
    new = activation(inew + gate(ir + hr) * hnew)
    return gru_state.python(new, gate(iz + hz), before)


def _gru_steps(x, h, wi, wh, bi, bh):  # type: ignore[no-untyped-def]
    states = []
    for step in x:
        products = split(FullyConnected(step, wi, bi), 3, axis=1), split(FullyConnected(h, wh, bh), 3, axis=1)
        h = gru_step(*products, h, sigmoid, ew.tanh)
        states.append(h)
    return [stack(*states), h]
