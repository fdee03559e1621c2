"""Checkpoints of recurrent networks, with the weights of each gate by themselves, and unrolling as a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import model
from runtime import symbol as sym
from runtime.base import _as_list, count
from runtime.ndarray import NDArray
from runtime.rnn.base_cell import BaseRNNCell, Outputs, Weights
from runtime.symbol import Symbol

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def save_rnn_checkpoint(
    cells: Cells,
    prefix: str,
    epoch: int,
    symbol: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """`model.save_checkpoint`, with the weights of the cells unpacked."""
    args = dict(arg_params)
    for cell in _as_list(cells):
        args = cell.unpack_weights(args)
    model.save_checkpoint(prefix, epoch, symbol, args, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: str, epoch: int) -> tuple[Symbol, Weights, Weights]:
    """What `save_rnn_checkpoint` wrote, with the weights of the cells packed; these may be other cells."""
    symbol, args, states = model.load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        args = cell.pack_weights(args)
    return symbol, args, states


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback for the end of an epoch: every `period` epochs, `save_rnn_checkpoint`."""
    period = count("period", period)

    def save(epoch: int, symbol: Any = None, arg_params: Any = None, aux_params: Any = None) -> None:
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params or {}, aux_params or {})

    return save


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Outputs | None = None,
    begin_state: Sequence[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Outputs, list[Any]]:
    """`cell.unroll`, by default of variables `t0_data`, `t1_data`, ..., with `input_prefix` before their names."""
    if inputs is None:
        inputs = [sym.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)
