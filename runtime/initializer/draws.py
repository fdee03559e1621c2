"""Initializers that draw random numbers."""

from __future__ import annotations

import math

import numpy as np

from runtime import random
from runtime.base import ArgumentError
from runtime.context import cpu
from runtime.initializer.base import Initializer, register
from runtime.ndarray.ndarray import NDArray


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
            raise ArgumentError(f"rand_type is 'uniform' or 'normal', not {rand_type!r}")
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        draw, start = (random.uniform, -1) if self.rand_type == "uniform" else (random.normal, 0)
        drawn = draw(start, 1, shape, ctx=cpu())
        u, _, v = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        arr[:] = self.scale * (u if u.shape == shape else v).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Keeps the variance of activations and gradients from layer to layer: Glorot & Bengio 2010 (with `magnitude=2`,
    `factor_type='in'`, He et al. 2015).

    Parameters
    ----------
    rnd_type: 'uniform' in [-s, s) or 'gaussian' with standard deviation s, where s = sqrt(magnitude/n).
    factor_type: what n is: the number of inputs ('in'), of outputs ('out'), or the mean of both ('avg').
    magnitude: see above.

    A weight is (outputs, inputs, ...); lengths of further axes count towards both.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        if rnd_type not in ("uniform", "gaussian"):
            raise ArgumentError(f"rnd_type is 'uniform' or 'gaussian', not {rnd_type!r}")
        if factor_type not in ("avg", "in", "out"):
            raise ArgumentError(f"factor_type is 'avg', 'in' or 'out', not {factor_type!r}")
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
