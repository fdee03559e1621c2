"""Normalization layers: values get mean 0 and variance 1, then a learned scale (gamma) and shift (beta)."""

from __future__ import annotations

from typing import Any

from runtime.base import count
from runtime.core.dtypes import element_type
from runtime.gluon.block import HybridBlock
from runtime.gluon.parameter import Parameter
from runtime.initializer import Initializer
from runtime.ndarray import NDArray
from runtime.ndarray.shape.reshape import axis_of

Init = str | Initializer


class _Normalization(HybridBlock):
    """The base class: gamma (trained if `scale`) and beta (trained if `center`), of shape (n,), 0 if unknown."""

    _axis = 1

    def _make_parameters(self, n: int, center: bool, scale: bool, beta: Init, gamma: Init) -> None:
        n = count(f"{type(self).__name__}: in_channels", n, -1)
        self._center, self._scale = center, scale
        self.gamma = self._parameter("gamma", n, gamma, "write" if scale else "null")
        self.beta = self._parameter("beta", n, beta, "write" if center else "null")

    def _parameter(self, name: str, n: int, init: Init, grad_req: str, **kwargs: Any) -> Parameter:
        return self.params.get(name, grad_req=grad_req, shape=(n,), init=init, allow_deferred_init=True, **kwargs)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        n = x.shape[axis_of(type(self).__name__, x.shape, self._axis)]
        for param in self._reg_params.values():
            param.shape = (n,)

    def _describe(self, **settings: Any) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in settings.items())})"


class _BatchNorm(_Normalization):
    """The base class of BatchNorm and BatchNormReLU."""

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._axis = axis
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        in_channels = count(f"{type(self).__name__}: in_channels", in_channels, -1)
        gamma = "write" if scale else "null"
        beta = "write" if center else "null"
        self.gamma = self._parameter("gamma", in_channels, gamma_initializer, gamma, differentiable=scale)
        self.beta = self._parameter("beta", in_channels, beta_initializer, beta, differentiable=center)
        self.running_mean = self._parameter(
            "running_mean", in_channels, running_mean_initializer, "null", differentiable=False
        )
        self.running_var = self._parameter(
            "running_var", in_channels, running_variance_initializer, "null", differentiable=False
        )

    def cast(self, dtype: Any) -> None:
        """Convert the parameters, to float32 at least: statistics in 16 bits would lose too much."""
        super().cast("float32" if element_type(dtype).itemsize == 2 else dtype)

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> NDArray:
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return self._describe(**self._kwargs, in_channels=self.gamma.shape[0] or None)


class BatchNorm(_BatchNorm):
    """Normalizes each channel over the batch (Ioffe & Szegedy 2015); in prediction, by running statistics.

    Parameters
    ----------
    axis: where the channels lie.
    momentum: `running = momentum running + (1 - momentum) batch`, at `backward`.
    epsilon: added to the variance.
    center, scale: whether beta, and gamma, are trained; otherwise they stay as they are, and gamma is 1.
    use_global_stats: normalize by the running statistics in training, too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer: first values.
    in_channels: how many channels there are; 0: taken from the first batch.
    """


class BatchNormReLU(_BatchNorm):
    """BatchNorm followed by ReLU."""

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> NDArray:
        return F.contrib.BatchNormWithReLU(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)


class InstanceNorm(_Normalization):
    """Normalizes each channel of each sample (Ulyanov et al. 2016).

    Parameters
    ----------
    axis: where the channels lie.
    epsilon: added to the variance.
    center, scale: whether beta, and gamma, are trained.
    beta_initializer, gamma_initializer: first values.
    in_channels: how many channels there are; 0: taken from the first batch.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._make_parameters(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        swapped = F.swapaxes(x, 1, self._axis)
        return F.swapaxes(F.InstanceNorm(swapped, gamma, beta, eps=self._epsilon, name="fwd"), 1, self._axis)

    def __repr__(self) -> str:
        return self._describe(**self._kwargs, in_channels=self.gamma.shape[0])


class LayerNorm(_Normalization):
    """Normalizes along one axis of each sample (Ba et al. 2016). Arguments as for InstanceNorm."""

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._make_parameters(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._describe(**self._kwargs, in_channels=self.gamma.shape[0])


class GroupNorm(_Normalization):
    """Normalizes each of `num_groups` groups of channels (axis 1) of each sample (Wu & He 2018).

    gamma and beta have shape (num_groups,), as in MXNet: one for each group, not for each channel.
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups = count("GroupNorm: num_groups", num_groups)
        self._epsilon = epsilon
        self._make_parameters(num_groups, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> NDArray:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._describe(**self._kwargs)
