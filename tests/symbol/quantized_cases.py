"""Operators of 8 bits; see `cases`. Whole numbers are cast, as the arguments of cases are float32."""

from __future__ import annotations

from typing import Any

from tests.symbol.cases import Case

FLOATS = [[-3, -1, -0.5, -0.01, 0, 0.005], [0.0119, 0.5, 0.99, 1, 2, 3]]
WHOLE = [[5, -3, 100, -120], [1, 0, -128, 127]]
RANGES = {"a": [-1], "b": [2], "c": [-3], "d": [1], "e": [-0.5], "f": [0.25]}


def _case(make: Any, values: dict[str, list], **shapes: tuple[int, ...]) -> Case:
    """A case of 8 bits: `make(S, x, y, ranges)`, where `ranges(keys)` are variables, one for each letter."""

    def build(S: Any, x: Any, y: Any) -> Any:
        found = make(S, x, y, lambda keys: [S.var(key, shape=(1,), dtype="float32") for key in keys])
        return S.Group([z.astype("float32") for z in found])

    return Case(build, shapes, train=False, values=values | RANGES)


def _small(x: Any, kind: str = "int8") -> Any:
    return x.astype(kind)


def _product(S: Any, x: Any, y: Any, bounds: Any, bias: bool) -> dict[str, Any]:
    """The inputs of a product: MXNet's are called by name where the bias is left out."""
    names = ["min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias"][: 6 if bias else 4]
    found = {"data": x, "weight": _small(y)} | dict(zip(names, bounds("abcdef"[: len(names)]), strict=True))
    return found | ({"bias": _small(S.var("z"))} if bias else {}) | {"no_bias": not bias, "name": "q"}


def _dense(S: Any, x: Any, y: Any, bounds: Any, kind: str, bias: bool) -> Any:
    return S.contrib.quantized_fully_connected(**_product(S, x.astype(kind), y, bounds, bias), num_hidden=2)


def _convolution(S: Any, x: Any, y: Any, bounds: Any) -> Any:
    """The sums alone, without a bias: MXNet has the range of another type, and adds a bias of any range as it is."""
    options = {"kernel": (2, 2), "num_filter": 2, "stride": (1, 2), "pad": (1, 0)}
    return S.contrib.quantized_conv(**_product(S, x.astype("uint8"), y, bounds, False), **options)[0]


DENSE = {"x": [[1, 2, 100], [127, 64, 3]], "y": [[1, -2, 3], [4, -128, 127]], "z": [5, 6]}
IMAGES = {
    "x": [[[[0, 1, 2], [3, 200, 5], [6, 7, 255]]]],
    "y": [[[[-2, -1], [0, 1]]], [[[127, -128], [3, 4]]]],
}
POOLED = {"x": [[[[5, -3, 7], [2, 2, -9], [1, -1, 1]]]]}

CASES = {
    **{
        f"quantize {kind}": _case(
            lambda S, x, y, r, kind=kind: S.contrib.quantize(x, *r("ab"), out_type=kind, name="q"),
            {"x": FLOATS},
            x=(2, 6),
        )
        for kind in ("int8", "uint8")
    },
    **{
        f"quantize_v2 {kind} {low}": _case(
            lambda S, x, y, r, kind=kind, low=low: S.contrib.quantize_v2(
                x, out_type=kind, name="q", **({} if low is None else {"min_calib_range": low, "max_calib_range": 2.5})
            ),
            {"x": FLOATS},
            x=(2, 6),
        )
        for kind in ("int8", "uint8", "auto")
        for low in (None, -0.5, 0.0)
    },
    **{
        f"dequantize {kind}": _case(
            lambda S, x, y, r, kind=kind: [S.contrib.dequantize(S.abs(x).astype(kind), *r("ab"), name="q")],
            {"x": WHOLE},
            x=(2, 4),
        )
        for kind in ("int8", "uint8")
    },
    "requantize": _case(
        lambda S, x, y, r: S.contrib.requantize((x * 123456).astype("int32"), *r("ab"), name="q"),
        {"x": WHOLE},
        x=(2, 4),
    ),
    "requantize calibrated": _case(
        lambda S, x, y, r: S.contrib.requantize(
            (x * 12345678).astype("int32"), *r("ab"), min_calib_range=-0.25, max_calib_range=0.5, name="q"
        ),
        {"x": WHOLE},
        x=(2, 4),
    ),
    "flatten": _case(
        lambda S, x, y, r: S.contrib.quantized_flatten(_small(x), *r("ab"), name="q"), {"x": [WHOLE]}, x=(1, 2, 4)
    ),
    "act": _case(
        lambda S, x, y, r: S.contrib.quantized_act(_small(x), *r("ab"), act_type="relu", name="q"),
        {"x": WHOLE},
        x=(2, 4),
    ),
    **{
        f"pool {kind}": _case(
            lambda S, x, y, r, kind=kind: S.contrib.quantized_pooling(
                _small(x), *r("ab"), kernel=(2, 2), pad=(1, 1), stride=(2, 1), pool_type=kind, name="q"
            ),
            POOLED,
            x=(1, 1, 3, 3),
        )
        for kind in ("max", "avg")
    },
    "embedding": _case(
        lambda S, x, y, r: S.contrib.quantized_embedding(x, _small(y), *r("ab"), input_dim=2, output_dim=4, name="q"),
        {"x": [1, 0, 1], "y": WHOLE},
        x=(3,),
        y=(2, 4),
    ),
    **{
        f"concat {kind}": _case(
            lambda S, x, y, r, kind=kind: S.contrib.quantized_concat(
                S.abs(x).astype(kind), S.abs(y).astype("uint8"), *r("abcd"), num_args=2, dim=1, name="q"
            ),
            {"x": WHOLE, "y": [[1, 2], [100, 90]]},
            x=(2, 4),
            y=(2, 2),
        )
        for kind in ("int8", "uint8")
    },
    "add": _case(
        lambda S, x, y, r: S.contrib.quantized_elemwise_add(_small(x), _small(y), *r("abcd"), name="q"),
        {"x": WHOLE, "y": WHOLE[::-1]},
        x=(2, 4),
        y=(2, 4),
    ),
    "add calibrated": _case(
        lambda S, x, y, r: S.contrib.quantized_elemwise_add(
            _small(x), _small(y), *r("abcd"), min_calib_range=-3.0, max_calib_range=3.5, name="q"
        ),
        {"x": WHOLE, "y": WHOLE[::-1]},
        x=(2, 4),
        y=(2, 4),
    ),
    **{
        f"dense {kind} {bias}": _case(
            lambda S, x, y, r, kind=kind, bias=bias: _dense(S, x, y, r, kind, bias),
            DENSE,
            x=(2, 3),
            y=(2, 3),
            **({"z": (2,)} if bias else {}),
        )
        for kind in ("int8", "uint8")
        for bias in (False, True)
    },
    "convolution": _case(_convolution, IMAGES, x=(1, 1, 3, 3), y=(2, 1, 2, 2)),
}
