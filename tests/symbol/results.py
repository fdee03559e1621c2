"""What a graph of `cases` is and computes, in MXNet and here."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.symbol import cases, loop_cases, quantized_cases, rare_cases, vision_cases
from tests.symbol.cases import Case

FAMILIES = {
    "operators": cases.CASES,
    "loops": loop_cases.CASES,
    "vision": vision_cases.CASES,
    "rare": rare_cases.CASES,
    "quantized": quantized_cases.CASES,
}
"""The cases by the file in `data` that has what MXNet finds."""


def result(mx: Any, case: Case) -> dict[str, Any]:
    """The graph of a case as JSON, its names, shapes and types, its outputs, gradients and states.

    `mx` is the module mxnet or runtime.
    """
    getattr(mx.AttrScope, "_subgraph_names", {}).clear()  # MXNet's own count of loops
    with mx.name.NameManager():
        symbol = case.make(mx.sym, mx.sym.var("x"), mx.sym.var("y"))
    if case.inferred:
        shapes = symbol.infer_shape(**case.shapes)
        types = symbol.infer_type(**dict.fromkeys(case.shapes, "float32"))
    else:
        shapes, types = ([case.shapes[key] for key in symbol.list_arguments()], [], []), ((), (), ())
    found: dict[str, Any] = {
        "json": json.loads(symbol.tojson()),
        "names": [symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states()],
        "internals": symbol.get_internals().list_outputs(),
        "shapes": [[list(shape) for shape in part] for part in shapes],
        "types": [[np.dtype(dtype).name for dtype in part] for part in types],
    }
    draw = np.random.RandomState(0)
    args = {}
    for key, shape in zip(symbol.list_arguments(), shapes[0], strict=True):
        drawn = draw.randint(0, 3, shape) if key in case.whole else draw.uniform(-1, 1, shape)
        args[key] = mx.nd.array(case.values.get(key, drawn))
    states = {
        k: mx.nd.array(draw.uniform(0.5, 1, s)) for k, s in zip(symbol.list_auxiliary_states(), shapes[2], strict=True)
    }
    grads = {key: mx.nd.zeros(x.shape) for key, x in args.items()} if case.train else None
    executor = symbol.bind(mx.cpu(), args, grads, "write" if case.train else "null", states)
    outputs = executor.forward(is_train=case.train)
    found["outputs"] = [_rounded(y) for y in outputs]
    if case.train:
        executor.backward([mx.nd.array(np.random.RandomState(1).uniform(-1, 1, y.shape)) for y in outputs])
        found["grads"] = {key: _rounded(x) for key, x in executor.grad_dict.items()}
        found["states"] = {key: _rounded(x) for key, x in executor.aux_dict.items()}
    return found


def _rounded(x: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in x.asnumpy().astype("float64").ravel()]
