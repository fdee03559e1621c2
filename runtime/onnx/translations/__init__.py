"""What each operator becomes: a file for each family, whose `TRANSLATIONS` has functions by names of operators.

To add an operator, write a function of a `Call` beside one that is like it, and enter it in that file's table.
"""

from runtime.onnx.call import Translation
from runtime.onnx.translations import (
    activation,
    arithmetic,
    convolution,
    elementwise,
    indexing,
    normalization,
    outputs,
    pieces,
    pooling,
    products,
    recurrent,
    reduction,
    sequence,
    shape,
)

TRANSLATIONS: dict[str, Translation] = {
    name: translation
    for family in (
        activation,
        arithmetic,
        convolution,
        elementwise,
        indexing,
        normalization,
        outputs,
        pieces,
        pooling,
        products,
        recurrent,
        reduction,
        sequence,
        shape,
    )
    for name, translation in family.TRANSLATIONS.items()
}
"""The translations of all families, by the names of their operators."""
