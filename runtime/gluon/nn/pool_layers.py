"""Pooling: one number for each window of an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.signatures import REQUIRED, with_signature
from runtime.gluon.block import HybridBlock
from runtime.gluon.nn.layouts import check_layout, per_axis
from runtime.ndarray import NDArray


class _Pooling(HybridBlock):
    """What all poolings share. A subclass says how many spatial axes there are: by its layouts."""

    _LAYOUTS: tuple[str, ...] = ()
    _POOL_TYPE = "max"

    def __init__(self, given: Mapping[str, Any], **kwargs: Any) -> None:
        """`given` has the arguments of a pooling by name, `kwargs` those of a block."""
        name, axes, layout = type(self).__name__, len(self._LAYOUTS[0]) - 2, given["layout"]
        check_layout(name, layout, self._LAYOUTS)
        super().__init__(**kwargs)
        kernel, strides = per_axis(name, "pool_size", given["pool_size"], axes), given["strides"]
        self._kwargs = {
            "kernel": kernel,
            "stride": kernel if strides is None else per_axis(name, "strides", strides, axes),
            "pad": per_axis(name, "padding", given["padding"], axes, 0),
            "global_pool": False,
            "pool_type": self._POOL_TYPE,
            "layout": layout,
            "pooling_convention": "full" if given["ceil_mode"] else "valid",
        }
        if "count_include_pad" in given:
            self._kwargs["count_include_pad"] = given["count_include_pad"]

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


class _GlobalPool(_Pooling):
    """One number for each channel: the window is the whole image."""

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        layout = self._LAYOUTS[0] if layout is None else layout
        super().__init__({"pool_size": 1, "strides": None, "padding": 0, "ceil_mode": True, "layout": layout}, **kwargs)
        self._kwargs["global_pool"] = True


_ANNOTATIONS = {"strides": "Size | None", "layout": "str", "ceil_mode": "bool", "count_include_pad": "bool"}


def _constructor(block: str, **defaults: Any) -> Callable[..., None]:
    """The `__init__` of a pooling with these parameters, in this order, and those of blocks."""
    parameters = {name: (_ANNOTATIONS.get(name, "Size"), default) for name, default in defaults.items()}

    @with_signature(f"{block}.__init__", None, {"self": ("", REQUIRED)} | parameters, keywords=True, returns="None")
    def init(self: _Pooling, *values: Any, **kwargs: Any) -> None:
        _Pooling.__init__(self, dict(zip(defaults, values, strict=True)), **kwargs)

    return init


_ONE, _TWO, _THREE = ("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC")


class MaxPool1D(_Pooling):
    """The largest element of each window over one spatial axis.

    Parameters
    ----------
    pool_size: of the window. strides: from window to window; None for `pool_size`. padding: on either side.
    layout: where batch, channels and spatial axes lie.
    ceil_mode: a last window that is not full counts too.
    """

    _LAYOUTS = _ONE

    __init__ = _constructor("MaxPool1D", pool_size=2, strides=None, padding=0, layout="NCW", ceil_mode=False)


class MaxPool2D(_Pooling):
    """The largest element of each window over two spatial axes; see MaxPool1D."""

    _LAYOUTS = _TWO

    __init__ = _constructor("MaxPool2D", pool_size=(2, 2), strides=None, padding=0, layout="NCHW", ceil_mode=False)


class MaxPool3D(_Pooling):
    """The largest element of each window over three spatial axes; see MaxPool1D."""

    _LAYOUTS = _THREE

    __init__ = _constructor("MaxPool3D", pool_size=(2, 2, 2), strides=None, padding=0, ceil_mode=False, layout="NCDHW")


class AvgPool1D(_Pooling):
    """The mean of each window over one spatial axis; see MaxPool1D. With `count_include_pad`, padding counts as 0."""

    _LAYOUTS = _ONE
    _POOL_TYPE = "avg"

    __init__ = _constructor(
        "AvgPool1D", pool_size=2, strides=None, padding=0, layout="NCW", ceil_mode=False, count_include_pad=True
    )


class AvgPool2D(_Pooling):
    """The mean of each window over two spatial axes; see AvgPool1D."""

    _LAYOUTS = _TWO
    _POOL_TYPE = "avg"

    __init__ = _constructor(
        "AvgPool2D", pool_size=(2, 2), strides=None, padding=0, ceil_mode=False, layout="NCHW", count_include_pad=True
    )


class AvgPool3D(_Pooling):
    """The mean of each window over three spatial axes; see AvgPool1D."""

    _LAYOUTS = _THREE
    _POOL_TYPE = "avg"

    __init__ = _constructor(
        "AvgPool3D",
        pool_size=(2, 2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCDHW",
        count_include_pad=True,
    )


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
