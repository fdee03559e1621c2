"""Vocabularies: a number for each token."""

from runtime.core.tokens import UNKNOWN_IDX, Vocabulary

__all__ = ["UNKNOWN_IDX", "Vocabulary"]
