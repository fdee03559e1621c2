"""Blocks as graphs: tracing a block with symbols, and the files of an exported network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import symbol
from runtime.gluon.block.nested import Format, _flatten
from runtime.gluon.block.protocols import BlockLike
from runtime.ndarray import serialization
from runtime.symbol import Symbol


def graph_of(block: Callable[..., Any], structure: list) -> tuple[Symbol, Format, Format]:
    """What a block computes, as a graph of the variables data, or data0, data1, ..., and how the inputs and the outputs
    are nested.

    `structure` is that of its inputs; see `runtime.gluon.block.signature`.
    """
    count = _count(structure)
    names = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
    inputs = _variables(structure, names)
    outputs, nesting = _flatten(block(*inputs), "output")
    return symbol.Group(outputs), _flatten(inputs, "input")[1], nesting


def _count(structure: list | str) -> int:
    return sum(map(_count, structure)) if isinstance(structure, list) else structure == "array"


def _variables(structure: list | str, names: Any) -> Any:
    if isinstance(structure, list):
        return [_variables(x, names) for x in structure]
    return symbol.var(next(names)) if structure == "array" else None


def write_graph(path: str, epoch: int, block: BlockLike, graph: Symbol, remove_amp_cast: bool) -> tuple[str, str]:
    """Write `path-symbol.json` and `path-0000.params`; see `HybridBlock.export`."""
    files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    arguments, states = set(graph.list_arguments()), set(graph.list_auxiliary_states())
    arrays = {}
    for name, param in block.collect_params().items():
        if name in arguments or name in states:
            arrays[f"{'arg' if name in arguments else 'aux'}:{name}"] = param._reduce()
    graph.save(files[0], remove_amp_cast)
    serialization.save_params(files[1], arrays)
    return files
