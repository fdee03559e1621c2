"""Functions that are SciPy's."""
