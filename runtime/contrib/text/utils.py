"""Counting the tokens of a text."""

from runtime.core.tokens import count_tokens_from_str

__all__ = ["count_tokens_from_str"]
