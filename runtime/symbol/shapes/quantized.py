"""Shapes of operators of 8 bits: those of the operators in floats, with ranges of one number each beside them."""

from __future__ import annotations

from collections.abc import Callable

from runtime.symbol.shapes import elementwise, layers, views
from runtime.symbol.shapes.common import Rule, Shapes, Values, merged


def _ranged(rule: Rule, arrays: Callable[[Values, int], int]) -> Rule:
    """The rule for the first inputs, as many as `arrays(values, inputs)` says, and the first output."""

    def found(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        n = arrays(values, len(inputs))
        first, results = rule(values, inputs[:n], outputs[:1])
        ranges: Shapes = [merged(x, (1,)) for x in inputs[n:]]
        return [*first, *ranges], [results[0], *[merged(y, (1,)) for y in outputs[1:]]]

    return found


def _of_product(values: Values, inputs: int) -> int:
    return 2 if values["no_bias"] else 3


def _first(count: int) -> Callable[[Values, int], int]:
    return lambda values, inputs: count


_ONE = ("quantize", "quantize_v2", "dequantize", "requantize", "quantized_act")

RULES: dict[str, Rule] = {
    **dict.fromkeys((f"_contrib_{name}" for name in _ONE), _ranged(elementwise.same, _first(1))),
    "_contrib_quantized_flatten": _ranged(views.flatten, _first(1)),
    "_contrib_quantized_pooling": _ranged(layers.pooling, _first(1)),
    "_contrib_quantized_embedding": _ranged(layers.embedding, _first(2)),
    "_contrib_quantized_concat": _ranged(views.concat, lambda values, inputs: inputs // 3),
    "_contrib_quantized_elemwise_add": _ranged(elementwise.same, _first(2)),
    "_contrib_quantized_elemwise_mul": _ranged(elementwise.same, _first(2)),
    "_contrib_quantized_batch_norm": _ranged(layers.normalization, _first(5)),
    "_contrib_quantized_conv": _ranged(layers.convolution, _of_product),
    "_contrib_quantized_fully_connected": _ranged(layers.fully_connected, _of_product),
}
