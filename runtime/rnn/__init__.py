"""`rnn`: recurrent cells that make symbols, iterators over sentences in buckets, and checkpoints with weights by gate.

`base_cell` has what all cells do, `cells` the cells, `convolutional` those over images, `fused` the operator RNN as a
cell, `modifiers` and `containers` the cells that are made of cells. `rnn_cell` has all of them, under MXNet's path.
"""

from runtime.model import load_checkpoint, save_checkpoint
from runtime.rnn.io import BucketSentenceIter, encode_sentences
from runtime.rnn.rnn import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from runtime.rnn.rnn_cell import (
    BaseRNNCell,
    BidirectionalCell,
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
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
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
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
