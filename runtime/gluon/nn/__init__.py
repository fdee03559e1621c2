"""Layers."""

from __future__ import annotations

from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.nn.activations import Activation
from runtime.gluon.nn.basic_layers import Dense, Dropout, Embedding, Flatten, HybridSequential, Sequential

__all__ = [
    "Activation",
    "Block",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "HybridBlock",
    "HybridSequential",
    "Sequential",
]
