"""Numbers of a prime field in the place of real ones: whether two formulas are the same is whether they have the same
value at random numbers (Schwartz 1980, J. ACM 27(4); Zippel 1979, EUROSAM).

The prime p leaves 3 when divided by 4, so that -1 is no square. The sign of x is then its Legendre symbol, which is
multiplicative and odd; |x| = sign(x) x; and sqrt(x) = x^((p + 1)/4) is multiplicative with sqrt(x^2) = |x|. These are
laws of real numbers, too, and those of a field are. Small primes are squares modulo p, as they are positive. p leaves 2
when divided by 3, so that each number has one cube root. Other functions, as exp, are numbers that a hash of the
arguments makes: only equal arguments have equal values.

A sign that nothing decides is a coin: 1 at half of the points. A comparison that bounds do not decide is one, too,
which a hash makes: its only law is that equal differences compare alike, which holds where numbers are equal, too.
Formulas that differ for some of the outcomes differ at a share of 2^-k of the points, where k is the number of
independent coins: `Field.coins`. Whoever looks at many more points has seen all outcomes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from optgen.analysis.equations import CannotTellError
from optgen.functions.table import FUNCTIONS

Array = np.ndarray[Any, Any]

PRODUCT = 4 * math.prod(
    (
        2,
        3,
        5,
        7,
        11,
        13,
        17,
        19,
        23,
        29,
        31,
        37,
        41,
        43,
        47,
        53,
        59,
        61,
        67,
        71,
        73,
        79,
        83,
        89,
        97,
        101,
        103,
        107,
        109,
        113,
    )
)
"""One less than a multiple of it has all these primes among its squares, by the law of quadratic reciprocity."""
PRIMES = tuple(k * PRODUCT - 1 for k in (10, 25, 31, 49, 53, 55, 84, 88))
"""Primes of 160 bits and more."""


@dataclass(frozen=True)
class FieldNumber:
    """Numbers of the field. `real` are the real ones that they stand for, where these are constants; None else. `real`
    decides comparisons, `numbers` equality. `least` is a bound below: no real number that they stand for is smaller."""

    numbers: Array
    real: Array | None = None
    least: float = -math.inf

    @property
    def low(self) -> float:
        """The greatest known number below which they cannot be."""
        return self.least if self.real is None else float(np.min(self.real))

    @property
    def high(self) -> float:
        """The least known number above which they cannot be."""
        return math.inf if self.real is None else float(np.max(self.real))

    @property
    def is_positive(self) -> bool:
        """Whether they cannot be negative."""
        return self.low >= 0


def _elementwise(function: Callable[..., int], count: int = 1) -> Callable[..., Array]:
    made: Callable[..., Array] = np.frompyfunc(function, count, 1)
    return made


class Field:
    """NumberSystem modulo the prime `p`. Division by 0 is a CannotTellError."""

    def __init__(self, p: int) -> None:
        self.p = p
        self._sign = _elementwise(self.sign)
        self._flips: list[Array] = []
        self._inverse = _elementwise(self._inverse_of)

    # ------------------------------------------------------------ of one number

    def sign(self, x: int) -> int:
        """1 for squares, p - 1 for other numbers, 0 for 0."""
        return pow(x, (self.p - 1) // 2, self.p)

    def fraction(self, x: Fraction) -> int:
        """The number that stands for a fraction."""
        return x.numerator * self._inverse_of(x.denominator % self.p) % self.p

    def _inverse_of(self, x: int) -> int:
        if x == 0:
            raise CannotTellError("a division by 0")
        return pow(x, -1, self.p)

    def hashed(self, *words: object) -> int:
        """A number that depends on some words alone."""
        digest = hashlib.blake2b("\0".join(map(str, (self.p, *words))).encode(), digest_size=32).digest()
        return int.from_bytes(digest, "big") % self.p

    # ------------------------------------------------------------ arrays

    def constant(self, text: str) -> FieldNumber:
        try:
            number = self.fraction(Fraction(text))
        except ValueError:
            number = self.hashed(text)
        return FieldNumber(np.full((1, 1, 1), number, object), np.full((1, 1, 1), float(text)))

    def binary(self, op: str, a: FieldNumber, b: FieldNumber) -> Any:  # a FieldNumber, or an array of truths
        return self._computed(op, a, b) if op in "+-*/^" else self._compared(op, a, b)

    def _computed(self, op: str, a: FieldNumber, b: FieldNumber) -> FieldNumber:
        real = None if a.real is None or b.real is None else _real_binary(op, a.real, b.real)
        x, y, nought = a.numbers, b.numbers, 0.0 if a.is_positive and b.is_positive else -math.inf
        match op:
            case "+":
                return FieldNumber((x + y) % self.p, real, _sum(a.low, b.low))
            case "-":
                return FieldNumber((x - y) % self.p, real, _sum(a.low, -b.high))
            case "*":
                return FieldNumber(x * y % self.p, real, 0.0 if np.array_equal(x, y) else nought)
            case "/":
                return FieldNumber(x * self._inverse(y) % self.p, real, nought)
        is_even = b.real is not None and bool(np.all(b.real % 2 == 0))
        return FieldNumber(self._power(a, b), real, 0.0 if a.is_positive or is_even else -math.inf)

    # ------------------------------------------------------------ order

    def coins(self) -> int:
        """How many independent coins were thrown since this was asked last: the rank of their outcomes at all points,
        as vectors of bits, but for those that are the same or the opposite everywhere."""
        basis: dict[int, int] = {}
        for flips in self._flips:
            for flip in np.moveaxis(flips, 0, -1).reshape(-1, len(flips)):
                bits = int("".join("01"[int(x)] for x in flip ^ flip[0]), 2)
                while bits and bits.bit_length() in basis:
                    bits ^= basis[bits.bit_length()]
                if bits:
                    basis[bits.bit_length()] = bits
        self._flips = []
        return len(basis)

    def _flipped(self, outcomes: Array) -> Array:
        found = np.asarray(outcomes, bool)
        self._flips.append(found)
        return found

    def _compared(self, op: str, a: FieldNumber, b: FieldNumber) -> Array:
        if a.real is not None and b.real is not None:
            return np.asarray(_real_binary(op, a.real, b.real), bool)
        match op:
            case ">":
                return self._greater(a, b)
            case "<":
                return self._greater(b, a)
            case ">=":
                return ~self._greater(b, a)
            case "<=":
                return ~self._greater(a, b)
        return np.asarray(self._equal(a, b) == (op == "=="), bool)

    def _greater(self, a: FieldNumber, b: FieldNumber) -> Array:
        if a.low > b.high or b.low >= a.high:
            return np.full((1, 1, 1), a.low > b.high)
        difference = (a.numbers - b.numbers) % self.p
        return self._flipped(_elementwise(lambda x: 0 if x == 0 else self.hashed("greater", x) % 2)(difference))

    def _equal(self, a: FieldNumber, b: FieldNumber) -> Array:
        if a.low > b.high or b.low > a.high:
            return np.zeros((1, 1, 1), bool)
        difference = (a.numbers - b.numbers) % self.p
        return self._flipped(
            _elementwise(lambda x: 1 if x == 0 else self.hashed("equal", min(x, self.p - x)) % 2)(difference)
        )

    def _larger(self, a: FieldNumber, b: FieldNumber, name: str) -> FieldNumber:
        """The larger, or smaller, one of two: by the sign of the difference, as where both are equal it is either."""
        if a.low >= b.high or b.low >= a.high:
            return a if (a.low >= b.high) == (name == "max") else b
        first = self._flipped(self._sign((a.numbers - b.numbers) % self.p) == 1)
        return self.where(first, a, b) if name == "max" else self.where(first, b, a)

    # ------------------------------------------------------------ functions

    def _power(self, a: FieldNumber, b: FieldNumber) -> Array:
        """Whole powers and roots, where the exponent is the same for all; else a hash, but for the powers of 1 and the
        power 0, and positive powers of 0."""
        exponent = b.real
        if exponent is not None and np.all(exponent == exponent.flat[0]):
            y = float(exponent.flat[0])
            for root in (1, 2, 3):
                if (y * root).is_integer() and np.all(b.numbers * root % self.p == int(y * root) % self.p):
                    base = a.numbers if root == 1 else self.function("sqrt" if root == 2 else "cbrt", a).numbers
                    return self._whole_power(base, int(y * root))

        def hashed(x: int, y: int) -> int:
            if x == 0 and b.low > 0:
                return 0
            return 1 if x == 1 or y == 0 else self.hashed("power", x, y)

        return np.asarray(_elementwise(hashed, 2)(a.numbers, b.numbers), object)

    def _whole_power(self, x: Array, n: int) -> Array:
        base = self._inverse(x) if n < 0 else x
        return np.asarray(_elementwise(lambda v: pow(v, abs(n), self.p))(base), object)

    def function(self, name: str, *args: FieldNumber) -> FieldNumber:
        x, known = args[0], FUNCTIONS[name].elementwise
        if known is not None and known.rounds != "no":
            return x
        match name:
            case "sqrt":
                root = self._whole_power(x.numbers, (self.p + 1) // 4)
                self._flipped(root * root % self.p == x.numbers)
                return FieldNumber(root, _real(np.sqrt, x), 0.0)
            case "cbrt":
                return FieldNumber(self._whole_power(x.numbers, (2 * self.p - 1) // 3), _real(np.cbrt, x))
            case "sign":
                return self._signs(x)
            case "abs":
                return x if x.is_positive else replace(self._computed("*", self._signs(x), x), least=0.0)
            case "max" | "min":
                return reduce(lambda a, b: self._larger(a, b, name), args)
            case "pow":
                return self._computed("^", *args)
            case "expm1":
                return self._computed("-", self.function("exp", x), self.constant("1"))
            case "log1p":
                return self.function("log", self._computed("+", self.constant("1"), x))
            case "mod":
                whole = self.function("floor", self._computed("/", *args))
                return self._computed("-", x, self._computed("*", whole, args[1]))

        def hashed(*numbers: int) -> int:
            return self.hashed(name, *numbers)

        real = [a.real for a in args if a.real is not None]
        reals = self._real_function(name, real) if len(real) == len(args) else None
        if known is not None and known.is_step and reals is not None:  # a whole number
            return FieldNumber(_elementwise(lambda v: int(v) % self.p)(reals), reals)
        return FieldNumber(_elementwise(hashed, len(args))(*(a.numbers for a in args)), reals)

    def _real_function(self, name: str, real: Sequence[Any]) -> Any:
        from optgen.analysis.reals import Reals

        with np.errstate(all="ignore"):
            return Reals().function(name, *real)

    def _signs(self, x: FieldNumber) -> FieldNumber:
        """Signs, of numbers that are not 0."""
        if x.real is not None:
            real = np.sign(x.real)
            return FieldNumber(real.astype(int).astype(object) % self.p, real)
        if x.is_positive:
            return self.constant("1")
        signs = self._sign(x.numbers)
        self._flipped(signs == 1)
        return FieldNumber(signs)

    def where(self, condition: Any, a: FieldNumber, b: FieldNumber) -> FieldNumber:
        real = None
        if len(condition) == 1 and a.real is not None and b.real is not None:
            real = np.where(condition, a.real, b.real)
        return FieldNumber(np.where(condition, a.numbers, b.numbers), real, min(a.low, b.low))

    def fold(self, how: str, x: FieldNumber, axes: tuple[int, ...]) -> FieldNumber:
        least = 0.0 if x.is_positive else -math.inf
        if how == "sum":
            return FieldNumber(np.add.reduce(x.numbers, axis=axes, keepdims=True) % self.p, least=least)
        moved = np.moveaxis(x.numbers, axes, range(len(axes)))
        count = int(np.prod(moved.shape[: len(axes)]))
        each = [FieldNumber(v, least=least) for v in moved.reshape(count, *moved.shape[len(axes) :])]
        found = reduce(lambda a, b: self._larger(a, b, how), each).numbers
        return FieldNumber(np.expand_dims(found, axes), least=least)

    def expanded(self, x: FieldNumber, shape: tuple[int, int]) -> FieldNumber:
        full = (len(x.numbers), *shape)
        return FieldNumber(np.broadcast_to(x.numbers, full), x.real if shape == (1, 1) else None, x.low)

    def shape(self, x: FieldNumber) -> tuple[int, ...]:
        return tuple(x.numbers.shape)

    def transposed(self, x: FieldNumber) -> FieldNumber:
        return FieldNumber(np.swapaxes(x.numbers, 1, 2))

    def product(self, a: FieldNumber, b: FieldNumber) -> FieldNumber:
        return FieldNumber(np.matmul(a.numbers, b.numbers) % self.p)

    def drawn(self, seed: str, shape: tuple[int, int]) -> FieldNumber:
        """Numbers that depend on the seed alone."""
        places = np.arange(shape[0] * shape[1]).reshape(1, *shape)
        return FieldNumber(_elementwise(lambda k: self.hashed("draw", seed, k))(places))

    def mixed(self, name: str, x: FieldNumber, *numbers: FieldNumber) -> FieldNumber:
        """What stands for a function of a matrix: a hash of all elements for each element of the result."""
        count = max(len(e.numbers) for e in (x, *numbers))
        whole = [np.broadcast_to(e.numbers, (count, *e.numbers.shape[1:])) for e in (x, *numbers)]
        found = np.empty((count, *x.numbers.shape[1:]), object)
        for k in range(count):
            words = [v for e in whole for v in e[k].flat]
            for place in np.ndindex(*found.shape[1:]):
                found[(k, *place)] = self.hashed(name, place, *words)
        return FieldNumber(found)


def _real(function: Callable[[Any], Any], x: FieldNumber) -> Array | None:
    with np.errstate(all="ignore"):
        return None if x.real is None else np.asarray(function(x.real))


def _sum(a: float, b: float) -> float:
    """A bound below of a sum, from bounds of both; exact, as it adds whole numbers alone."""
    if a.is_integer() and b.is_integer():
        return a + b
    return 0.0 if min(a, b) >= 0 else -math.inf


def _real_binary(op: str, a: Array, b: Array) -> Array:
    from optgen.analysis.reals import Reals

    with np.errstate(all="ignore"):
        return Reals().binary(op, a, b)
