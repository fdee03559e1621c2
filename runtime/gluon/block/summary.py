"""A table of a network's layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.base import ArgumentError
from runtime.gluon.block.protocols import BlockLike
from runtime.gluon.utils import HookHandle
from runtime.ndarray import NDArray


@dataclass
class _Row:
    """One call of a block: the number of elements in its parameters, how many of them are trained, and how many an
    earlier row has counted."""

    layer: str
    output: str
    size: int = 0
    trainable: int = 0
    shared: int = 0


def summarize(net: BlockLike, inputs: tuple) -> None:
    """Run `inputs` through `net` and print a row for each call of a layer. ArgumentError if a block is hybridized."""
    rows = [_Row("Input", _shapes(inputs))]
    seen: set[int] = set()
    watched: dict[int, HookHandle] = {}

    def note(block: BlockLike, _: tuple, output: Any) -> None:
        row = _Row(f"{type(block).__name__}-{len(rows)}", _shapes(output))
        for param in block.params.values():
            size = param.list_data()[0].size
            row.size += size
            row.trainable += size if param.grad_req != "null" else 0
            row.shared += size if id(param) in seen else 0
            seen.add(id(param))
        rows.append(row)

    def watch(block: BlockLike) -> None:
        if getattr(block, "_active", False):
            raise ArgumentError(f"'{block.name}' is hybridized: call summary before, or after hybridize(False)")
        if id(block) not in watched and block._in_summary:
            watched[id(block)] = block.register_forward_hook(note)

    try:
        net.apply(watch)
        net(*inputs)
    finally:
        for handle in watched.values():
            handle.detach()
    _show(rows)


def _show(rows: list[_Row]) -> None:
    size, trainable, shared = (sum(getattr(row, what) for row in rows) for what in ("size", "trainable", "shared"))
    print("-" * 80)
    print(f"{'Layer (type)':>20}  {'Output Shape':>42} {'Param #':>15}")
    print("=" * 80)
    for row in rows:
        print(f"{row.layer:>20}  {row.output:>42} {row.size:>15}")
    print("=" * 80)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {size}")
    print(f"   Trainable params: {trainable}")
    print(f"   Non-trainable params: {size - trainable}")
    print(f"Shared params in forward computation graph: {shared}")
    print(f"Unique parameters in model: {size - shared}")
    print("-" * 80)


def _shapes(value: Any) -> str:
    """The shapes of nested arrays, without the outermost brackets."""

    def shape(x: Any) -> Any:
        return [shape(y) for y in x] if isinstance(x, (list, tuple)) else x.shape if isinstance(x, NDArray) else x

    return str(shape(value))[1:-1] if isinstance(value, (list, tuple)) else str(shape(value))
