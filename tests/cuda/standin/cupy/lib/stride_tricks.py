"""Views of other shapes."""

# ruff: noqa: F401 (this file gathers names)
from .._functions import as_strided, sliding_window_view
