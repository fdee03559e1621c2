"""Recurrent networks: layers, which take whole sequences, and cells, which take one step and can be combined."""

from runtime.gluon.rnn.modifier_cell import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from runtime.gluon.rnn.rnn_cell import GRUCell, HybridRecurrentCell, LSTMCell, RecurrentCell, RNNCell
from runtime.gluon.rnn.rnn_layer import GRU, LSTM, RNN
from runtime.gluon.rnn.stacked_cell import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
