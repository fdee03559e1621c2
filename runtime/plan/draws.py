"""The draws of dropout as steps: words are taken from the generator in order, and a kernel computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.core.generator import take_words
from runtime.native import philox as native
from runtime.ndarray.nn.dropout import draw_of, draw_pays, scale_of
from runtime.ndarray.two_gradients import constants
from runtime.plan.steps import Array, Buffer, KernelStep, PythonStep, Step, new

STATE_WORDS = 25
"""The length of what `take_words` returns."""


def factors(
    steps: list[Step], inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]
) -> list[Array | None] | None:
    """What elements are multiplied by; None for few elements, which NumPy draws."""
    y = new(attrs["shape"], inputs[0].dtype)
    if not draw_pays(y.size, y.dtype):
        return None
    draw, state = draw_of(y.size, attrs["p"]), new((STATE_WORDS,), np.dtype(np.int64))
    number = constants(y.dtype, scale_of(attrs["p"]))
    scale = Array(Buffer(number.nbytes, "constant", array=number), 0, number.shape, number.dtype)
    steps.append(PythonStep(take_words, [draw.words], {}, [state], draws=True))
    arguments = [y, scale, state, *draw.numbers]
    reads, writes = [scale.buffer, state.buffer], [y.buffer]
    steps.append(KernelStep(native.draw, draw.tasks, draw.work, arguments, reads, writes, y.dtype))
    return [y]
