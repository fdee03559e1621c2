"""The values of expressions, of all parameters at once: `over params` reads each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optgen.expressions import Binary, Call, Expr, Index, Name, Number, Transpose, Unary, children
from tests.equations import draws
from tests.equations.functions import BINARY, ELEMENTWISE, OF_MATRICES, REDUCTIONS
from tests.equations.values import Array, Axes, Shape, Value, scalar


@dataclass
class Known:
    """What is known of a parameter while its equations are computed, by the names of the text."""

    number: int
    shape: Shape
    t: int
    values: dict[str, Value]
    entries: Mapping[str, list[Value]]
    arrays: dict[str, dict[int, Value]]

    def set(self, target: Name, value: Value) -> None:
        if target.at is not None:
            self.arrays.setdefault(target.id, {})[self._place(target.at)] = value
        else:
            self.values[target.key] = value

    def get(self, name: Name) -> Value:
        if name.at is None:
            return self.values[name.key]
        place = self._place(name.at)
        return self.arrays[name.id][place] if name.id in self.arrays else self.entries[name.id][-1 - place]

    def _place(self, at: Index) -> int:
        return at.constant + sum(k * int(self.values[name].data) for name, k in at.terms)


class Noise:
    """Differences at random, relative to the size of results: of functions and sums alone, or of all operations."""

    def __init__(self, size: float, seed: int, *, everywhere: bool) -> None:
        self.size, self.everywhere = size, everywhere
        self.rng = np.random.default_rng(seed)

    def __call__(self, expr: Expr, value: Value, operands: Sequence[Value]) -> Value:
        """The result of an operation on these operands."""
        is_exact = isinstance(expr, Unary | Transpose) or (isinstance(expr, Binary) and expr.op not in ("@", "^"))
        if np.asarray(value.data).dtype == bool or (is_exact and not self.everywhere):
            return value
        scale = np.abs(value.data)
        if isinstance(expr, Call) and expr.function in REDUCTIONS:  # a sum may cancel what was rounded
            scale = scale + max((np.max(np.abs(x.data), initial=0.0) for x in operands), default=0.0)
        return Value(value.axes, value.data + self.size * scale * self.rng.choice([-1, 0, 1], np.shape(value.data)))


class Expressions:
    """Computes expressions. `definitions` are the functions of a spec: their arguments and what they stand for. `draws`
    has the number of each draw, by its node."""

    def __init__(
        self,
        definitions: Mapping[str, tuple[Sequence[str], Expr]],
        draws: Mapping[int, int],
        seed: int,
        noise: Noise | None = None,
    ) -> None:
        self.definitions = definitions
        self.draws = draws
        self.seed = seed
        self.noise = noise

    def values(
        self, expr: Expr, known: Sequence[Known], held: Mapping[int, int] | None = None, axes: Axes | None = None
    ) -> list[Value]:
        """The value for each of these parameters. `held`: the update whose numbers a draw has, by parameter. `axes` are
        those of a draw that has none in its brackets."""
        with np.errstate(all="ignore"):
            if isinstance(expr, Call) and expr.function in draws.NAMES:
                own = _dims(expr) or axes or ("rows", "cols")
                return [self._drawn(expr, k, own, (held or {}).get(k.number, k.t)) for k in known]
            return self._values(expr, known, {})

    def _values(self, expr: Expr, known: Sequence[Known], bound: Mapping[str, list[Value]]) -> list[Value]:
        """`bound` are the arguments of the function in which the expression stands."""
        match expr:
            case Number(value=x):
                return [scalar(x)] * len(known)
            case Name(id=name, primed=False, at=None) if name in bound:
                return bound[name]
            case Name():
                return [k.get(expr) for k in known]
            case Call(function=name, args=args) if name in self.definitions:
                parameters, body = self.definitions[name]
                given = [self._values(x, known, bound) for x in args]
                return self._values(body, known, dict(zip(parameters, given, strict=True)))
            case Call(function="identity"):
                return [_identity(expr, k) for k in known]
        parts = [self._values(x, known, bound) for x in children(expr)]
        if isinstance(expr, Call) and expr.scope == "workers":  # of which there is one
            return parts[0]
        if isinstance(expr, Call) and expr.scope == "params":
            same = _over_params(expr.function, parts, known)
            return [same if self.noise is None else self.noise(expr, same, parts[0])] * len(known)
        own = list(zip(*parts, strict=True))
        found = [_applied(expr, k.shape, list(x)) for k, x in zip(known, own, strict=True)]
        noise = self.noise
        return found if noise is None else [noise(expr, x, y) for x, y in zip(found, own, strict=True)]

    def _drawn(self, call: Call, known: Known, own: Axes, t: int) -> Value:
        axes = own if own[0] in known.shape.batch else (*known.shape.batch, *own)
        lengths = known.shape.lengths(axes)
        count = int(np.prod(lengths))
        words = draws.words(count, draw=self.draws[id(call)], parameter=known.number, t=t, seed=self.seed)
        return Value(axes, draws.distribution(call.function, words).reshape(lengths))


def _dims(call: Call) -> Axes:
    """The axes of a draw, or of an identity, that stand in its brackets: `rows x r`, `r` or `per row`."""
    if call.dims:
        return tuple(map(str, call.dims))
    if call.scope is not None:
        return {"row": ("rows",), "col": ("cols",)}[str(call.scope)]
    return tuple(x.id for x in call.args if isinstance(x, Name))


def _identity(call: Call, known: Known) -> Value:
    own = _dims(call)
    axes = own * 2 if len(own) == 1 else own
    eye = np.eye(*known.shape.lengths(axes))
    batch = known.shape.batch
    return Value((*batch, *axes), np.broadcast_to(eye, (*known.shape.lengths(batch), *eye.shape)))


def _applied(expr: Expr, shape: Shape, values: list[Value]) -> Value:
    """An operation on its operands."""
    match expr:
        case Unary(op=op):
            return shape.apply(np.negative if op == "-" else np.logical_not, *values)
        case Transpose():
            batch, own = _split(values[0], shape)
            return Value((*batch, *own[::-1]), np.swapaxes(values[0].data, -1, -2))
        case Binary(op="@"):
            return _product(values[0], values[1], shape)
        case Binary(op=op):
            return shape.apply(BINARY[op], *values)
        case Call(function=name, scope=scope) if name in REDUCTIONS and len(values) == 1:
            return _reduced(name, values[0], None if scope is None else str(scope), shape)
        case Call(function="dot"):
            return _reduced("sum", shape.apply(np.multiply, *values), None, shape)
        case Call(function=name) if name in ELEMENTWISE:
            return shape.apply(ELEMENTWISE[name], *values)
        case Call(function=name):
            return _of_matrices(name, values, shape)
    raise TypeError(expr)


def _split(value: Value, shape: Shape) -> tuple[Axes, Axes]:
    """The axis of a batch, and the others."""
    n = len(shape.batch)
    return value.axes[:n], value.axes[n:]


def _reduced(name: str, value: Value, scope: str | None, shape: Shape) -> Value:
    reduce, array = REDUCTIONS[name], np.asarray(value.data, float)
    if scope is None:
        return scalar(reduce(array.reshape(-1)))
    if not value.axes:  # a loop carries it, and its axes are not known yet: `check` accepts no number here
        return value
    if scope in ("row", "col"):  # over the second axis of a matrix, or over the first
        axis = len(shape.batch) + (scope == "row")
        return Value((*value.axes[:axis], *value.axes[axis + 1 :]), reduce(np.moveaxis(array, axis, -1)))
    if scope == "matrix":
        each = reduce(array.reshape(len(array), -1))
        axes = ("matrices", "cols" if value.axes == ("matrices", "cols") else "rows")
        return Value(axes, np.broadcast_to(each[:, None], shape.lengths(axes)))
    return Value((scope,), reduce(shape.by_group(value, scope)))


def _over_params(name: str, parts: list[list[Value]], known: Sequence[Known]) -> Value:
    """A reduction of the values of all parameters."""
    if name == "dot":
        pairs = zip(known, *parts, strict=True)
        own = [k.shape.apply(np.multiply, x, y) for k, x, y in pairs]
        name = "sum"
    else:
        own = parts[0]
    every = np.concatenate([np.asarray(v.data, float).reshape(-1) for v in own])
    return scalar(REDUCTIONS[name](every))


def _product(a: Value, b: Value, shape: Shape) -> Value:
    """A product of matrices; a vector on the left is a row, and one on the right a column."""
    (batch, left), (_, right) = _split(a, shape), _split(b, shape)
    assert left[-1] == right[0], (a.axes, b.axes)
    terms = "z" * len(batch) + "ab"[-len(left) :] + "," + "z" * len(batch) + "bc"[: len(right)]
    result = "z" * len(batch) + "a" * (len(left) - 1) + "c" * (len(right) - 1)
    return Value((*batch, *left[:-1], *right[1:]), np.einsum(f"{terms}->{result}", a.data, b.data))


def _of_matrices(name: str, values: list[Value], shape: Shape) -> Value:
    batch, own = _split(values[0], shape)
    arrays = [np.asarray(v.data, float) for v in values]
    if name in ("triu", "tril"):
        return Value(values[0].axes, getattr(np, name)(arrays[0]))
    if name == "trace":
        return _reduced("sum", _of_matrices("diag", values, shape), None, shape)
    if name == "diag":
        if len(own) == 2:
            return Value((*batch, own[0]), np.diagonal(arrays[0], axis1=-2, axis2=-1))
        return Value((*batch, *own, *own), arrays[0][..., None] * np.eye(arrays[0].shape[-1]))
    function, places = OF_MATRICES[name]
    axes = (*batch, *(own[k] for k in places)) if places else values[1].axes
    if not batch:
        return Value(axes, function(*arrays))
    each = [function(*(x[k] if np.ndim(x) else x for x in arrays)) for k in range(len(arrays[0]))]
    return Value(axes, np.stack(each))


__all__ = ["Array", "Expressions", "Known"]
