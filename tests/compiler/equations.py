"""The equations of a spec as NumPy would have them: one line after the other, on whole arrays of float64.

It knows nothing of stages, orientations and kernels, and so tells whether those are right. Rounding differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from optgen import arguments
from optgen.execute.staged_table import is_due
from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary
from optgen.model import Equation, Flags, Loop, Optimizer

Array = np.ndarray[Any, Any]
Values = dict[str, Any]

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "@": np.matmul,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
}  # fmt: skip
REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "norm": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)),
    "rms": lambda x, axis: np.sqrt(np.mean(x * x, axis=axis)),
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "abs": np.abs, "exp": np.exp, "tanh": np.tanh, "sign": np.sign, "max": np.maximum,
    "min": np.minimum, "where": np.where, "clip": lambda x, *b: np.clip(x, *(b if len(b) > 1 else (-b[0], b[0]))),
    "dot": lambda x, y: np.sum(x * y), "trace": np.trace, "diag": np.diag,
    "inverse_root": lambda a, p: _power(a, -1 / p), "eigenvalues": np.linalg.eigvalsh, "solve": np.linalg.solve,
    "orthonormal": lambda a: _orthonormal(a), "eigenvectors": lambda a: _eigenvectors(a),
    "singular_values": lambda a: np.linalg.svd(a)[1], "left_singular_vectors": lambda a: _singular_vectors(a)[0],
    "right_singular_vectors": lambda a: _singular_vectors(a)[1],
}  # fmt: skip


def _power(a: Array, p: float) -> Array:
    values, vectors = np.linalg.eigh(a)
    return (vectors * values**p) @ vectors.T


def _orthonormal(a: Array) -> Array:
    q, r = np.linalg.qr(a)
    return q * np.where(np.diag(r) < 0, -1, 1)


def _eigenvectors(a: Array) -> Array:
    vectors = np.linalg.eigh(a)[1]
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, range(len(a))])


def _singular_vectors(a: Array) -> tuple[Array, Array]:
    u, _, rows = np.linalg.svd(a, full_matrices=False)
    signs = np.sign(u[np.abs(u).argmax(axis=0), range(u.shape[1])])
    return u * signs, rows.T * signs


def update(optimizer: Optimizer, flags: Flags, values: Values, count: int) -> Values:
    """One update. `values` has `w`, `grad`, states, params and sizes; returns the new values by key, as `m'`."""
    due = [timing for timing in optimizer.timings if is_due(timing, count, values)]
    program = optimizer.program(flags, due=due)
    known = {**values, "t": count, "step": count, "g": values["grad"] * values.get("rescale_grad", 1.0)}
    for state in program.states:
        if count == 1 and (start := optimizer.start(state)) is not None:
            known[state.name] = np.broadcast_to(value(start, known), np.shape(values[state.name]))
    _run(list(program.equations), known, 0)
    return known


def _run(equations: list[Equation], known: Values, level: int) -> None:
    for loop, group in groupby(equations, key=lambda e: _chain(e.loop)[level : level + 1]):
        own = list(group)
        if not loop:
            for e in own:
                known[e.target.key] = value(e.value, known)
            continue
        carried = {e.target.id for e in own if e.target.primed and e.loop == loop[0]}
        before = {name: known[name] for name in carried}
        known |= {f"{name}'": known[name] for name in carried}
        for turn in range(int(arguments.number(loop[0].count, known))):
            if loop[0].index is not None:
                known[loop[0].index] = turn
            known |= {name: known[f"{name}'"] for name in carried}
            _run(own, known, level + 1)
        known |= before


def _chain(loop: Loop | None) -> list[Loop]:
    return [] if loop is None else [*_chain(loop.outer), loop]


def value(expr: Expr, known: Values) -> Any:
    """An expression of known values. A vector is repeated as a row or a column, by its name in the equations."""
    match expr:
        case Number(value=x):
            return x
        case Name():
            return known[expr.key]
        case Unary(op=op, operand=x):
            return -value(x, known) if op == "-" else np.logical_not(value(x, known))
        case Transpose(operand=x):
            return value(x, known).T
        case Binary(op=op, left=a, right=b):
            x, y = value(a, known), value(b, known)
            return BINARY[op](x, y) if op == "@" else BINARY[op](*_met(x, y))
        case Call(function="identity", args=(Name(key=key),)):
            return np.eye(int(known[key]))
        case Call(function=name, args=(x,), scope=scope) if name in REDUCTIONS:
            return REDUCTIONS[name](value(x, known), axis={None: None, "row": 1, "col": 0}[scope])
        case Call(function=name, args=args):
            return FUNCTIONS[name](*(value(x, known) for x in args))
    raise TypeError(expr)


def _met(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of which a vector is one of the rows of a matrix, if it has as many numbers."""
    if np.ndim(x) == 1 and np.ndim(y) == 2 and len(x) == len(y):
        return x[:, None], y
    if np.ndim(y) == 1 and np.ndim(x) == 2 and len(y) == len(x):
        return x, y[:, None]
    return x, y
