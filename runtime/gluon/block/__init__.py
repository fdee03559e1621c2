"""Blocks: layers and networks, with their parameters and children."""

from __future__ import annotations

from runtime.gluon.block.block import Block
from runtime.gluon.block.hybrid import HybridBlock
from runtime.gluon.block.naming import _BlockScope
from runtime.gluon.block.nested import _flatten, _regroup
from runtime.gluon.block.symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock", "_BlockScope", "_flatten", "_regroup"]
