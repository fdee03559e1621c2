"""`cupy.lib`."""

# ruff: noqa: F401 (this file gathers names)
from . import stride_tricks
