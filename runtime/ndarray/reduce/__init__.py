"""Operators that reduce axes, and those that order elements along one."""
