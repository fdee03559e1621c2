"""Products of matrices: dense layers, `dot`, and the parts of attention."""

from __future__ import annotations

import math

import numpy as np

from runtime.onnx.call import Call, Given, Translation, ints


def _turned(call: Call, i: int, transposed: bool) -> Given:
    """An input of matrices, with its last two axes exchanged where it is to be transposed."""
    if not transposed:
        return call.inputs[i]
    array = call.constant(i)
    if array is not None:
        return np.ascontiguousarray(np.swapaxes(array, -1, -2))
    axes = list(range(call.rank(i)))
    axes[-2:] = axes[:-3:-1]
    return call.transpose(call.inputs[i], axes)


def _fully_connected(call: Call) -> str:
    bias = [] if call.values["no_bias"] else call.inputs[2:]
    if bias and call.rank(2) == 2:
        bias = [call.reshape(bias[0], (-1,))]
    if call.values["flatten"]:
        x = call.x if call.rank() == 2 else call.add("Flatten", call.x)
        return call.add("Gemm", x, call.inputs[1], *bias, transB=1)
    y = call.add("MatMul", call.x, _turned(call, 1, True))
    return call.add("Add", y, *bias) if bias else y


def _batch_dot(call: Call) -> str:
    values = call.values
    return call.add("MatMul", _turned(call, 0, values["transpose_a"]), _turned(call, 1, values["transpose_b"]))


def _dot(call: Call) -> str:
    """Over the last axis of one and the first of the other, which ONNX's MatMul does for two axes at most."""
    if max(call.rank(0), call.rank(1)) > 2:
        call.fail("an input has more than two axes; use batch_dot")
    turned = (
        _turned(call, i, call.values[key] and call.rank(i) == 2) for i, key in enumerate(("transpose_a", "transpose_b"))
    )
    y = call.add("MatMul", *turned)
    return call.reshape(y, (1,)) if call.rank(0) == call.rank(1) == 1 else y


def _gemm2(call: Call) -> str:
    if call.values["axis"] not in (-2, call.rank() - 2):
        call.fail(f"its rows are axis {call.values['axis']}, not the last but one")
    y = _batch_dot(call)
    alpha = call.values["alpha"]
    return y if alpha == 1 else call.add("Mul", y, call.number(alpha))


def _gemm(call: Call) -> str:
    beta = call.values["beta"]
    scaled = call.inputs[2] if beta == 1 else call.add("Mul", call.inputs[2], call.number(beta))
    return call.add("Add", _gemm2(call), scaled)


# ---------------------------------------------------------------- attention


def _part(call: Call, i: int, part: int, parts: int) -> str:
    """One of the parts that lie side by side in each head: (steps, batch, heads parts n) -> (batch heads, steps, n)."""
    steps, _, width = call.lengths(i)
    n = width // parts // call.values["heads"]
    by_head = call.reshape(call.inputs[i], (0, -1, parts, n))
    if steps == -1:
        call.length(0, i)
    chosen = call.add("Gather", by_head, np.array(part, np.int64), axis=2)
    return call.transpose(chosen, (1, 0, 2))


def _scores(call: Call, queries: str, keys: str, n: int) -> str:
    scaled = call.add("Mul", queries, call.number(1 / math.sqrt(n)))
    return call.add("MatMul", scaled, call.transpose(keys, (0, 2, 1)))


def _self_scores(call: Call) -> str:
    n = call.lengths()[2] // 3 // call.values["heads"]
    return _scores(call, _part(call, 0, 0, 3), _part(call, 0, 1, 3), n)


def _encoder_scores(call: Call) -> str:
    n = call.lengths()[2] // call.values["heads"]
    return _scores(call, _part(call, 0, 0, 1), _part(call, 1, 0, 2), n)


def _weighted(call: Call, values: str) -> str:
    """The sums of values, (batch heads, steps, n), weighted by attention, as (steps, batch, heads n)."""
    sums = call.add("MatMul", call.inputs[1], values)
    return call.fitted(call.transpose(sums, (1, 0, 2)))


def _self_values(call: Call) -> str:
    return _weighted(call, _part(call, 0, 2, 3))


def _encoder_values(call: Call) -> str:
    return _weighted(call, _part(call, 0, 1, 2))


def _div_sqrt_dim(call: Call) -> str:
    return call.add("Mul", call.x, call.number(1 / math.sqrt(call.length(-1))))


def _khatri_rao(call: Call) -> str:
    """Products of columns: of matrices (m, k) and (n, k), (m n, k)."""
    found: str = call.x
    for other in call.inputs[1:]:
        found = call.add("Mul", call.add("Unsqueeze", found, ints([1])), call.add("Unsqueeze", other, ints([0])))
        found = call.reshape(found, (-1, call.length(1)))
    return found


TRANSLATIONS: dict[str, Translation] = {
    "FullyConnected": _fully_connected,
    "batch_dot": _batch_dot,
    "dot": _dot,
    "_linalg_gemm": _gemm,
    "_linalg_gemm2": _gemm2,
    "khatri_rao": _khatri_rao,
    "_contrib_div_sqrt_dim": _div_sqrt_dim,
    "_contrib_interleaved_matmul_selfatt_qk": _self_scores,
    "_contrib_interleaved_matmul_selfatt_valatt": _self_values,
    "_contrib_interleaved_matmul_encdec_qk": _encoder_scores,
    "_contrib_interleaved_matmul_encdec_valatt": _encoder_values,
}
