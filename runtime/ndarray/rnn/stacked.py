"""Recurrent networks: several layers, one or two directions, over sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from runtime.base import MXNetError, did_you_mean
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.dropout import Dropout
from runtime.ndarray.rnn.recurrent import _elman, _gru, _lstm
from runtime.ndarray.shape.reshape import flip, reshape
from runtime.ndarray.shape.sequence import SequenceLast, SequenceMask, SequenceReverse
from runtime.ndarray.shape.slicing import concat, stack

__all__ = ["RNN"]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""How many gates the cells of a mode have: the height of their weights, in hidden sizes."""


class Weights(NamedTuple):
    """Those of one layer in one direction: with G gates and `hidden` units, `i2h_weight` is (G hidden, inputs),
    `h2h_weight` (G hidden, state), the biases (G hidden,), and `h2r_weight`, of LSTMs with projected states only,
    (state, hidden)."""

    i2h_weight: NDArray
    h2h_weight: NDArray
    i2h_bias: NDArray
    h2h_bias: NDArray
    h2r_weight: NDArray | None = None


def recurrent(
    mode: str,
    data: NDArray,
    states: Sequence[NDArray],
    weights: Sequence[Weights],
    directions: int = 1,
    dropout: float = 0.0,
    sequence_length: NDArray | None = None,
) -> tuple[NDArray, list[NDArray]]:
    """The output of the last layer, (T, N, directions*state), and the last states, of `data`, (T, N, C).

    Parameters
    ----------
    states: h, and for LSTMs c, to begin with: (layers*directions, N, size) each.
    weights: of layer 0 forward, layer 0 backward (if there are two directions), layer 1 forward, ...
    dropout: probability with which outputs of a layer, but the last, are 0 in training.
    sequence_length: (N,), how many steps of each sequence count; the output is 0 from there on.
    """
    if data._data.dtype.kind in "iub":
        raise MXNetError(f"RNN: data must be floats, not {data._data.dtype}; convert with astype()")
    for x in chain(states, *weights):
        if x is not None and x.dtype != data.dtype:
            raise MXNetError(
                f"RNN: data is {data._data.dtype}, states and weights {x._data.dtype}; convert one with astype()"
            )
    last: list[list[NDArray]] = [[] for _ in states]
    for k in range(0, len(weights), directions):
        outputs = []
        for d in range(directions):
            begin = [s[k + d] for s in states]
            y, end = _one_way(mode, data, begin, weights[k + d], bool(d), sequence_length)
            outputs.append(y)
            for collected, state in zip(last, end, strict=True):
                collected.append(state)
        data = outputs[0] if directions == 1 else concat(*outputs, dim=2)
        if dropout and k + directions < len(weights):
            data = Dropout(data, p=dropout)
    return data, [stack(*s, axis=0) for s in last]


def _one_way(
    mode: str, data: NDArray, begin: list[NDArray], w: Weights, backward: bool, length: NDArray | None
) -> tuple[NDArray, list[NDArray]]:
    """One layer in one direction: its output, (T, N, state), and its last states."""
    data = _reversed(data, length) if backward else data
    if mode == "lstm":
        y, h, c, cells, _ = _lstm(data, *begin, *w)
        end = [h, c] if length is None else [_at_end(y, length), _at_end(cells, length)]
    else:
        y, h, *_ = _gru(data, *begin, *w[:4]) if mode == "gru" else _elman(data, *begin, *w[:4], activation=mode[4:])
        end = [h] if length is None else [_at_end(y, length)]
    if length is not None:
        y = SequenceMask(y, length, use_sequence_length=True)
    return (_reversed(y, length) if backward else y), end


def _reversed(x: NDArray, length: NDArray | None) -> NDArray:
    return flip(x, axis=0) if length is None else SequenceReverse(x, length, use_sequence_length=True)


def _at_end(x: NDArray, length: NDArray) -> NDArray:
    return SequenceLast(x, length, use_sequence_length=True)


# ---------------------------------------------------------------- with all weights in one vector


def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
    state_size: int | None = None,
    num_layers: int | None = None,
    bidirectional: bool = False,
    mode: str | None = None,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    use_sequence_length: bool = False,
) -> NDArray | list[NDArray]:
    """A recurrent network of `num_layers` layers with `state_size` units.

    `mode` is 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'; other arguments as in `recurrent`. `parameters` is one vector:
    for each layer and direction the flattened i2h weight, h2h weight (and, with `projection_size`, h2r weight), then
    for each the i2h and h2h bias. Without LSTM, `sequence_length` may come at the place of `state_cell`. Returns the
    output, and with `state_outputs` a list of it and the last states.
    """
    if mode not in GATES:
        raise MXNetError(f"RNN: unknown mode '{mode}'{did_you_mean(str(mode), GATES)}; there are {', '.join(GATES)}")
    if state_size is None or num_layers is None:
        raise MXNetError("RNN: state_size and num_layers are needed")
    if use_sequence_length and mode != "lstm" and sequence_length is None:
        state_cell, sequence_length = None, state_cell
    states = [state] if mode != "lstm" else [state, state_cell]
    directions = 2 if bidirectional else 1
    _check(data, states, num_layers * directions, projection_size or state_size, state_size)
    shapes = list(shapes_of_weights(GATES[mode], data.shape[2], state_size, projection_size, num_layers, directions))
    weights = unpacked(parameters, shapes)
    y, last = recurrent(mode, data, states, weights, directions, p, sequence_length if use_sequence_length else None)
    return [y, *last] if state_outputs else y


def _check(data: NDArray, states: Sequence[NDArray | None], count: int, state: int, hidden: int) -> None:
    if data.ndim != 3:
        raise MXNetError(f"RNN: data must be (time, batch, channels), not {data.shape}")
    for what, given, size in zip(("state", "state_cell"), states, (state, hidden), strict=False):
        wanted = (count, data.shape[1], size)
        if given is None or given.shape != wanted:
            raise MXNetError(f"RNN: {what} must have shape {wanted}, not {None if given is None else given.shape}")


def shapes_of_weights(
    gates: int, inputs: int, hidden: int, projection: int | None, layers: int, directions: int
) -> Iterator[list[tuple[int, ...]]]:
    """The shapes of the `Weights` of each layer and direction."""
    state = projection or hidden
    for layer in range(layers):
        n = state * directions if layer else inputs
        shapes = [(gates * hidden, n), (gates * hidden, state), (gates * hidden,), (gates * hidden,)]
        yield from [shapes + [(state, hidden)] * bool(projection)] * directions


def unpacked(parameters: NDArray, shapes: list[list[tuple[int, ...]]]) -> list[Weights]:
    """The vector cut up: all matrices, then all biases."""
    needed = sum(_size(shape) for part in shapes for shape in part)
    if parameters.shape != (needed,):
        raise MXNetError(f"RNN: parameters must have shape ({needed},) for these sizes, not {parameters.shape}")
    start = 0

    def take(shape: tuple[int, ...]) -> NDArray:
        nonlocal start
        start += _size(shape)
        return reshape(parameters[start - _size(shape) : start], shape=shape)

    matrices = [[take(shape) for shape in part if len(shape) == 2] for part in shapes]
    biases = [[take(shape) for shape in part if len(shape) == 1] for part in shapes]
    return [Weights(*m[:2], *b, *m[2:]) for m, b in zip(matrices, biases, strict=True)]


def _size(shape: tuple[int, ...]) -> int:
    return shape[0] * shape[1] if len(shape) == 2 else shape[0]
