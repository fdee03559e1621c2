"""Operators that move elements and compute nothing: reshaping, slicing, indexing, gathering, sequences."""
