"""What parameters start as."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import random
from runtime.base import ArgumentError, did_you_mean
from runtime.ndarray.ndarray import NDArray
from runtime.registry import Registry

_registry = Registry("initializer")


class InitDesc(str):
    """A parameter's name. `attrs['__init__']`, if there, is the initializer the parameter asked for itself;
    `global_init` is the one it was to be initialized by otherwise."""

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: dict[str, Any] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


class Initializer:
    """Fills arrays with first values. A subclass says what weights are in `_init_weight(name, arr)`, writing to `arr`.

    Called with a parameter's name and array, it goes by the name's ending, as ENDINGS has it: weights are its own
    business; biases, `beta` and running means are 0; `gamma` and running variances are 1. The arguments a subclass
    passes on to `Initializer.__init__` are what `dumps` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] = _size

    def __call__(self, desc: str, arr: NDArray) -> None:
        own = getattr(desc, "attrs", {}).get("__init__")
        if isinstance(desc, InitDesc) and desc.global_init is None:
            desc.global_init = self
        if own:
            create(own)._init_weight(desc, arr)
            return self._log(desc, own, arr)
        for endings, method in ENDINGS:
            if desc.endswith(endings):
                getattr(self, method)(desc, arr)
                return self._log(desc, method.removeprefix("_init_"), arr)
        self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ValueError(
            f"no default for a parameter named '{name}': names end in weight, bias, gamma or beta; else give it init="
        )

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> Initializer:
        """Log each array that is initialized, with what `print_func` says of it (its norm over the root of its size);
        returns the initializer."""
        self._verbose = verbose
        self._print_func = print_func or _size
        return self

    def _log(self, name: str, how: Any, arr: NDArray) -> None:
        if self._verbose:
            logging.info("Initialized %s as %s: %s", name, how, self._print_func(arr))

    def dumps(self) -> str:
        """Name and arguments in JSON, from which `create` makes an equal initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"


ENDINGS = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    (("min", "moving_mean", "running_mean", "moving_inv_var", "moving_avg"), "_init_zero"),
    (("max", "moving_var", "running_var"), "_init_one"),
)
"""Endings of names, and the method of Initializer that arrays of such a name are given to."""


def _size(arr: NDArray) -> str:
    x = arr.asnumpy().astype(np.float64)
    return str(np.linalg.norm(x) / math.sqrt(x.size))


# ---------------------------------------------------------------- by name


def register(cls: type[Initializer]) -> type[Initializer]:
    """Class decorator: the initializer can be asked for by its name."""
    return _registry.register(cls)


def alias(*names: str) -> Callable[[type[Initializer]], type[Initializer]]:
    """Class decorator: the initializer can be asked for by these names too."""
    return lambda cls: _registry.register(cls, *names)


def create(initializer: str | dict | Initializer, *args: Any, **kwargs: Any) -> Initializer:
    """The initializer itself, or a new one: of that registered name with these arguments, or as `dumps` wrote it."""
    if isinstance(initializer, (Initializer, Load, Mixed)):
        return initializer
    if not isinstance(initializer, (str, dict)):
        raise TypeError(f"an initializer is an Initializer or a name, not {type(initializer).__name__}")
    return _registry.create(initializer, *args, **kwargs)


# ---------------------------------------------------------------- made of others


class Load:
    """Parameters from a file of `nd.save`, or a dict of arrays by name; a prefix 'arg:' or 'aux:' is dropped.

    What is not there is left to `default_init`. `verbose` logs what happened to each array.
    """

    def __init__(
        self, param: str | dict[str, NDArray], default_init: Initializer | None = None, verbose: bool = False
    ) -> None:
        if not isinstance(param, dict):
            from runtime.ndarray import load

            param = load(param)
            if not isinstance(param, dict):
                raise ValueError("Load needs arrays by name, but the file has a list of arrays")
        self.param = {re.sub("^(arg|aux):", "", name): arr for name, arr in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        loaded = self.param.get(name)
        if loaded is not None:
            if loaded.shape != arr.shape:
                raise ValueError(f"'{name}' has shape {arr.shape}, but what is loaded for it has shape {loaded.shape}")
            arr[:] = loaded
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise ValueError(
                f"there is no default_init for '{name}', which is not in what is loaded{did_you_mean(name, self.param)}"
            )
        if self.verbose:
            logging.info("Initialized %s by %s", name, "default" if loaded is None else "loading")


class Mixed:
    """Several initializers: the first whose pattern, a regular expression, matches the beginning of the name."""

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Initializer]) -> None:
        if len(patterns) != len(initializers):
            raise ValueError(f"{len(patterns)} patterns, but {len(initializers)} initializers")
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                return init(name, arr)
        raise ValueError(f"no pattern matches '{name}'; add '.*' with an initializer for all others at the end")


# ---------------------------------------------------------------- constants


@register
class Constant(Initializer):
    """`value` (a number, or an array of the parameter's shape)."""

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value

    _init_default = _init_weight

    def dumps(self) -> str:
        return json.dumps([type(self).__name__.lower(), {"value": _plain(self.value)}])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self) is type(other) and np.array_equal(_plain(self.value), _plain(other.value))

    __hash__ = None


def _plain(value: Any) -> Any:
    """An array as nested lists, anything else as it is."""
    return np.asarray(value).tolist() if isinstance(value, (NDArray, np.ndarray, np.generic)) else value


@register
@alias("zeros")
class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)
        self._kwargs = {}

    dumps = Initializer.dumps


@register
@alias("ones")
class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)
        self._kwargs = {}

    dumps = Initializer.dumps


@register
class Bilinear(Initializer):
    """The kernels (outputs, inputs, height, width) of a transposed convolution that interpolates linearly."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim != 4:
            raise ValueError(f"Bilinear needs a weight with four axes, but '{name}' has shape {arr.shape}")
        height, width = arr.shape[2:]
        half = math.ceil(width / 2)
        centre = (2 * half - 1 - half % 2) / (2 * half)
        ramps = [1 - np.abs(np.arange(n) / half - centre) for n in (height, width)]
        arr[:] = np.broadcast_to(np.outer(*ramps), arr.shape)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM cell, (4 hidden,): `forget_bias` for the second gate, which forgets, and 0 for the others."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        arr[:] = 0
        arr[hidden : 2 * hidden] = self.forget_bias


# ---------------------------------------------------------------- random numbers


@register
class Uniform(Initializer):
    """Evenly distributed in [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = random.uniform(-self.scale, self.scale, arr.shape, arr.dtype, arr.context)


@register
class Normal(Initializer):
    """Normally distributed with mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = random.normal(0, self.sigma, arr.shape, arr.dtype, arr.context)


@register
class Orthogonal(Initializer):
    """`scale` times a matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2013); axes after the
    first count as one. `rand_type` of the numbers it is made from: 'uniform' or 'normal'."""

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        if rand_type not in ("uniform", "normal"):
            raise ValueError(f"rand_type is 'uniform' or 'normal', not {rand_type!r}")
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        draw = (
            (lambda: random.uniform(-1, 1, shape))
            if self.rand_type == "uniform"
            else lambda: random.normal(0, 1, shape)
        )
        u, _, v = np.linalg.svd(draw().asnumpy(), full_matrices=False)
        arr[:] = self.scale * (u if u.shape == shape else v).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Keeps the size of what flows through a layer: Glorot & Bengio 2010 (with `magnitude=2`, `factor_type='in'`, He
    et al. 2015).

    Parameters
    ----------
    rnd_type: 'uniform' in [-s, s) or 'gaussian' with standard deviation s, where s = sqrt(magnitude/n).
    factor_type: what n is: the number of inputs ('in'), of outputs ('out'), or the mean of both ('avg').
    magnitude: see above.

    A weight is (outputs, inputs, ...); lengths of further axes count towards both.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        if rnd_type not in ("uniform", "gaussian"):
            raise ValueError(f"rnd_type is 'uniform' or 'gaussian', not {rnd_type!r}")
        if factor_type not in ("avg", "in", "out"):
            raise ValueError(f"factor_type is 'avg', 'in' or 'out', not {factor_type!r}")
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ArgumentError(f"Xavier needs a weight with at least two axes, but '{name}' has shape {arr.shape}")
        field = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * field, arr.shape[0] * field
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[:] = random.uniform(-scale, scale, arr.shape, arr.dtype, arr.context)
        else:
            arr[:] = random.normal(0, scale, arr.shape, arr.dtype, arr.context)


@register
class MSRAPrelu(Xavier):
    """`Xavier('gaussian', factor_type, 2/(1 + slope^2))`: for layers before a PReLU (He et al. 2015)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}
