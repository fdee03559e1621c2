"""Operators written in Python: subclass `CustomOp` and `CustomOpProp`, `register` a name, call `nd.Custom`."""

from __future__ import annotations

from runtime.ndarray.custom import CustomOp, CustomOpProp, get_all_registered_operators, register

__all__ = ["CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]
