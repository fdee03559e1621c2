"""Parameters: weights with their gradients, alone and by name."""

from __future__ import annotations

from runtime.gluon.parameter.constant import Constant
from runtime.gluon.parameter.dictionary import ParameterDict
from runtime.gluon.parameter.parameter import DeferredInitializationError, Parameter, tensor_types

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
