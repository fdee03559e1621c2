"""Initial values of parameters."""

from runtime.initializer.base import InitDesc, Initializer, alias, create, register
from runtime.initializer.choices import Load, Mixed
from runtime.initializer.constants import Bilinear, Constant, LSTMBias, One, Zero
from runtime.initializer.draws import MSRAPrelu, Normal, Orthogonal, Uniform, Xavier
from runtime.initializer.packed import FusedRNN

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]
