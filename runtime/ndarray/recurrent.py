"""One recurrent layer in one direction: all time steps in one operator, with its gradient through time.

Data is (T, N, C): time steps, batch, channels. The products with the inputs of all steps are one matrix product; what
is left in the loop over time is the product with the last state, and the gates. The rows of the weights are the gates,
one below the other: input, forget, cell, output for LSTM (Hochreiter and Schmidhuber 1997, with forget gates by Gers
et al. 2000); reset, update, new for GRU (Cho et al. 2014, with the reset gate after the product, as cuDNN has it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime import autograd
from runtime.blas import matmul
from runtime.ndarray import elementwise as ew
from runtime.ndarray.activation import sigmoid
from runtime.ndarray.layers import FullyConnected
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, differentiate_again, in_float32, quiet
from runtime.ndarray.products import dot
from runtime.ndarray.slicing import split, stack

Arrays = tuple[np.ndarray, ...]


def _project(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`x w^T + b` for all steps."""
    y = matmul(x.reshape(-1, x.shape[2]), w.T)
    y += b
    return y.reshape(*x.shape[:2], -1)


def _weight_gradients(d: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of `x w^T + b`, from what flows into it: the gradients of w and b, summed over steps and batch."""
    rows = d.reshape(-1, d.shape[2])
    return matmul(rows.T, x.reshape(-1, x.shape[2])), rows.sum(axis=0)


def _data_gradient(d: np.ndarray, w: np.ndarray) -> np.ndarray:
    return matmul(d.reshape(-1, d.shape[2]), w).reshape(*d.shape[:2], -1)


def _before(h0: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The state that each step started from."""
    return np.concatenate([h0[None], y[:-1]])


def _flow(g: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    """What flows into an output, as an array: zeros where nothing did."""
    return np.zeros_like(like) if g is None else g.copy()


def _sigmoid(x: np.ndarray) -> None:
    """In place: `1/(1 + exp(-x))`."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


# ---------------------------------------------------------------- Elman


@Operator
@in_float32
@quiet
def _elman(
    x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray, *, activation: str
) -> Arrays:
    """`h_t = activation(wi x_t + bi + wh h_(t-1) + bh)`: all h, and the last."""
    y = _project(x, wi, bi + bh)
    for step in y:
        step += matmul(h, wh.T)
        h = np.tanh(step, out=step) if activation == "tanh" else np.maximum(step, 0, out=step)
    return y, y[-1].copy()


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
@quiet
def _lstm(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray,
    wr: np.ndarray | None,
) -> Arrays:  # fmt: skip
    """`c_t = f c_(t-1) + i g`, `h_t = o tanh(c_t)`: all h, the last h and c, all c, and all gates.

    With `wr`, (projected, hidden), the state is `wr h_t`.
    """
    gates = _project(x, wi, bi + bh)
    n = c.shape[1]
    cells = np.empty((*x.shape[:2], n), x.dtype)
    y = np.empty((*x.shape[:2], h.shape[1]), x.dtype)
    for t, gate in enumerate(gates):
        gate += matmul(h, wh.T)
        _sigmoid(gate[:, : 2 * n])
        np.tanh(gate[:, 2 * n : 3 * n], out=gate[:, 2 * n : 3 * n])
        _sigmoid(gate[:, 3 * n :])
        i, f, g, o = _gates(gate, n)
        np.multiply(f, c, out=cells[t])
        cells[t] += i * g
        c = cells[t]
        hidden = o * np.tanh(c)
        y[t] = hidden if wr is None else matmul(hidden, wr.T)
        h = y[t]
    return y, h.copy(), c.copy(), cells, gates


def _gates(gate: np.ndarray, n: int) -> Iterator[np.ndarray]:
    return (gate[..., k : k + n] for k in range(0, gate.shape[-1], n))


@Operator
@in_float32
def _lstm_gradient(
    y: np.ndarray, cells: np.ndarray, gates: np.ndarray, x: np.ndarray, h0: np.ndarray, c0: np.ndarray,
    wi: np.ndarray, wh: np.ndarray, wr: np.ndarray | None, dy: np.ndarray | None, dh: np.ndarray | None,
    dc: np.ndarray | None, dcells: np.ndarray | None,
) -> Arrays:  # fmt: skip
    d = np.empty_like(gates)
    dh, dc = _flow(dh, h0), _flow(dc, c0)
    n = c0.shape[1]
    tanh = np.tanh(cells)
    projected = np.empty_like(y)
    for t in reversed(range(len(y))):
        if dy is not None:
            dh += dy[t]
        projected[t] = dh
        dhidden = dh if wr is None else matmul(dh, wr)
        i, f, g, o = _gates(gates[t], n)
        di, df, dg, do = _gates(d[t], n)
        if dcells is not None:
            dc += dcells[t]
        dc += dhidden * o * (1 - tanh[t] * tanh[t])
        np.multiply(dc * g, i * (1 - i), out=di)
        np.multiply(dc * (cells[t - 1] if t else c0), f * (1 - f), out=df)
        np.multiply(dc * i, 1 - g * g, out=dg)
        np.multiply(dhidden * tanh[t], o * (1 - o), out=do)
        dc = dc * f
        dh = matmul(d[t], wh)
    dwi, db = _weight_gradients(d, x)
    dwh, _ = _weight_gradients(d, _before(h0, y))
    result = (_data_gradient(d, wi), dh, dc, dwi, dwh, db, db.copy())
    return result if wr is None else (*result, _weight_gradients(projected, gates[..., 3 * n :] * tanh)[0])


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
@quiet
def _gru(x: np.ndarray, h: np.ndarray, wi: np.ndarray, wh: np.ndarray, bi: np.ndarray, bh: np.ndarray) -> Arrays:
    """`n = tanh(wi_n x_t + bi_n + r (wh_n h_(t-1) + bh_n))`, `h_t = (1 - z) n + z h_(t-1)`.

    All h, the last, all gates, and all `wh_n h_(t-1) + bh_n`.
    """
    gates = _project(x, wi, bi)
    n = h.shape[1]
    y = np.empty((*x.shape[:2], n), x.dtype)
    recurrent = np.empty_like(y)
    for t, gate in enumerate(gates):
        product = matmul(h, wh.T)
        product += bh
        rz = gate[:, : 2 * n]
        rz += product[:, : 2 * n]
        _sigmoid(rz)
        recurrent[t] = product[:, 2 * n :]
        r, z, new = _gates(gate, n)
        new += r * recurrent[t]
        np.tanh(new, out=new)
        y[t] = new + z * (h - new)
        h = y[t]
    return y, h.copy(), gates, recurrent


@Operator
@in_float32
def _gru_gradient(
    y: np.ndarray, gates: np.ndarray, recurrent: np.ndarray, x: np.ndarray, h0: np.ndarray, wi: np.ndarray,
    wh: np.ndarray, dy: np.ndarray | None, dh: np.ndarray | None,
) -> Arrays:  # fmt: skip
    d, dproduct = np.empty_like(gates), np.empty_like(gates)
    before = _before(h0, y)
    dh = _flow(dh, h0)
    n = h0.shape[1]
    for t in reversed(range(len(y))):
        if dy is not None:
            dh += dy[t]
        r, z, new = _gates(gates[t], n)
        dr, dz, dnew = _gates(d[t], n)
        np.multiply(dh * (1 - z), 1 - new * new, out=dnew)
        np.multiply(dh * (before[t] - new), z * (1 - z), out=dz)
        np.multiply(dnew * recurrent[t], r * (1 - r), out=dr)
        dproduct[t] = d[t]
        dproduct[t, :, 2 * n :] *= r
        dh = dh * z + matmul(dproduct[t], wh)
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
