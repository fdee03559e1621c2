"""What parameters start as."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime import random
from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray
from runtime.registry import Registry

_registry = Registry("initializer")


class InitDesc(str):
    """A parameter's name. `attrs['__init__']`, if there, is the initializer the parameter asked for itself."""

    attrs: dict[str, Any]

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        return desc


class Initializer:
    """Fills arrays with first values. A subclass says what weights are in `_init_weight(name, arr)`, writing to `arr`.

    Called with a parameter's name and array, it goes by the name's ending: `weight` is its own business; `bias`,
    `beta`, and running means are 0; `gamma` and running variances are 1.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: NDArray) -> None:
        own = getattr(desc, "attrs", {}).get("__init__")
        if own:
            create(own)._init_weight(desc, arr)
        elif desc.endswith("weight"):
            self._init_weight(desc, arr)
        elif desc.endswith(("bias", "beta", "running_mean", "moving_mean")):
            arr[:] = 0
        elif desc.endswith(("gamma", "running_var", "moving_var")):
            arr[:] = 1
        else:
            self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ValueError(
            f"no default for a parameter named '{name}': names end in weight, bias, gamma or beta; else give it init="
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"


def register(cls: type[Initializer]) -> type[Initializer]:
    """Class decorator: the initializer can be asked for by its name."""
    return _registry.register(cls)


def create(initializer: str | Initializer, **kwargs: Any) -> Initializer:
    """The initializer itself, or a new one of that registered name with these arguments."""
    if isinstance(initializer, Initializer):
        return initializer
    if not isinstance(initializer, str):
        raise TypeError(f"an initializer is an Initializer or a name, not {type(initializer).__name__}")
    return _registry.get(initializer)(**kwargs)


class Constant(Initializer):
    """`value` (a number, or an array of the parameter's shape)."""

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value

    _init_default = _init_weight


class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)
        self._kwargs = {}


class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)
        self._kwargs = {}


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
            raise MXNetError(f"Xavier needs a weight with at least two axes, but '{name}' has shape {arr.shape}")
        field = int(np.prod(arr.shape[2:]))
        fan_in, fan_out = arr.shape[1] * field, arr.shape[0] * field
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[:] = random.uniform(-scale, scale, arr.shape, arr.dtype, arr.context)
        else:
            arr[:] = random.normal(0, scale, arr.shape, arr.dtype, arr.context)


_registry.register(Constant)
_registry.register(Zero, "zeros")
_registry.register(One, "ones")
