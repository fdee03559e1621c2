"""What examples take from MXNet's `symbol_doc`: the shapes of a graph's outputs, by name."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.symbol import Symbol

__all__ = ["SymbolDoc"]


class SymbolDoc:
    """A namespace, as in MXNet, where it also holds the texts of operators."""

    @staticmethod
    def get_output_shape(sym: Symbol, **input_shapes: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs of `sym` by their names, for these shapes of its inputs."""
        return dict(zip(sym.list_outputs(), sym.infer_shape(**input_shapes)[1], strict=True))
