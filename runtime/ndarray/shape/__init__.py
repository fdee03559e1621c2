"""Operators that move elements and change shapes: reshaping, broadcasting, slicing, indexing, padded sequences."""
