"""Graphs that several files of tests use."""

from __future__ import annotations

import runtime as mx


def mlp() -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, name="fc1", num_hidden=8), act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, name="fc2", num_hidden=3), name="softmax")
