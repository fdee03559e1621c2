"""Operators that few networks have; see `cases`."""

from __future__ import annotations

from typing import Any

from tests.symbol.cases import IMAGES, Case


def _pooling(kind: str, **options: Any) -> Case:
    return Case(lambda S, x, y: S.Pooling_v1(x, kernel=(3, 2), pool_type=kind, **options), {"x": IMAGES})


def _hawkes(S: Any, x: Any, y: Any) -> Any:
    marks = S.BlockGrad(S.cast(S.var("marks"), dtype="int32"))
    rates, excitement, decay = S.exp(x), S.sigmoid(S.var("alpha")), S.exp(S.var("beta"))
    others = [S.BlockGrad(S.var(name)) for name in ("lags", "count", "end")]
    return S.contrib.hawkesll(rates, excitement, decay, S.BlockGrad(y), others[0], marks, *others[1:], name="h")


CASES = {
    "bn_v1": Case(lambda S, x, y: S.BatchNorm_v1(x, fix_gamma=False, name="bn"), {"x": IMAGES}),
    "conv_v1": Case(
        lambda S, x, y: S.Convolution_v1(x, kernel=(3, 2), num_filter=4, pad=(1, 1), stride=(2, 2), name="c"),
        {"x": IMAGES},
    ),
    "pool_v1": _pooling("max", pad=(1, 1), stride=(2, 2)),
    "pool_v1 mean": _pooling("avg", pad=(1, 0), stride=(2, 3)),
    "pool_v1 full": _pooling("avg", pooling_convention="full", stride=(2, 2)),
    "pool_v1 full max": _pooling("max", pooling_convention="full", pad=(1, 1), stride=(2, 2)),
    "pool_v1 global": _pooling("sum", global_pool=True),
    "sparseness": Case(lambda S, x, y: S.IdentityAttachKLSparseReg(S.sigmoid(x), penalty=0.5, name="s"), {"x": (4, 3)}),
    "hawkes": Case(
        _hawkes,
        {
            "x": (2, 3),
            "y": (2, 3),
            "alpha": (3,),
            "beta": (3,),
            "lags": (2, 4),
            "marks": (2, 4),
            "count": (2,),
            "end": (2,),
        },
        values={
            "y": [[0, 0.5, 1], [0, 0, 0]],
            "lags": [[0.5, 1, 0.25, 3], [1, 2, 0.5, 0.5]],
            "marks": [[0, 2, 2, 1], [1, 1, 0, 2]],
            "count": [4, 3],
            "end": [7, 5],
        },
    ),
}
