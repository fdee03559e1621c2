"""The loops over time of recurrent layers on a GPU, forwards and backwards, in array operations.

They compute what `native.recurrent` computes on the CPU. Time is the first axis: `x[t]` is (batch, ...).
`recurrent` has the formulas and says what the arrays are. Results are written into arrays that are arguments; the
last states, and backwards the gradients of the first ones, are returned.
"""

from __future__ import annotations

import numpy as np

from runtime.core.blas import matmul
from runtime.native.formulas import gru_state, lstm_memory, sigmoid_gradient, tanh_gradient
from runtime.ndarray.nn.activation import sigmoid
from runtime.ndarray.operator import ignore_fp_errors


def _parts(x: np.ndarray, count: int) -> list[np.ndarray]:
    """The gates of one step, (batch, count*n), as views of (batch, n)."""
    n = x.shape[1] // count
    return [x[:, k * n : (k + 1) * n] for k in range(count)]


def _before(first: np.ndarray, states: np.ndarray, t: int) -> np.ndarray:
    """The state that step t starts from."""
    return states[t - 1] if t else first


# ---------------------------------------------------------------- Elman


@ignore_fp_errors
def elman(y: np.ndarray, h: np.ndarray, turned: np.ndarray, activation: str) -> np.ndarray:
    """Computes the states from the products with the inputs, which are in y. `turned` is wh^T."""
    for step in y:
        step += matmul(h, turned)
        h = np.tanh(step, out=step) if activation == "tanh" else np.maximum(step, 0, out=step)
    return h


def elman_back(
    y: np.ndarray, wh: np.ndarray, dy: np.ndarray | None, dh: np.ndarray, d: np.ndarray, activation: str
) -> np.ndarray:
    """Writes the gradient of the activation's arguments to `d`. `dh` is that of the last state."""
    for t in reversed(range(len(y))):
        if dy is not None:
            dh = dh + dy[t]
        d[t] = tanh_gradient.python(dh, y[t]) if activation == "tanh" else dh * (y[t] > 0)
        dh = matmul(d[t], wh)
    return dh


# ---------------------------------------------------------------- LSTM


@ignore_fp_errors
def lstm(
    gates: np.ndarray, h: np.ndarray, c: np.ndarray, turned: np.ndarray, wr: np.ndarray | None, cells: np.ndarray,
    y: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Computes gates, cells and states from the products with the inputs, which are in `gates`. `turned` is wh^T."""
    for t, gate in enumerate(gates):
        gate += matmul(h, turned)
        i, f, g, o = _parts(gate, 4)
        i[...], f[...], o[...] = (sigmoid.forward(x) for x in (i, f, o))
        np.tanh(g, out=g)
        cells[t] = c = lstm_memory.python(f, c, i, g)
        hidden = o * np.tanh(c)
        y[t] = h = hidden if wr is None else matmul(hidden, wr.T)
    return h, c


def lstm_back(
    gates: np.ndarray, cells: np.ndarray, c0: np.ndarray, wh: np.ndarray, wr: np.ndarray | None,
    dy: np.ndarray | None, dcells: np.ndarray | None, dh: np.ndarray, dc: np.ndarray, d: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Writes the gradient of the gates to `d`, and that of each state, if states are projected, to `dy`.

    `dh` and `dc` are the gradients of the last states. Returns those of the first.
    """
    for t in reversed(range(len(gates))):
        i, f, g, o = _parts(gates[t], 4)
        di, df, dg, do = _parts(d[t], 4)
        if dy is not None:
            dh = dh + dy[t]
        if dcells is not None:
            dc = dc + dcells[t]
        dhidden = dh
        if wr is not None:
            dy[t] = dh
            dhidden = matmul(dh, wr)
        c = np.tanh(cells[t])
        dc = dc + tanh_gradient.python(dhidden * o, c)
        di[...] = sigmoid_gradient.python(dc * g, i)
        df[...] = sigmoid_gradient.python(dc * _before(c0, cells, t), f)
        dg[...] = tanh_gradient.python(dc * i, g)
        do[...] = sigmoid_gradient.python(dhidden * c, o)
        dc = dc * f
        dh = matmul(d[t], wh)
    return dh, dc


# ---------------------------------------------------------------- GRU


@ignore_fp_errors
def gru(
    gates: np.ndarray, h: np.ndarray, turned: np.ndarray, bias: np.ndarray, kept: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Computes gates and states from the products with the inputs, which are in `gates`.

    `kept` gets the part of the product with the last state that the reset gate multiplies. `turned` is wh^T.
    """
    for t, gate in enumerate(gates):
        product = matmul(h, turned)
        product += bias
        r, z, new = _parts(gate, 3)
        pr, pz, pnew = _parts(product, 3)
        r[...], z[...], kept[t] = sigmoid.forward(r + pr), sigmoid.forward(z + pz), pnew
        new += r * pnew
        np.tanh(new, out=new)
        y[t] = h = gru_state.python(new, z, h)
    return h


def gru_back(
    gates: np.ndarray, kept: np.ndarray, y: np.ndarray, h0: np.ndarray, wh: np.ndarray, dy: np.ndarray | None,
    dh: np.ndarray, d: np.ndarray, dproduct: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Writes the gradients of the products with the inputs and with the states to `d` and `dproduct`.

    `dh` is the gradient of the last state. Returns that of the first.
    """
    for t in reversed(range(len(gates))):
        r, z, new = _parts(gates[t], 3)
        dr, dz, dnew = _parts(d[t], 3)
        if dy is not None:
            dh = dh + dy[t]
        dnew[...] = tanh_gradient.python(dh * (1 - z), new)
        dz[...] = sigmoid_gradient.python(dh * (_before(h0, y, t) - new), z)
        dr[...] = sigmoid_gradient.python(dnew * kept[t], r)
        dproduct[t] = d[t]
        _parts(dproduct[t], 3)[2][...] *= r
        dh = dh * z + matmul(dproduct[t], wh)
    return dh
