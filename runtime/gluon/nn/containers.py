"""Containers that call their blocks one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from runtime.gluon.block import Block, HybridBlock


class _Chain(Block):
    """The base class of the containers."""

    _in_summary = False

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def _chain(self, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())

    def __getitem__(self, key: int | slice) -> Block:
        """The block at `key`; for a slice, a container of the same kind that shares the blocks."""
        blocks = list(self._children.values())[key]
        if not isinstance(blocks, list):
            return blocks
        chain = type(self)(prefix=self._prefix)
        chain.add(*blocks)
        return chain


class Sequential(_Chain):
    """Blocks one after the other.

    net = nn.Sequential()
    net.add(nn.Dense(10, activation="relu"), nn.Dense(20))
    """

    def forward(self, x: Any, *args: Any) -> Any:
        return self._chain(x, *args)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        if self._children and all(isinstance(block, HybridBlock) for block in self._children.values()):
            warnings.warn(
                f"all blocks in Sequential '{self.prefix}' are HybridBlocks: HybridSequential holds such", stacklevel=2
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Chain, HybridBlock):
    """HybridBlocks one after the other."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._chain(x, *args)
