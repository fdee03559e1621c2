"""What an operator tells of the element types of its inputs and outputs.

Most operators have one type for all. `_RULES` has the others: for each input and output a group, where all of a group
are of one type, or a type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.core.dtypes import element_type
from runtime.ndarray.custom import inferred
from runtime.symbol.graph import Node
from runtime.symbol.table import BATCH_NORMS

Types = list[np.dtype | None]
Groups = Callable[[Mapping[str, Any], int, int], tuple[Sequence[Any], Sequence[Any]]]


def type_rule(node: Node, inputs: Types, outputs: Types) -> tuple[Types, Types]:
    """The types that follow for the inputs and outputs of a node."""
    assert node.operator is not None
    name = node.operator.name
    if name in BATCH_NORMS:
        return _batch_norm(inputs, outputs)
    if name == "_contrib_quantized_concat":
        return _concatenated(inputs, outputs)
    if name == "amp_cast":
        return inputs, [_amp_cast(node.values, inputs[0])]
    if name == "amp_multicast":
        return _widest(node.values, inputs, outputs)
    if node.operator.open:
        return _custom(node.values, inputs, outputs)
    rule = _RULES.get(name, _one)
    wanted, given = rule(node.values, len(inputs), len(outputs))
    groups = [*wanted, *given]
    known = [*inputs, *outputs]
    found: dict[Any, np.dtype] = {}
    for group, dtype in zip(groups, known, strict=True):
        if dtype is not None and isinstance(group, int) and found.setdefault(group, dtype) != dtype:
            raise ValueError(f"the element types {found[group]} and {dtype} must be one")
    result = [
        found.get(g) if isinstance(g, int) else g if g is not None else t for g, t in zip(groups, known, strict=True)
    ]
    return result[: len(inputs)], result[len(inputs) :]


def _concatenated(inputs: Types, outputs: Types) -> tuple[Types, Types]:
    """uint8 of arrays of uint8 alone, else int8; their ranges are floats."""
    arrays = inputs[: len(inputs) // 3]
    kind = None if None in arrays else element_type("uint8" if {x and x.name for x in arrays} == {"uint8"} else "int8")
    return [*arrays, *[element_type()] * (len(inputs) - len(arrays))], [kind, *[element_type()] * 2]


def _widest(values: Mapping[str, Any], inputs: Types, outputs: Types) -> tuple[Types, Types]:
    """Outputs of the widest type among the inputs that are floats, or of the narrowest; the others keep theirs."""
    if None in inputs:
        return inputs, outputs
    choose = min if values["cast_narrow"] else max
    widest = choose((x for x in inputs if _is_float(x)), key=lambda x: x.itemsize, default=None)
    return inputs, [widest if _is_float(x) else x for x in inputs]


def _amp_cast(values: Mapping[str, Any], dtype: np.dtype | None) -> np.dtype | None:
    """The type of a float; whole numbers keep theirs."""
    return element_type(values["dtype"]) if dtype is not None and _is_float(dtype) else dtype


def _is_float(dtype: np.dtype | None) -> bool:
    return dtype is not None and dtype.kind not in "iub"


def _custom(values: Mapping[str, Any], inputs: Types, outputs: Types) -> tuple[Types, Types]:
    """What `infer_type` of a CustomOpProp says, given the first type that is known for inputs of which none is."""
    prop = values["prop"]
    own = inputs[: len(prop.list_arguments())]
    first = next((x for x in own if x is not None), None)
    if own and first is None:
        return inputs, outputs
    types = [(first if x is None else x).type for x in own]  # type: ignore[union-attr]
    found, made, states = inferred(values["op_type"], "infer_type", prop, types)
    return [element_type(x) for x in (*found, *states)], [element_type(y) for y in made]


def _batch_norm(inputs: Types, outputs: Types) -> tuple[Types, Types]:
    """Statistics of 16-bit data are float32; others have the type of data."""
    data = inputs[0] or outputs[0] or next((x for x in inputs[1:] if x is not None and x != element_type()), None)
    own = element_type() if data is not None and data.itemsize == 2 else data
    return [data, *[own] * (len(inputs) - 1)], [data, *[own] * (len(outputs) - 1)]


def _one(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    return [0] * inputs, [0] * outputs


def _own(*places: int) -> Groups:
    """One type for all but the inputs of these places, which are of any."""

    def groups(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
        return [None if i in places else 0 for i in range(inputs)], [0] * outputs

    return groups


def _stated(key: str = "dtype", default: str | None = "float32") -> Groups:
    """An output whose type is an attribute; `default` where that is None, or the type of the input."""

    def groups(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
        name = values[key] or default
        return [0] * inputs, [0 if name is None else element_type(name)] * outputs

    return groups


def _given(name: str) -> Groups:
    """An output of one type, whatever the inputs are."""
    return lambda values, inputs, outputs: ([None] * inputs, [element_type(name)] * outputs)


def _cast(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    return [None] * inputs, [element_type(values["dtype"])] * outputs


def _embedding(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    return [None, 0], [0]


def _topk(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    indices = element_type(values["dtype"])
    return [0], {"value": [0], "mask": [0], "both": [0, indices]}.get(values["ret_typ"], [indices])


def _master(own: int) -> Groups:
    """The first inputs, `own` of them, and the output of one type; the other inputs float32."""
    return lambda values, inputs, outputs: ([0] * own + [element_type()] * (inputs - own), [0] * outputs)


def _quantized(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    """8 bits, of the type that the attributes say, and floats."""
    low = values.get("min_calib_range")
    auto = "uint8" if low is not None and low >= 0 else "int8"
    kind = element_type(auto if values["out_type"] == "auto" else values["out_type"])
    return [None, *[element_type()] * (inputs - 1)], [kind, *[element_type()] * (outputs - 1)]


def _with_range(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    """8 bits and the floats of their range, in and out."""
    return [0, *[element_type()] * (inputs - 1)], [0, *[element_type()] * (outputs - 1)]


def _wide_products(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    """Data of 8 bits, a weight and perhaps a bias of int8; int32 comes out."""
    small = 1 if values["no_bias"] else 2
    own = [element_type("int8")] * small
    return [None, *own, *[element_type()] * (inputs - small - 1)], [element_type("int32"), *[element_type()] * 2]


def _wide_sums(values: Mapping[str, Any], inputs: int, outputs: int) -> tuple[Sequence[Any], Sequence[Any]]:
    """Two of 8 bits; int32 comes out, or int8 for a range that is given, or floats."""
    given = values["min_calib_range"] is not None and values["max_calib_range"] is not None
    kind = "float32" if values.get("enable_float_output") else "int8" if given else "int32"
    floats = [element_type()] * 4
    return [None, None, *floats], [element_type(kind), *floats[: outputs - 1]]


_DISTRIBUTIONS = [
    "uniform",
    "normal",
    "gamma",
    "exponential",
    "poisson",
    "negative_binomial",
    "generalized_negative_binomial",
]

_RULES: dict[str, Groups] = {
    **dict.fromkeys(("Cast", "one_hot", "argsort"), _cast),
    **dict.fromkeys(("Embedding", "_contrib_SparseEmbedding"), _embedding),
    **dict.fromkeys(
        ("take", "pick", "gather_nd", "SequenceMask", "SequenceLast", "SequenceReverse", "softmax", "batch_take"),
        _own(1),
    ),
    "where": _own(0),
    "RNN": _own(4),
    "CTCLoss": _own(1, 2, 3),
    "_contrib_hawkesll": _own(5),
    "scatter_nd": _own(1),
    "_contrib_boolean_mask": _own(1),
    "_contrib_index_copy": _own(1),
    **dict.fromkeys(("reshape_like", "broadcast_like", "slice_like"), _own(1)),
    **dict.fromkeys(
        ("shape_array", "size_array", "_contrib_index_array", "_contrib_getnnz", "_sample_unique_zipfian"),
        _given("int64"),
    ),
    "_histogram": lambda v, i, o: ([0] * i, [element_type("int64"), 0]),
    **dict.fromkeys(("log_softmax", "softmin"), _stated("dtype", None)),
    "norm": _stated("out_dtype", None),
    **dict.fromkeys(("_zeros", "_ones", "_full", "_arange", "_linspace", "_eye"), _stated()),
    **dict.fromkeys((f"_random_{name}" for name in _DISTRIBUTIONS), _stated()),
    "_random_randint": _stated("dtype", "int32"),
    "_sample_multinomial": lambda v, i, o: ([0], [element_type(v["dtype"]), 0][:o]),
    "topk": _topk,
    "_contrib_dequantize": _given("float32"),
    **dict.fromkeys(("_contrib_quantize", "_contrib_quantize_v2", "_contrib_requantize"), _quantized),
    **dict.fromkeys(("_contrib_quantized_conv", "_contrib_quantized_fully_connected"), _wide_products),
    **dict.fromkeys(("_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul"), _wide_sums),
    **dict.fromkeys((f"_contrib_quantized_{name}" for name in ("act", "flatten", "pooling")), _with_range),
    "_contrib_quantized_embedding": lambda v, i, o: ([None, 0, *[element_type()] * 2], [0, *[element_type()] * 2]),
    "_contrib_quantized_batch_norm": lambda v, i, o: (
        [None, *[element_type()] * (i - 1)],
        [element_type("int8"), *[element_type()] * 2],
    ),
    **dict.fromkeys(("mp_sgd_update", "mp_sgd_mom_update", "mp_nag_mom_update", "_mp_adamw_update"), _master(2)),
    "mp_lamb_update_phase1": lambda v, i, o: (_master(2)(v, i, o)[0], [element_type()]),
    "mp_lamb_update_phase2": _master(1),
}
"""The groups of inputs and outputs of operators with several: numbers, types, or None for a type of its own."""
