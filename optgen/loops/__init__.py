"""A compiler of loops over arrays: short Python functions in a typed subset become native code."""
