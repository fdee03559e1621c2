"""`rnn`: recurrent cells that make symbols, iterators over sentences in buckets, and checkpoints with weights by gate.

`base_cell` has what all cells do, `cells` the cells, `fused` the operator RNN as a cell, `modifiers` and `containers`
the cells that are made of cells. `rnn_cell` has all of them, under MXNet's path.
"""

from __future__ import annotations

from typing import NoReturn

from runtime.base import not_provided
from runtime.model import load_checkpoint, save_checkpoint
from runtime.rnn.io import BucketSentenceIter, encode_sentences
from runtime.rnn.rnn import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from runtime.rnn.rnn_cell import (
    BaseRNNCell,
    BidirectionalCell,
    DropoutCell,
    FusedRNNCell,
    GRUCell,
    LSTMCell,
    ModifierCell,
    ResidualCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
    ZoneoutCell,
)

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "do_rnn_checkpoint",
    "encode_sentences",
    "load_checkpoint",
    "load_rnn_checkpoint",
    "rnn_unroll",
    "save_checkpoint",
    "save_rnn_checkpoint",
]

_NOT_PROVIDED = dict.fromkeys(("ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"), "use gluon.contrib.rnn")


def __getattr__(key: str) -> NoReturn:
    if key in _NOT_PROVIDED:
        raise AttributeError(not_provided("runtime.rnn", key, _NOT_PROVIDED[key]))
    raise AttributeError(f"module 'runtime.rnn' has no attribute '{key}'")
