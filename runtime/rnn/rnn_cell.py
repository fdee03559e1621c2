"""All recurrent cells that make symbols, under MXNet's path."""

from runtime.rnn.base_cell import BaseRNNCell, RNNParams
from runtime.rnn.cells import GRUCell, LSTMCell, RNNCell
from runtime.rnn.containers import BidirectionalCell, SequentialRNNCell
from runtime.rnn.convolutional import ConvGRUCell, ConvLSTMCell, ConvRNNCell
from runtime.rnn.fused import FusedRNNCell
from runtime.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
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
]
