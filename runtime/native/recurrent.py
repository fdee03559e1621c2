"""Recurrent layers through time, forwards and backwards: step by step, the product with the last state, then the gates.

The sequences of a batch do not depend on each other, so a task takes `rows` of them, from row `task*rows` on, through
all steps, and threads never wait for each other. The first axis is time: (steps, batch, ...). n is the number of hidden
units, and `state` the length of a state: n, or less where states are projected. The formulas are those of
`runtime.ndarray.rnn.recurrent`. Names that begin with d are gradients with respect to what follows.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, TRANS, Array, function, gemm
from runtime.native.exponential import sigmoid, tanh
from runtime.native.vectors import accumulate, copy

# ---------------------------------------------------------------- LSTM


@function
def lstm_cell(i: Array, f: Array, g: Array, o: Array, before: Array, cell: Array, hidden: Array, n: int) -> None:
    """One step of one sequence. i, f, g and o hold the arguments of the gates, which their values replace."""
    for k in range(n):
        i[k] = sigmoid(i[k])
        f[k] = sigmoid(f[k])
        g[k] = tanh(g[k])
        o[k] = sigmoid(o[k])
        cell[k] = f[k] * before[k] + i[k] * g[k]
        hidden[k] = o[k] * tanh(cell[k])


@kernel
def lstm(
    task: int, scratch: Array, gates: Array, h0: Array, c0: Array, wh_t: Array, wr: Array, cells: Array, y: Array,
    steps: int, batch: int, n: int, state: int, rows: int, projects: int,
) -> None:  # fmt: skip
    """All steps. `gates`, (steps, batch, 4n), holds the products with the inputs, which the gates' values replace.

    `cells`, (steps, batch, n), and y, (steps, batch, state), are written. `wh_t` is the transpose of wh. With
    `projects`, the state is wr times the hidden units.
    """
    first = task * rows
    count = min(rows, batch - first)
    for t in range(steps):
        at = t * batch + first
        h = h0 + first * state if t == 0 else y + (at - batch) * state
        before = c0 + first * n if t == 0 else cells + (at - batch) * n
        gate = gates + at * 4 * n
        hidden = scratch + 0 if projects == 1 else y + at * n
        gemm(NO_TRANS, NO_TRANS, count, 4 * n, state, h, state, wh_t, 4 * n, 1.0, gate, 4 * n)
        for r in range(count):
            i = gate + r * 4 * n
            lstm_cell(
                i, i + n, i + 2 * n, i + 3 * n, before + r * n, cells + (at + r) * n, hidden + r * n, n
            )  # fmt: skip
        if projects == 1:
            gemm(NO_TRANS, TRANS, count, state, n, scratch, n, wr, n, 0.0, y + at * state, state)


@function
def lstm_cell_back(
    i: Array, f: Array, g: Array, o: Array, before: Array, cell: Array, dhidden: Array, dc: Array,
    di: Array, df: Array, dg: Array, do: Array, n: int,
) -> None:  # fmt: skip
    """One step back: the gradients of the gates' arguments, from `dhidden` and `dc`, those of the hidden units and the
    cells. `dc` then holds the gradient of the cells of the step before."""
    for k in range(n):
        c = tanh(cell[k])
        d = dc[k] + dhidden[k] * o[k] * (1.0 - c * c)
        di[k] = d * g[k] * (i[k] * (1.0 - i[k]))
        df[k] = d * before[k] * (f[k] * (1.0 - f[k]))
        dg[k] = d * i[k] * (1.0 - g[k] * g[k])
        do[k] = dhidden[k] * c * (o[k] * (1.0 - o[k]))
        dc[k] = d * f[k]


@kernel
def lstm_back(
    task: int, scratch: Array, gates: Array, cells: Array, c0: Array, wh: Array, wr: Array, dy: Array, dcells: Array,
    dh: Array, dc: Array, d: Array, steps: int, batch: int, n: int, state: int, rows: int, projects: int,
    has_dy: int, has_dcells: int,
) -> None:  # fmt: skip
    """`dh` and `dc` hold the gradients of the last state and cells, and at the end those of the first. `d` gets the
    gradients of the gates' arguments.

    With `projects`, `dy` gets the whole gradient of each state, to which later steps contribute.
    """
    first = task * rows
    count = min(rows, batch - first)
    dstate = dh + first * state
    dcell = dc + first * n
    for back in range(steps):
        t = steps - 1 - back
        at = t * batch + first
        if has_dy == 1:
            accumulate(dstate, dy + at * state, count * state)
        if has_dcells == 1:
            accumulate(dcell, dcells + at * n, count * n)
        if projects == 1:
            copy(dy + at * state, dstate, count * state)
            gemm(NO_TRANS, NO_TRANS, count, n, state, dstate, state, wr, n, 0.0, scratch, n)
        dhidden = scratch + 0 if projects == 1 else dstate + 0
        before = c0 + first * n if t == 0 else cells + (at - batch) * n
        for r in range(count):
            i = gates + (at + r) * 4 * n
            di = d + (at + r) * 4 * n
            lstm_cell_back(
                i, i + n, i + 2 * n, i + 3 * n, before + r * n, cells + (at + r) * n, dhidden + r * n, dcell + r * n,
                di, di + n, di + 2 * n, di + 3 * n, n,
            )  # fmt: skip
        gemm(NO_TRANS, NO_TRANS, count, state, 4 * n, d + at * 4 * n, 4 * n, wh, state, 0.0, dstate, state)


# ---------------------------------------------------------------- GRU


@function
def gru_cell(
    r: Array, z: Array, new: Array, pr: Array, pz: Array, pnew: Array, kept: Array, before: Array, h: Array, n: int
) -> None:
    """One step of one sequence, from the products with its input (`r`, `z`, `new`), which the values of the gates
    replace, and those with the last state (`pr`, `pz`, `pnew`)."""
    for k in range(n):
        r[k] = sigmoid(r[k] + pr[k])
        z[k] = sigmoid(z[k] + pz[k])
        kept[k] = pnew[k]
        new[k] = tanh(new[k] + r[k] * pnew[k])
        h[k] = new[k] + z[k] * (before[k] - new[k])


@kernel
def gru(
    task: int, scratch: Array, gates: Array, h0: Array, wh_t: Array, bias: Array, kept: Array, y: Array,
    steps: int, batch: int, n: int, rows: int,
) -> None:  # fmt: skip
    """All steps. `gates`, (steps, batch, 3n), holds the products with the inputs, which the gates' values replace.

    y, the states, and `kept`, the part of the product with the last state that the reset gate multiplies, are written:
    (steps, batch, n). `wh_t` is the transpose of wh.
    """
    first = task * rows
    count = min(rows, batch - first)
    for t in range(steps):
        at = t * batch + first
        h = h0 + first * n if t == 0 else y + (at - batch) * n
        for i in range(count):
            copy(scratch + i * 3 * n, bias, 3 * n)
        gemm(NO_TRANS, NO_TRANS, count, 3 * n, n, h, n, wh_t, 3 * n, 1.0, scratch, 3 * n)
        for i in range(count):
            gate = gates + (at + i) * 3 * n
            product = scratch + i * 3 * n
            gru_cell(
                gate, gate + n, gate + 2 * n, product, product + n, product + 2 * n, kept + (at + i) * n, h + i * n,
                y + (at + i) * n, n,
            )  # fmt: skip


@function
def gru_cell_back(
    r: Array, z: Array, new: Array, kept: Array, before: Array, dh: Array, dr: Array, dz: Array, dnew: Array,
    pr: Array, pz: Array, pnew: Array, n: int,
) -> None:  # fmt: skip
    """One step back: the gradients of the products with the input (`dr`, `dz`, `dnew`) and with the last state (`pr`,
    `pz`, `pnew`). `dh` then holds the gradient of the last state, without the part through the product."""
    for k in range(n):
        dnew[k] = dh[k] * (1.0 - z[k]) * (1.0 - new[k] * new[k])
        dz[k] = dh[k] * (before[k] - new[k]) * (z[k] * (1.0 - z[k]))
        dr[k] = dnew[k] * kept[k] * (r[k] * (1.0 - r[k]))
        pr[k] = dr[k]
        pz[k] = dz[k]
        pnew[k] = dnew[k] * r[k]
        dh[k] = dh[k] * z[k]


@kernel
def gru_back(
    task: int, gates: Array, kept: Array, y: Array, h0: Array, wh: Array, dy: Array, dh: Array, d: Array,
    dproduct: Array, steps: int, batch: int, n: int, rows: int, has_dy: int,
) -> None:  # fmt: skip
    """`dh` holds the gradient of the last state, and at the end that of the first. `d` and `dproduct` get the gradients
    of the products with the inputs and with the states."""
    first = task * rows
    count = min(rows, batch - first)
    dstate = dh + first * n
    for back in range(steps):
        t = steps - 1 - back
        at = t * batch + first
        if has_dy == 1:
            accumulate(dstate, dy + at * n, count * n)
        before = h0 + first * n if t == 0 else y + (at - batch) * n
        for i in range(count):
            gate = gates + (at + i) * 3 * n
            dgate = d + (at + i) * 3 * n
            product = dproduct + (at + i) * 3 * n
            gru_cell_back(
                gate, gate + n, gate + 2 * n, kept + (at + i) * n, before + i * n, dstate + i * n,
                dgate, dgate + n, dgate + 2 * n, product, product + n, product + 2 * n, n,
            )  # fmt: skip
        gemm(NO_TRANS, NO_TRANS, count, n, 3 * n, dproduct + at * 3 * n, 3 * n, wh, n, 1.0, dstate, n)
