"""Reductions over axes, and sorting."""
