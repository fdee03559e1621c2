"""One recurrent layer in one direction: all time steps in one operator, with its gradient through time.

Data is (T, N, C): time steps, batch, channels. The products with the inputs of all steps are one matrix product. The
loop over time has the product with the last state, and the gates: `native.recurrent` on the CPU, `gpu_recurrent`
on a GPU. The rows of the weights are the gates, one below the other: input, forget, cell, output for LSTM
(Hochreiter and Schmidhuber 1997, with forget gates by Gers et al. 2000); reset, update, new for GRU (Cho et al. 2014,
with the reset gate after the product, as cuDNN has it).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import autograd
from runtime.core.backend import is_host
from runtime.core.blas import FLOPS, matmul
from runtime.native import recurrent as native
from runtime.ndarray import elementwise as ew
from runtime.ndarray.linalg.products import dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.activation import sigmoid
from runtime.ndarray.nn.fully_connected import FullyConnected
from runtime.ndarray.operator import Operator, differentiate_again, ignore_fp_errors, in_float32
from runtime.ndarray.rnn import gpu_recurrent
from runtime.ndarray.shape.slicing import split, stack

Arrays = tuple[np.ndarray, ...]


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


def _last(y: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The state after all steps."""
    return (y[-1] if len(y) else first).copy()


def _shared(batch: int) -> tuple[int, int]:
    """The number of tasks of a batch, and the sequences of each. They do not depend on the number of threads.

    A product with fewer than 16 rows is hardly faster than one with 16.
    """
    tasks = -(-batch // (16 if batch > 16 else 8))
    rows = -(-batch // max(tasks, 1))
    return tasks, rows


def _work(d: np.ndarray, state: int) -> int:
    """The work of the products, for all steps, of gates and states."""
    return 2 * d.size * state // FLOPS


# ---------------------------------------------------------------- Elman


@Operator
@in_float32
@ignore_fp_errors
def _elman(
    x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray, *, activation: str
) -> Arrays:
    """`h_t = activation(wi x_t + bi + wh h_(t-1) + bh)`: all h, and the last."""
    y = _project(x, wi, bi + bh)
    turned = wh.T.copy()  # contiguous: its products are faster
    for step in y:
        step += matmul(h, turned)
        h = np.tanh(step, out=step) if activation == "tanh" else np.maximum(step, 0, out=step)
    return y, h.copy()


@Operator
@in_float32
def _elman_gradient(
    y: np.ndarray, x: np.ndarray, h0: np.ndarray, wi: np.ndarray, wh: np.ndarray, dy: np.ndarray | None,
    dh: np.ndarray | None, *, activation: str,
) -> Arrays:  # fmt: skip
    d = np.empty_like(y)
    dh = _flow(dh, h0)
    for t in reversed(range(len(y))):
        if dy is not None:
            dh += dy[t]
        d[t] = dh * (1 - y[t] * y[t] if activation == "tanh" else y[t] > 0)
        dh = matmul(d[t], wh)
    dwi, db = _weight_gradients(d, x)
    dwh, _ = _weight_gradients(d, _before(h0, y))
    return _data_gradient(d, wi), dh, dwi, dwh, db, db.copy()


@_elman.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray, activation: str) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(lambda *i: _elman_steps(*i, activation), g, inputs)
    x, h0, wi, wh, *_ = inputs
    return _elman_gradient(y[0], x, h0, wi, wh, *g, activation=activation)


def _elman_steps(x, h, wi, wh, bi, bh, activation):  # type: ignore[no-untyped-def]
    states = []
    for step in x:
        a = FullyConnected(step, wi, bi) + FullyConnected(h, wh, bh)
        h = ew.tanh(a) if activation == "tanh" else ew.maximum(a, 0)
        states.append(h)
    return [stack(*states), h]


# ---------------------------------------------------------------- LSTM


@Operator
@in_float32
def _lstm(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray,
    wr: np.ndarray | None,
) -> Arrays:  # fmt: skip
    """`c_t = f c_(t-1) + i g`, `h_t = o tanh(c_t)`: all h, the last h and c, all c, and all gates.

    With `wr`, (projected, hidden), the state is `wr h_t`.
    """
    gates = _project(x, wi, bi + bh)
    (steps, batch, _), n, state = x.shape, c.shape[1], h.shape[1]
    cells, y = np.empty_like(x, shape=(steps, batch, n)), np.empty_like(x, shape=(steps, batch, state))
    turned = wh.T.copy()
    if is_host(x):
        tasks, rows = _shared(batch)
        native.lstm(
            tasks, _work(gates, state), gates, h, c, turned, wr, cells, y,
            steps, batch, n, state, rows, wr is not None, scratch=rows * n,
        )  # fmt: skip
    else:
        gpu_recurrent.lstm(gates, h, c, turned, wr, cells, y)
    return y, _last(y, h), _last(cells, c), cells, gates


@Operator
@in_float32
def _lstm_gradient(
    y: np.ndarray, cells: np.ndarray, gates: np.ndarray, x: np.ndarray, h0: np.ndarray, c0: np.ndarray,
    wi: np.ndarray, wh: np.ndarray, wr: np.ndarray | None, dy: np.ndarray | None, dh: np.ndarray | None,
    dc: np.ndarray | None, dcells: np.ndarray | None,
) -> Arrays:  # fmt: skip
    d = np.empty_like(gates)
    dh, dc = _flow(dh, h0), _flow(dc, c0)
    (steps, batch, n), state = cells.shape, h0.shape[1]
    projects = wr is not None
    has_dy = dy is not None
    if projects:
        dy = _flow(dy, y)  # to be written to
    if is_host(gates):
        tasks, rows = _shared(batch)
        native.lstm_back(
            tasks, _work(gates, state), gates, cells, c0, wh, wr, dy, dcells, dh, dc, d,
            steps, batch, n, state, rows, projects, has_dy, dcells is not None, scratch=rows * n,
        )  # fmt: skip
    else:
        dh, dc = gpu_recurrent.lstm_back(gates, cells, c0, wh, wr, dy, dcells, dh, dc, d)
    dwi, db = _weight_gradients(d, x)
    dwh, _ = _weight_gradients(d, _before(h0, y))
    result = (_data_gradient(d, wi), dh, dc, dwi, dwh, db, db.copy())
    return (*result, _weight_gradients(dy, gates[..., 3 * n :] * np.tanh(cells))[0]) if projects else result


@_lstm.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(_lstm_steps, g, inputs)
    x, h0, c0, wi, wh, _, _, wr = inputs
    return _lstm_gradient(y[0], y[3], y[4], x, h0, c0, wi, wh, wr, *g[:4])


def _lstm_steps(x, h, c, wi, wh, bi, bh, wr):  # type: ignore[no-untyped-def]
    states, cells = [], []
    for step in x:
        i, f, g, o = split(FullyConnected(step, wi, bi) + FullyConnected(h, wh, bh), 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * ew.tanh(g)
        h = sigmoid(o) * ew.tanh(c)
        h = h if wr is None else dot(h, wr, transpose_b=True)
        states.append(h)
        cells.append(c)
    return [stack(*states), h, c, stack(*cells)]


# ---------------------------------------------------------------- GRU


@Operator
@in_float32
def _gru(x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray) -> Arrays:
    """`n = tanh(wi_n x_t + bi_n + r (wh_n h_(t-1) + bh_n))`, `h_t = (1 - z) n + z h_(t-1)`.

    All h, the last, all gates, and all `wh_n h_(t-1) + bh_n`.
    """
    gates = _project(x, wi, bi)
    (steps, batch, _), n = x.shape, h.shape[1]
    y, kept = np.empty_like(x, shape=(steps, batch, n)), np.empty_like(x, shape=(steps, batch, n))
    turned = wh.T.copy()
    if is_host(x):
        tasks, rows = _shared(batch)
        native.gru(
            tasks, _work(gates, n), gates, h, turned, bh, kept, y, steps, batch, n, rows, scratch=rows * 3 * n
        )  # fmt: skip
    else:
        gpu_recurrent.gru(gates, h, turned, bh, kept, y)
    return y, _last(y, h), gates, kept


@Operator
@in_float32
def _gru_gradient(
    y: np.ndarray, gates: np.ndarray, kept: np.ndarray, x: np.ndarray, h0: np.ndarray, wi: np.ndarray,
    wh: np.ndarray, dy: np.ndarray | None, dh: np.ndarray | None,
) -> Arrays:  # fmt: skip
    d, dproduct = np.empty_like(gates), np.empty_like(gates)
    dh = _flow(dh, h0)
    steps, batch, n = y.shape
    if is_host(gates):
        tasks, rows = _shared(batch)
        native.gru_back(
            tasks, _work(gates, n), gates, kept, y, h0, wh, dy, dh, d, dproduct, steps, batch, n, rows, dy is not None
        )
    else:
        dh = gpu_recurrent.gru_back(gates, kept, y, h0, wh, dy, dh, d, dproduct)
    before = _before(h0, y)
    return _data_gradient(d, wi), dh, *_interleaved(_weight_gradients(d, x), _weight_gradients(dproduct, before))


def _interleaved(i: tuple[Any, Any], h: tuple[Any, Any]) -> tuple[Any, ...]:
    return i[0], h[0], i[1], h[1]


@_gru.joint_gradient
def _(g: list, y: list[NDArray], *inputs: NDArray) -> list[NDArray | None]:
    if autograd.is_recording():
        return differentiate_again(_gru_steps, g, inputs)
    x, h0, wi, wh, *_ = inputs
    return _gru_gradient(y[0], y[2], y[3], x, h0, wi, wh, *g[:2])


def _gru_steps(x, h, wi, wh, bi, bh):  # type: ignore[no-untyped-def]
    states = []
    for step in x:
        ir, iz, inew = split(FullyConnected(step, wi, bi), 3, axis=1)
        hr, hz, hnew = split(FullyConnected(h, wh, bh), 3, axis=1)
        new = ew.tanh(inew + sigmoid(ir + hr) * hnew)
        h = new + sigmoid(iz + hz) * (h - new)
        states.append(h)
    return [stack(*states), h]
