"""Recurrent layers through time, forwards and backwards: step by step, the product with the last state, then the gates.

The sequences of a batch do not depend on each other, so a task takes `rows` of them, from row `task*rows` on, through
all steps, and threads never wait for each other. The first axis is time: (steps, batch, ...). n is the number of hidden
units, and `state` the length of a state: n, or less where states are projected. Matrices are panels (see `panels`), and
`code` is what `packed_gemm` takes. The formulas are those of `runtime.ndarray.rnn.recurrent`. Names that begin with d
are gradients with respect to what follows.
"""

from __future__ import annotations

from optgen.linalg.matrices import SUMMED
from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, packed_gemm
from runtime.native.formulas import (
    gru_state,
    lstm_memory,
    relu_value,
    sigmoid_gradient,
    sigmoid_value,
    tanh_gradient,
    tanh_value,
)
from runtime.native.vectors import accumulate, clear, copy


@function
def start(to: Array, first: Array, given: int, n: int) -> None:
    """The gradient of the last state: `first` if it is `given`, else zeros."""
    if given == 1:
        copy(to, first, n)
    else:
        clear(to, n)


# ---------------------------------------------------------------- Elman

RELU, TANH = 0, 1


@kernel
def elman(
    task: int, y: Array, h0: Array, wh: Array, bi: Array, bh: Array, last: Array,
    steps: int, batch: int, n: int, rows: int, activation: int, code: int,
) -> None:  # fmt: skip
    """All steps. y, (steps, batch, n), holds the products with the inputs, which the states replace; `wh` is that of
    the transpose. `last` gets the last state."""
    first = task * rows
    count = min(rows, batch - first)
    h = h0 + first * n
    for t in range(steps):
        at = y + (t * batch + first) * n
        packed_gemm(code, count, n, n, h, n, 1, wh, 1, at, n)
        for r in range(count):
            line = at + r * n
            if activation == TANH:
                for k in range(n):
                    line[k] = tanh_value(line[k] + (bi[k] + bh[k]))
            else:
                for k in range(n):
                    line[k] = relu_value(line[k] + (bi[k] + bh[k]))
        h = at + 0
    copy(last + first * n, h, count * n)


@kernel
def elman_back(
    task: int, y: Array, wh: Array, dy: Array, dlast: Array, dh: Array, d: Array,
    steps: int, batch: int, n: int, rows: int, activation: int, has_dy: int, has_dlast: int, code: int,
) -> None:  # fmt: skip
    """`dh` gets the gradient of the first state, and `d` those of the arguments of the activation."""
    first = task * rows
    count = min(rows, batch - first)
    dstate = dh + first * n
    start(dstate, dlast + first * n, has_dlast, count * n)
    for back in range(steps):
        at = ((steps - 1 - back) * batch + first) * n
        if has_dy == 1:
            accumulate(dstate, dy + at, count * n)
        line = y + at
        to = d + at
        if activation == TANH:
            for k in range(count * n):
                to[k] = tanh_gradient(dstate[k], line[k])
        else:
            for k in range(count * n):
                to[k] = dstate[k] * (1.0 if line[k] > 0.0 else 0.0)
        packed_gemm(code, count, n, n, to, n, 1, wh, 0, dstate, n)


# ---------------------------------------------------------------- LSTM


@function
def lstm_cell(
    i: Array, f: Array, g: Array, o: Array, bi: Array, bh: Array, before: Array, cell: Array, hidden: Array, n: int
) -> None:
    """One step of one sequence. i, f, g and o hold the arguments of the gates without the biases, which their values
    replace."""
    for k in range(n):
        i[k] = sigmoid_value(i[k] + (bi[k] + bh[k]))
        f[k] = sigmoid_value(f[k] + (bi[n + k] + bh[n + k]))
        g[k] = tanh_value(g[k] + (bi[2 * n + k] + bh[2 * n + k]))
        o[k] = sigmoid_value(o[k] + (bi[3 * n + k] + bh[3 * n + k]))
        cell[k] = lstm_memory(f[k], before[k], i[k], g[k])
        hidden[k] = o[k] * tanh_value(cell[k])


@kernel
def lstm(
    task: int, scratch: Array, gates: Array, h0: Array, c0: Array, wh: Array, bi: Array, bh: Array, wr: Array,
    cells: Array, y: Array, last_h: Array, last_c: Array,
    steps: int, batch: int, n: int, state: int, rows: int, projects: int, code: int,
) -> None:  # fmt: skip
    """All steps. `gates`, (steps, batch, 4n), holds the products with the inputs, which the gates' values replace.

    `cells`, (steps, batch, n), y, (steps, batch, state), and the last states are written. `wh` and `wr` are those of
    the transposes. With `projects`, the state is wr times the hidden units.
    """
    first = task * rows
    count = min(rows, batch - first)
    h = h0 + first * state
    before = c0 + first * n
    for t in range(steps):
        at = t * batch + first
        gate = gates + at * 4 * n
        hidden = scratch + 0 if projects == 1 else y + at * n
        packed_gemm(code, count, 4 * n, state, h, state, 1, wh, 1, gate, 4 * n)
        for r in range(count):
            i = gate + r * 4 * n
            lstm_cell(
                i, i + n, i + 2 * n, i + 3 * n, bi, bh, before + r * n, cells + (at + r) * n, hidden + r * n, n
            )  # fmt: skip
        h = y + at * state
        before = cells + at * n
        if projects == 1:
            packed_gemm(code, count, state, n, scratch, n, 1, wr, 0, h, state)
    copy(last_h + first * state, h, count * state)
    copy(last_c + first * n, before, count * n)


@function
def lstm_cell_back(
    i: Array, f: Array, g: Array, o: Array, before: Array, cell: Array, dhidden: Array, dc: Array,
    di: Array, df: Array, dg: Array, do: Array, n: int,
) -> None:  # fmt: skip
    """One step back: the gradients of the gates' arguments, from `dhidden` and `dc`, those of the hidden units and the
    cells. `dc` then holds the gradient of the cells of the step before."""
    for k in range(n):
        c = tanh_value(cell[k])
        d = dc[k] + tanh_gradient(dhidden[k] * o[k], c)
        di[k] = sigmoid_gradient(d * g[k], i[k])
        df[k] = sigmoid_gradient(d * before[k], f[k])
        dg[k] = tanh_gradient(d * i[k], g[k])
        do[k] = sigmoid_gradient(dhidden[k] * c, o[k])
        dc[k] = d * f[k]


@kernel
def lstm_back(
    task: int, scratch: Array, gates: Array, cells: Array, c0: Array, wh: Array, wr: Array, dy: Array, dcells: Array,
    dlast_h: Array, dlast_c: Array, dh: Array, dc: Array, d: Array, dstates: Array,
    steps: int, batch: int, n: int, state: int, rows: int, projects: int,
    has_dy: int, has_dcells: int, has_dlast_h: int, has_dlast_c: int, code: int,
) -> None:  # fmt: skip
    """`dh` and `dc` get the gradients of the first states, and `d` those of the gates' arguments.

    With `projects`, `dstates` gets the whole gradient of each state, to which later steps contribute.
    """
    first = task * rows
    count = min(rows, batch - first)
    dstate = dh + first * state
    dcell = dc + first * n
    start(dstate, dlast_h + first * state, has_dlast_h, count * state)
    start(dcell, dlast_c + first * n, has_dlast_c, count * n)
    for back in range(steps):
        t = steps - 1 - back
        at = t * batch + first
        if has_dy == 1:
            accumulate(dstate, dy + at * state, count * state)
        if has_dcells == 1:
            accumulate(dcell, dcells + at * n, count * n)
        if projects == 1:
            copy(dstates + at * state, dstate, count * state)
            packed_gemm(code, count, n, state, dstate, state, 1, wr, 0, scratch, n)
        dhidden = scratch + 0 if projects == 1 else dstate + 0
        before = c0 + first * n if t == 0 else cells + (at - batch) * n
        for r in range(count):
            i = gates + (at + r) * 4 * n
            di = d + (at + r) * 4 * n
            lstm_cell_back(
                i, i + n, i + 2 * n, i + 3 * n, before + r * n, cells + (at + r) * n, dhidden + r * n, dcell + r * n,
                di, di + n, di + 2 * n, di + 3 * n, n,
            )  # fmt: skip
        packed_gemm(code, count, state, 4 * n, d + at * 4 * n, 4 * n, 1, wh, 0, dstate, state)


# ---------------------------------------------------------------- GRU


@function
def gru_cell(
    r: Array, z: Array, new: Array, pr: Array, pz: Array, pnew: Array, bi: Array, bh: Array, kept: Array,
    before: Array, h: Array, n: int,
) -> None:  # fmt: skip
    """One step of one sequence, from the products with its input (`r`, `z`, `new`), which the values of the gates
    replace, and those with the last state (`pr`, `pz`, `pnew`)."""
    for k in range(n):
        r[k] = sigmoid_value(r[k] + pr[k] + (bi[k] + bh[k]))
        z[k] = sigmoid_value(z[k] + pz[k] + (bi[n + k] + bh[n + k]))
        kept[k] = pnew[k] + bh[2 * n + k]
        new[k] = tanh_value(new[k] + bi[2 * n + k] + r[k] * kept[k])
        h[k] = gru_state(new[k], z[k], before[k])


@kernel
def gru(
    task: int, scratch: Array, gates: Array, h0: Array, wh: Array, bi: Array, bh: Array, kept: Array, y: Array,
    last: Array, steps: int, batch: int, n: int, rows: int, code: int,
) -> None:  # fmt: skip
    """All steps. `gates`, (steps, batch, 3n), holds the products with the inputs, which the gates' values replace.

    y, the states, `last`, the last of them, and `kept`, the part of the product with the last state that the reset gate
    multiplies, are written: (steps, batch, n). `wh` is that of the transpose.
    """
    first = task * rows
    count = min(rows, batch - first)
    h = h0 + first * n
    for t in range(steps):
        at = t * batch + first
        packed_gemm(code, count, 3 * n, n, h, n, 1, wh, 0, scratch, 3 * n)
        for i in range(count):
            gate = gates + (at + i) * 3 * n
            product = scratch + i * 3 * n
            gru_cell(
                gate, gate + n, gate + 2 * n, product, product + n, product + 2 * n, bi, bh, kept + (at + i) * n,
                h + i * n, y + (at + i) * n, n,
            )  # fmt: skip
        h = y + at * n
    copy(last + first * n, h, count * n)


@function
def gru_cell_back(
    r: Array, z: Array, new: Array, kept: Array, before: Array, dh: Array, dr: Array, dz: Array, dnew: Array,
    pr: Array, pz: Array, pnew: Array, n: int,
) -> None:  # fmt: skip
    """One step back: the gradients of the products with the input (`dr`, `dz`, `dnew`) and with the last state (`pr`,
    `pz`, `pnew`). `dh` then holds the gradient of the last state, without the part through the product."""
    for k in range(n):
        dnew[k] = tanh_gradient(dh[k] * (1.0 - z[k]), new[k])
        dz[k] = sigmoid_gradient(dh[k] * (before[k] - new[k]), z[k])
        dr[k] = sigmoid_gradient(dnew[k] * kept[k], r[k])
        pr[k] = dr[k]
        pz[k] = dz[k]
        pnew[k] = dnew[k] * r[k]
        dh[k] = dh[k] * z[k]


@kernel
def gru_back(
    task: int, gates: Array, kept: Array, y: Array, h0: Array, wh: Array, dy: Array, dlast: Array, dh: Array, d: Array,
    dproduct: Array, steps: int, batch: int, n: int, rows: int, has_dy: int, has_dlast: int, code: int,
) -> None:  # fmt: skip
    """`dh` gets the gradient of the first state, `d` and `dproduct` those of the products with the inputs and with the
    states."""
    first = task * rows
    count = min(rows, batch - first)
    dstate = dh + first * n
    start(dstate, dlast + first * n, has_dlast, count * n)
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
        packed_gemm(code, count, n, 3 * n, dproduct + at * 3 * n, 3 * n, 1, wh, 1, dstate, n)


# ---------------------------------------------------------------- gradients of the weights


@kernel
def pack_states(task: int, h0: Array, y: Array, panels: Array, batch: int, total: int, n: int, width: int) -> None:
    """The panels of each SUMMED rows of a matrix, (total, n), one after the other: its first `batch` rows are `h0`, the
    others `y`. One task for each panel."""
    blocks = (n + width - 1) // width
    start = task // blocks * SUMMED
    rows = min(SUMMED, total - start)
    column = task % blocks * width
    count = min(width, n - column)
    to = panels + (start * blocks + task % blocks * rows) * width
    if count < width:
        clear(to, rows * width)
    for i in range(rows):
        r = start + i
        line = h0 + (r * n + column) if r < batch else y + ((r - batch) * n + column)
        for j in range(count):
            to[i * width + j] = line[j]


@kernel
def weight_gradients(
    task: int, scratch: Array, di: Array, dh: Array, x: Array, h: Array, dwi: Array, dwh: Array, dbi: Array, dbh: Array,
    total: int, height: int, inputs: int, state: int, rows: int, width: int, same: int, code: int,
) -> None:  # fmt: skip
    """Those of the matrices and biases, of which a task has `rows` rows of `height`. `di` and `dh`, (total, height),
    are the gradients of the products with the inputs and with the states, a row for each step and sequence; with `same`
    they are one array. x and h are the panels, by `pack_states`, of the inputs and of the states before each step.

    SUMMED rows at a time are copied to `scratch`: in `di`, what a tile reads is too far apart for the cache.
    """
    first = task * rows
    count = min(rows, height - first)
    to_x = dwi + first * inputs
    to_h = dwh + first * state
    clear(dbi + first, count)
    clear(dbh + first, count)
    for p in range(0, max(total, 1), SUMMED):  # once at least: a product of no rows is 0
        k = min(SUMMED, total - p)
        gather(scratch, dbi + first, di + p * height + first, k, count, height)
        across = x + p * ((inputs + width - 1) // width * width)
        packed_gemm(code, count, inputs, k, scratch, 1, count, across, min(p, 1), to_x, inputs)
        if same == 0:
            gather(scratch, dbh + first, dh + p * height + first, k, count, height)
        across = h + p * ((state + width - 1) // width * width)
        packed_gemm(code, count, state, k, scratch, 1, count, across, min(p, 1), to_h, state)
    if same == 1:
        copy(dbh + first, dbi + first, count)


@function
def gather(to: Array, sums: Array, x: Array, rows: int, n: int, stride: int) -> None:
    """Copy n columns of x to `to`, and add them to `sums`."""
    for r in range(rows):
        line = x + r * stride
        copy(to + r * n, line, n)
        accumulate(sums, line, n)
