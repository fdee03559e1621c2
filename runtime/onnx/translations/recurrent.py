"""Recurrent layers. MXNet's operator has all layers and one vector of parameters, ONNX's have a layer each."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from runtime.onnx.call import Call, Translation

_GATES = {"lstm": [0, 3, 1, 2], "gru": [1, 0, 2], "rnn_relu": [0], "rnn_tanh": [0]}
"""Which gates of MXNet's ONNX's are: input, output, forget, cell of an LSTM; update, reset, new of a GRU."""


def _rnn(call: Call) -> list[str]:
    values = call.values
    parameters = call.constant(1)
    if parameters is None:
        call.fail("its parameters depend on the inputs")
    if values["projection_size"]:
        call.fail("ONNX has no projection_size")
    if values["lstm_state_clip_min"] is not None or values["lstm_state_clip_max"] is not None:
        call.fail("ONNX has no lstm_state_clip_min, and no lstm_state_clip_max")
    mode, directions = values["mode"], 2 if values["bidirectional"] else 1
    states = call.inputs[2:]  # none where they are zeros
    lengths = None
    if values["use_sequence_length"]:
        *states, last = states
        lengths = call.cast(last, np.int32)
    x = call.x
    ends = []
    for i, weights in enumerate(_layers(call, parameters, directions)):
        initial = states
        if values["num_layers"] > 1:
            initial = [call.slice(state, 0, i * directions, (i + 1) * directions) for state in states]
        y, *end = call.add_many(
            _OPERATORS[mode], 3 if mode == "lstm" else 2, x, *weights, lengths, *initial, **_settings(call, directions)
        )
        ends.append(end)
        # (steps, directions, batch, n) -> (steps, batch, directions n)
        x = call.reshape(call.transpose(y, (0, 2, 1, 3)), (0, 0, -1))
    if not values["state_outputs"]:
        return [x]
    if len(ends) == 1:
        return [x, *ends[0]]
    return [x, *(call.add("Concat", *parts, axis=0) for parts in zip(*ends, strict=True))]


_OPERATORS = {"lstm": "LSTM", "gru": "GRU", "rnn_relu": "RNN", "rnn_tanh": "RNN"}


def _settings(call: Call, directions: int) -> dict:
    found = {
        "hidden_size": call.values["state_size"],
        "direction": "bidirectional" if directions == 2 else "forward",
    }
    mode = call.values["mode"]
    if mode == "gru":
        found["linear_before_reset"] = 1
    elif mode != "lstm":
        found["activations"] = ["Relu" if mode == "rnn_relu" else "Tanh"] * directions
    return found


def _layers(call: Call, parameters: np.ndarray, directions: int) -> Iterator[list[np.ndarray]]:
    """For each layer the weights of its inputs, (directions, gates n, width), of its states, and the biases.

    The vector has all weights, layer by layer, direction by direction, and then all biases in the same order.
    """
    n, layers, order = call.values["state_size"], call.values["num_layers"], _GATES[call.values["mode"]]
    rows = len(order) * n
    widths = [call.length(2)] + [n * directions] * (layers - 1)
    shapes = [(rows, columns) for width in widths for _ in range(directions) for columns in (width, n)]
    shapes += [(rows, 1)] * (2 * layers * directions)
    bounds = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = [
        part.reshape(len(order), n, columns)[order].reshape(rows, columns)
        for part, (_, columns) in zip(np.split(parameters, bounds), shapes, strict=True)
    ]
    per_layer = 2 * directions
    for i in range(layers):
        weights = parts[i * per_layer : (i + 1) * per_layer]
        biases = parts[(layers + i) * per_layer : (layers + i + 1) * per_layer]
        yield [np.stack(weights[::2]), np.stack(weights[1::2]), np.stack(biases).reshape(directions, 2 * rows)]


TRANSLATIONS: dict[str, Translation] = {"RNN": _rnn}
