"""Pooling: one number for each window of an image."""

from __future__ import annotations

from typing import Any

from runtime.gluon.block import HybridBlock
from runtime.gluon.nn.conv_layers import Size, check_layout, per_axis
from runtime.ndarray import NDArray


class _Pooling(HybridBlock):
    """What all poolings share. A subclass says how many spatial axes there are: by its layouts."""

    _LAYOUTS: tuple[str, ...] = ()
    _POOL_TYPE = "max"

    def __init__(
        self, pool_size: Size, strides: Size | None, padding: Size, ceil_mode: bool, layout: str, **kwargs: Any
    ) -> None:
        name, axes = type(self).__name__, len(self._LAYOUTS[0]) - 2
        check_layout(name, layout, self._LAYOUTS)
        super().__init__(**kwargs)
        kernel = per_axis(name, "pool_size", pool_size, axes)
        self._kwargs = {
            "kernel": kernel,
            "stride": kernel if strides is None else per_axis(name, "strides", strides, axes),
            "pad": per_axis(name, "padding", padding, axes, 0),
            "global_pool": False,
            "pool_type": self._POOL_TYPE,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        a = self._kwargs
        return (
            f"{type(self).__name__}(size={a['kernel']}, stride={a['stride']}, padding={a['pad']}, "
            f"ceil_mode={a['pooling_convention'] == 'full'}, global_pool={a['global_pool']}, "
            f"pool_type={a['pool_type']}, layout={a['layout']})"
        )


class _MaxPool(_Pooling):
    """The largest element of each window."""


class _AvgPool(_Pooling):
    """The mean of each window; with `count_include_pad`, padding counts as zeros."""

    _POOL_TYPE = "avg"

    def __init__(self, *args: Any, count_include_pad: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kwargs["count_include_pad"] = count_include_pad


class _GlobalPool(_Pooling):
    """One number for each channel: the window is the whole image."""

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, self._LAYOUTS[0] if layout is None else layout, **kwargs)
        self._kwargs["global_pool"] = True


_ONE, _TWO, _THREE = ("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC")


class MaxPool1D(_MaxPool):
    """The largest element of each window over one spatial axis.

    Parameters
    ----------
    pool_size: of the window. strides: from window to window; None for `pool_size`. padding: on either side.
    layout: where batch, channels and spatial axes lie.
    ceil_mode: a last window that is not full counts too.
    """

    _LAYOUTS = _ONE

    def __init__(
        self,
        pool_size: Size = 2,
        strides: Size | None = None,
        padding: Size = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


class MaxPool2D(_MaxPool):
    """The largest element of each window over two spatial axes; see MaxPool1D."""

    _LAYOUTS = _TWO

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: Size | None = None,
        padding: Size = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


class MaxPool3D(_MaxPool):
    """The largest element of each window over three spatial axes; see MaxPool1D."""

    _LAYOUTS = _THREE

    def __init__(
        self,
        pool_size: Size = (2, 2, 2),
        strides: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


class AvgPool1D(_AvgPool):
    """The mean of each window over one spatial axis; see MaxPool1D. With `count_include_pad`, padding counts as 0."""

    _LAYOUTS = _ONE

    def __init__(
        self,
        pool_size: Size = 2,
        strides: Size | None = None,
        padding: Size = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


class AvgPool2D(_AvgPool):
    """The mean of each window over two spatial axes; see AvgPool1D."""

    _LAYOUTS = _TWO

    def __init__(
        self,
        pool_size: Size = (2, 2),
        strides: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


class AvgPool3D(_AvgPool):
    """The mean of each window over three spatial axes; see AvgPool1D."""

    _LAYOUTS = _THREE

    def __init__(
        self,
        pool_size: Size = (2, 2, 2),
        strides: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


class GlobalMaxPool1D(_GlobalPool):
    """The largest element of each channel: (batch, channels, 1)."""

    _LAYOUTS = _ONE


class GlobalMaxPool2D(_GlobalPool):
    """The largest element of each channel: (batch, channels, 1, 1)."""

    _LAYOUTS = _TWO


class GlobalMaxPool3D(_GlobalPool):
    """The largest element of each channel: (batch, channels, 1, 1, 1)."""

    _LAYOUTS = _THREE


class GlobalAvgPool1D(_GlobalPool):
    """The mean of each channel: (batch, channels, 1)."""

    _LAYOUTS = _ONE
    _POOL_TYPE = "avg"


class GlobalAvgPool2D(_GlobalPool):
    """The mean of each channel: (batch, channels, 1, 1)."""

    _LAYOUTS = _TWO
    _POOL_TYPE = "avg"


class GlobalAvgPool3D(_GlobalPool):
    """The mean of each channel: (batch, channels, 1, 1, 1)."""

    _LAYOUTS = _THREE
    _POOL_TYPE = "avg"
