"""All cells, in the module that MXNet has them in."""

from runtime.gluon.rnn.basic_cell import GRUCell, HybridRecurrentCell, LSTMCell, RecurrentCell, RNNCell
from runtime.gluon.rnn.modifier_cell import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from runtime.gluon.rnn.stacked_cell import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
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
