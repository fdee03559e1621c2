"""Batches of sequences of several lengths: (steps, batch, ...), or (batch, steps, ...) for axis 1."""

from __future__ import annotations

import numpy as np

from runtime.onnx.call import Call, Translation, ints


def _mask(call: Call) -> str:
    if not call.values["use_sequence_length"]:
        return call.add("Identity", call.x)
    axis, after = call.axis(), (1,) * (call.rank() - 2)
    steps = np.arange(call.length(axis)).reshape((-1, 1, *after) if axis == 0 else (1, -1, *after))
    lengths = call.reshape(call.cast(call.inputs[1], np.int64), (1, -1, *after) if axis == 0 else (-1, 1, *after))
    return call.add("Where", call.add("Less", steps, lengths), call.x, call.number(call.values["value"]))


def _last(call: Call) -> str:
    axis = call.axis()
    if not call.values["use_sequence_length"]:
        return call.add("Gather", call.x, np.array(-1, np.int64), axis=axis)
    x = call.x if axis == 1 else call.transpose(call.x, [1, 0, *range(2, call.rank())])
    last = call.add("Sub", call.cast(call.inputs[1], np.int64), ints(1))
    return call.add("GatherND", x, call.add("Unsqueeze", last, ints([1])), batch_dims=1)


def _reverse(call: Call) -> str:
    if not call.values["use_sequence_length"]:
        end = np.iinfo(np.int64).max
        return call.add("Slice", call.x, ints([end]), ints([-end]), ints([0]), ints([-1]))
    lengths = call.cast(call.inputs[1], np.int64)
    return call.add("ReverseSequence", call.x, lengths, time_axis=0, batch_axis=1)


TRANSLATIONS: dict[str, Translation] = {"SequenceMask": _mask, "SequenceLast": _last, "SequenceReverse": _reverse}
