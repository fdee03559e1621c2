"""Graphs bound to arrays, at the path where MXNet has them."""

from runtime.symbol.executor import Executor

__all__ = ["Executor"]
