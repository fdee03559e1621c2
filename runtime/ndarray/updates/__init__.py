"""Operators that update weights, and those that work on many arrays at once."""
