"""Arrays of random numbers.

A distribution's parameters are numbers, and `shape` is that of the result; or they are arrays of one shape, and `shape`
is that of what is drawn for each of their elements, by default (), so that the result has the shape of the parameters
followed by `shape`. Without `shape`, numbers give an array of shape (1,), or of the shape of `out`, the array to write
to. `dtype` is by default float32. Draws are computed in float64 and rounded once.

All are drawn on the CPU, and copied to their context: a seed gives the same numbers, and a network the same first
weights, on every device. The exception are masks of dropout, which each step draws anew: see `generator.dropout_mask`.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError, numeric_types
from runtime.context import Context
from runtime.core.backend import to_context, to_device_of, to_host
from runtime.core.dtypes import convert, element_type
from runtime.core.generator import WORDS_PER_COUNT, generator, take_words
from runtime.core.signatures import with_signature
from runtime.native import philox as native
from runtime.ndarray.creation import Shape, place
from runtime.ndarray.elementwise import log
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors
from runtime.ndarray.shape.reshape import reshape
from runtime.ndarray.shape.subscript import gather

Parameter = float | NDArray

# ---------------------------------------------------------------- from parameters to an array


@ignore_fp_errors
def _compute(draw: Callable, shape: tuple, dtype: np.dtype, *parameters: Any) -> np.ndarray:
    """An array of draws; MXNetError, in the name of the distribution, for what cannot be drawn."""
    try:
        return convert(np.asarray(draw(shape, dtype, *parameters)), dtype)
    except (ValueError, TypeError) as error:
        raise MXNetError(f"random.{draw.__name__.removeprefix('_draw_')}: {error}") from None


@Operator  # without gradients: none flow to the parameters of draws
def _draw_for_each(*parameters: np.ndarray, draw: Callable, shape: tuple, dtype: np.dtype) -> np.ndarray:
    lead = parameters[0].shape
    columns = [to_host(p).astype(np.float64).reshape(lead + (1,) * len(shape)) for p in parameters]
    return to_device_of(parameters[0], _compute(draw, lead + shape, dtype, *columns))


_draw_for_each.pure = False


def _sample(
    draw: Callable,
    names: tuple[str, ...],
    parameters: list[Parameter],
    shape: Shape | None,
    dtype: Any,
    ctx: Context | None,
    out: NDArray | None,
) -> NDArray:
    name = draw.__name__
    if isinstance(parameters[0], NDArray) and all(isinstance(p, NDArray) for p in parameters):
        shapes = {p: v.shape for p, v in zip(names, parameters, strict=True)}
        if len(set(shapes.values())) > 1:
            raise MXNetError(f"random.{name}: the parameters' shapes differ: {shapes}")
        each = () if shape is None else _checked(name, shape)
        return _deliver(_draw_for_each(*parameters, draw=draw, shape=each, dtype=_float(name, dtype, out)), out)
    if not all(isinstance(p, numeric_types) for p in parameters):
        kinds = ", ".join(f"{p} is {type(v).__name__}" for p, v in zip(names, parameters, strict=True))
        raise ArgumentError(f"random.{name}: parameters are all numbers or all NDArrays, but {kinds}")
    shape = _shape(name, shape, out)
    return _deliver(place(_compute(draw, shape, _float(name, dtype, out), *map(float, parameters)), ctx), out)


def _shape(name: str, shape: Shape | None, out: NDArray | None) -> tuple[int, ...]:
    if shape is None:
        return (1,) if out is None else out.shape
    return _checked(name, shape) or (1,)


def _checked(name: str, shape: Shape) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise MXNetError(f"random.{name}: a shape is an integer or a tuple of integers, not {shape!r}") from None
    if any(n < 0 for n in shape):
        raise MXNetError(f"random.{name}: there is no array of shape {shape}")
    return shape


def _float(name: str, dtype: Any, out: NDArray | None) -> np.dtype:
    found = out._data.dtype if dtype is None and out is not None else element_type(dtype)
    if found.kind != "f" and found.name != "bfloat16":
        raise MXNetError(f"random.{name}: draws are of a floating-point type, not {found}; convert them with astype()")
    return found


def _deliver(result: NDArray, out: NDArray | None) -> NDArray:
    if out is None:
        return result
    if out.shape != result.shape:
        raise MXNetError(f"what is drawn has shape {result.shape}, but out has shape {out.shape}")
    out[:] = result
    return out


_PLACEMENT = {
    "shape": ("Shape | None", None),
    "dtype": ("Any", None),
    "ctx": ("Context | None", None),
    "out": ("NDArray | None", None),
}


def _distribution(**defaults: float) -> Callable[[Callable[..., np.ndarray]], Callable[..., NDArray]]:
    """Decorator: the function of `nd.random` that draws by `draw(shape, dtype, *parameters)`.

    `draw` gets the shape and the element type of the result, and parameters that are numbers, or float64 arrays that
    broadcast to the shape. It checks them by `_require`. `defaults` names the parameters.
    """

    def decorate(draw: Callable[..., np.ndarray]) -> Callable[..., NDArray]:
        names, parameters = tuple(defaults), {name: ("Parameter", default) for name, default in defaults.items()}

        @with_signature(draw.__name__, draw.__doc__, parameters | _PLACEMENT, returns="NDArray")
        def call(*values: Any) -> NDArray:
            *given, shape, dtype, ctx, out = values
            return _sample(draw, names, given, shape, dtype, ctx, out)

        return call

    return decorate


def _require(holds: Any, rule: str) -> None:
    if not np.all(holds):  # NaN fails every comparison
        raise ValueError(rule)


# ---------------------------------------------------------------- distributions


MIN_DRAWN = 1 << 19
"""From this many numbers on, a kernel draws them: a smaller network draws its weights sooner than one compiles."""


@_distribution(low=0, high=1)
def uniform(shape: tuple, dtype: np.dtype, low: Any, high: Any) -> np.ndarray:
    """Numbers evenly distributed in [low, high)."""
    _require(low <= high, "low is at most high")
    _require(np.isfinite(np.subtract(high, low)), "low and high are finite")
    below = np.nextafter(np.asarray(high).astype(dtype), np.asarray(low).astype(dtype)).astype(np.float64)
    n = math.prod(shape)
    if n >= MIN_DRAWN and isinstance(low, float) and isinstance(high, float):
        y, blocks = np.empty(shape), n // WORDS_PER_COUNT + 2
        span, tasks = np.array([low, high - low, below]), -(-blocks // native.BLOCKS_PER_TASK)
        native.draw(tasks, 2 * native.WORK * n, y, span, take_words(n), 1, 0, n)
        return y
    return np.minimum(low + (high - low) * generator.random(shape), below)  # rounding could give `high`


@_distribution(loc=0, scale=1)
def normal(shape: tuple, dtype: np.dtype, loc: Any, scale: Any) -> np.ndarray:
    """Normally distributed numbers with mean `loc` and standard deviation `scale`."""
    _require(scale >= 0, "scale is not negative")
    return loc + scale * generator.standard_normal(shape)


@_distribution(alpha=1, beta=1)
def gamma(shape: tuple, dtype: np.dtype, alpha: Any, beta: Any) -> np.ndarray:
    """Gamma distributed numbers of shape parameter `alpha` and scale `beta`: their mean is alpha*beta."""
    _require(alpha >= 0, "alpha is not negative")
    _require(beta >= 0, "beta is not negative")
    return beta * generator.standard_gamma(alpha, shape)


@_distribution(scale=1)
def exponential(shape: tuple, dtype: np.dtype, scale: Any) -> np.ndarray:
    """Exponentially distributed numbers with mean `scale`."""
    _require(scale >= 0, "scale is not negative")
    return scale * generator.standard_exponential(shape)


@_distribution(lam=1)
def poisson(shape: tuple, dtype: np.dtype, lam: Any) -> np.ndarray:
    """Poisson distributed whole numbers, as floats, with mean `lam`."""
    _require(lam >= 0, "lam is not negative")
    return generator.poisson(lam, shape)


@_distribution(k=1, p=1)
def negative_binomial(shape: tuple, dtype: np.dtype, k: Any, p: Any) -> np.ndarray:
    """How many failures come before the `k`-th success, with success of probability `p`; as floats."""
    _require(k > 0, "k is positive")
    _require((p > 0) & (p <= 1), "p is in (0, 1]")
    return generator.negative_binomial(k, p, shape)


@_distribution(mu=1, alpha=1)
def generalized_negative_binomial(shape: tuple, dtype: np.dtype, mu: Any, alpha: Any) -> np.ndarray:
    """Negative binomial numbers, as floats, by their mean `mu` and `alpha`: their variance is mu + alpha mu^2."""
    _require(mu >= 0, "mu is not negative")
    _require(alpha >= 0, "alpha is not negative")
    # A Poisson variable whose mean is a gamma variable of mean mu and variance alpha mu^2.
    alpha = np.asarray(alpha, np.float64)
    spread = generator.standard_gamma(1 / np.where(alpha > 0, alpha, 1), shape) * alpha
    return generator.poisson(mu * np.where(alpha > 0, spread, 1))


def randn(
    *shape: int,
    loc: Parameter = 0,
    scale: Parameter = 1,
    dtype: Any = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """`normal`, with the lengths of the shape as arguments."""
    return normal(loc, scale, shape, dtype, ctx, out)


def randint(
    low: int,
    high: int,
    shape: Shape | None = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Integers evenly distributed in [low, high), of type int32 or int64 (default int32)."""
    if dtype is None:
        dtype = "int32" if out is None else out._data.dtype
    dtype = element_type(dtype)
    if dtype.name not in ("int32", "int64"):
        raise MXNetError(f"random.randint: integers are drawn as int32 or int64, not {dtype}")
    if not (isinstance(low, numbers.Integral) and isinstance(high, numbers.Integral)):
        raise MXNetError(f"random.randint: low and high are integers, not {type(low).__name__}, {type(high).__name__}")
    limits = np.iinfo(dtype)
    if not limits.min <= low < high <= limits.max + 1:
        raise MXNetError(f"random.randint: [{low}, {high}) is no range of {dtype} numbers")
    return _deliver(place(generator.integers(low, high, _shape("randint", shape, out), dtype), ctx), out)


def shuffle(data: NDArray, out: NDArray | None = None) -> NDArray:
    """A copy of `data` with its rows, along the first axis, in random order."""
    return _deliver(gather(data.detach(), key=(to_context(generator.permutation(len(data)), data._ctx),)), out)


# ---------------------------------------------------------------- choices


def multinomial(
    data: NDArray, shape: Shape | None = None, get_prob: bool = False, out: Any = None, dtype: Any = "int32"
) -> NDArray | list[NDArray]:
    """Indices drawn with given probabilities.

    Parameters
    ----------
    data: probabilities (..., k) of a floating-point type; those of a row count in relation to their sum.
    shape: of what is drawn from each row of probabilities.
    get_prob: also return the logarithms of the probabilities of what was drawn, through which gradients flow.
    out: an array to write the indices to; with `get_prob`, two.
    dtype: the element type of the indices.

    Returns
    -------
    Indices below k, shaped like `data` without its last axis, followed by `shape`; with `get_prob`, a list of them
    and the logarithms.
    """
    each = () if shape is None else _checked("multinomial", shape)
    dtype = element_type(dtype)
    drawn = _choose(_probabilities(data, dtype), int(np.prod(each)))
    k = data.shape[-1]
    result_shape = (data.shape[:-1] + each) or (1,)
    indices = place((drawn % k).astype(dtype).reshape(result_shape), data._ctx)
    if not get_prob:
        return _deliver(indices, out)
    results = [indices, log(gather(reshape(data, (-1,)), key=(to_context(drawn.reshape(result_shape), data._ctx),)))]
    return results if out is None else [_deliver(y, o) for y, o in zip(results, out, strict=True)]


def _probabilities(data: NDArray, dtype: np.dtype) -> np.ndarray:
    """The rows of `data` in float64; MXNetError unless they are probabilities of indices that `dtype` can hold."""
    if data._data.dtype.kind != "f" and data._data.dtype.name != "bfloat16":
        raise MXNetError(f"random.multinomial: probabilities are of a floating-point type, not {data._data.dtype}")
    k = data.shape[-1]
    largest = np.iinfo(dtype).max if dtype.kind in "iu" else 1 / float(np.finfo(dtype).eps) * 2
    if k - 1 > largest:
        raise MXNetError(f"random.multinomial: {dtype} cannot hold all indices below {k}")
    rows = to_host(data._data).reshape(-1, k).astype(np.float64)
    right = (rows >= 0).all(axis=1) & (rows.sum(axis=1) > 0) & np.isfinite(rows).all(axis=1)
    if not right.all():
        wrong = rows[np.argmin(right)]
        raise MXNetError(
            f"random.multinomial: probabilities are finite, not negative and not all 0, but row {np.argmin(right)} "
            f"has {wrong.min():g} as its least and {wrong.sum():g} as its sum (see softmax)"
        )
    return rows


def _choose(rows: np.ndarray, n: int) -> np.ndarray:
    """n indices drawn from each row of probabilities, (rows, n), as positions in the flattened rows."""
    steps = np.cumsum(rows, axis=1)
    steps /= steps[:, -1:]
    lead = np.arange(len(rows), dtype=np.float64)[:, None]
    wanted = np.minimum(lead + generator.random((len(rows), n)), np.nextafter(lead + 1, 0))
    return np.searchsorted((lead + steps).ravel(), wanted, side="right")


# ---------------------------------------------------------------- of the shape of another array


def _like(draw: Callable[..., NDArray]) -> Callable[..., NDArray]:
    def like(data: NDArray, *parameters: float, out: NDArray | None = None, **named: float) -> NDArray:
        return draw(*parameters, shape=data.shape, dtype=data._data.dtype, ctx=data._ctx, out=out, **named)

    like.__name__ = like.__qualname__ = f"{draw.__name__}_like"
    like.__doc__ = f"`{draw.__name__}` of the given parameters, with the shape, type and context of `data`."
    return like


uniform_like = _like(uniform)
normal_like = _like(normal)
gamma_like = _like(gamma)

poisson_like = _like(poisson)
negative_binomial_like = _like(negative_binomial)
generalized_negative_binomial_like = _like(generalized_negative_binomial)


def exponential_like(data: NDArray, lam: float = 1.0, out: NDArray | None = None) -> NDArray:
    """Exponentially distributed numbers with mean 1 / `lam`, with the shape, type and context of `data`."""
    _require(lam > 0, "lam is positive")
    return exponential(1 / lam, shape=data.shape, dtype=data._data.dtype, ctx=data._ctx, out=out)
