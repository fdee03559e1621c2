"""Recurrent networks of symbols, as a script for MXNet writes them: `mx` is that library, or this one."""

from __future__ import annotations

from typing import Any

import numpy as np


def cells(mx: Any) -> dict[str, Any]:
    """Cells by name; those with a name that ends in 'merged' are unrolled with merge_outputs=True."""
    rnn = mx.rnn
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(4, prefix="l0_"))
    stack.add(rnn.ResidualCell(rnn.GRUCell(4, prefix="l1_")))
    stack.add(rnn.DropoutCell(0.5, prefix="drop_"))
    both = rnn.BidirectionalCell(rnn.LSTMCell(3, prefix="l_"), rnn.GRUCell(3, prefix="r_"), output_prefix="both_")
    zone = rnn.ZoneoutCell(rnn.RNNCell(4, prefix="zone_"), zoneout_outputs=0.3, zoneout_states=0.2)
    fused = rnn.FusedRNNCell(3, num_layers=2, mode="gru", bidirectional=True, get_next_state=True, prefix="f_")
    lstm = rnn.FusedRNNCell(4, num_layers=2, mode="lstm", prefix="g_", dropout=0.5)
    return {
        "rnn": rnn.RNNCell(4, activation="relu", prefix="rnn_"),
        "lstm merged": rnn.LSTMCell(4, prefix="lstm_", forget_bias=2.0),
        "gru": rnn.GRUCell(4, prefix="gru_"),
        "stack merged": stack,
        "both": both,
        "both merged": rnn.BidirectionalCell(rnn.RNNCell(3, prefix="a_"), rnn.RNNCell(3, prefix="b_")),
        "zoneout": zone,
        "residual merged": rnn.ResidualCell(rnn.LSTMCell(4, prefix="res_")),
        "fused merged": fused,
        "unfused": fused.unfuse(),
        "fused lstm": lstm,
        "unfused lstm merged": lstm.unfuse(),
    }


def computed(mx: Any, name: str) -> dict[str, Any]:
    """The names in the unrolled graph, and its outputs and last states for data and weights from a fixed generator."""
    with mx.name.NameManager():
        cell = cells(mx)[name]
        merge = True if name.endswith("merged") else None
        outputs, states = cell.unroll(3, mx.sym.Variable("data"), layout="NTC", merge_outputs=merge)
        flat = [x for state in states for x in (state if isinstance(state, list) else [state])]
        net = mx.sym.Group([*(outputs if isinstance(outputs, list) else [outputs]), *flat])
    random = np.random.RandomState(5)
    shapes, _, _ = net.infer_shape(data=(2, 3, 4))
    shapes = dict(zip(net.list_arguments(), shapes))  # noqa: B905 (of Python 3.9, too)
    values = {key: random.uniform(-1, 1, shapes[key]).astype(np.float32) for key in sorted(shapes)}
    found = net.bind(mx.cpu(), {key: mx.nd.array(x) for key, x in values.items()}).forward()
    attributes = net.attr_dict()
    return {
        "arguments": net.list_arguments(),
        "outputs": net.list_outputs(),
        "internals": net.get_internals().list_outputs(),
        "inits": {key: attributes[key]["__init__"] for key in values if "__init__" in attributes.get(key, {})},
        "values": [x.asnumpy().round(7).tolist() for x in found],
        "unpacked": {key: list(x.shape) for key, x in cell.unpack_weights(_weights(mx, values)).items()},
    }


def _weights(mx: Any, values: dict[str, np.ndarray]) -> dict[str, Any]:
    return {key: mx.nd.array(x) for key, x in values.items() if key != "data"}
