"""Texts as numbers: counting tokens, vocabularies, embeddings from files."""

from runtime.contrib.text import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
