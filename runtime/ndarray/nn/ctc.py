"""Connectionist temporal classification: the loss of scores over time for a sequence of labels (Graves et al. 2006).

A path through the T steps emits at each step a label or nothing (the blank); it spells a sequence once repeats are
merged and blanks taken out. The loss is minus the logarithm of the probability of all paths that spell the label
sequence. They are counted along the sequence with blanks between, of S = 2 L + 1 states: at each step a path stays,
goes on by one state, or skips a blank between two different labels. All is computed in logarithms: on the CPU by
kernels, on a GPU for the whole batch at once, step by step.
"""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import array_module, is_host, to_device_of, to_host
from runtime.native import ctc as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.softmax import _log_softmax as log_softmax
from runtime.ndarray.operator import ignore_fp_errors
from runtime.ndarray.two_gradients import TwoGradientOperator, constants, widen_half

__all__ = ["CTCLoss", "ctc_loss"]
CONTRIB = ("CTCLoss", "ctc_loss")


def _log_probabilities(x: np.ndarray) -> np.ndarray:
    y = x - x.max(axis=2, keepdims=True)
    y -= np.log(np.exp(y).sum(axis=2, keepdims=True))
    return y


def _go_on(alpha: np.ndarray, skip: np.ndarray) -> np.ndarray:
    """One step of the count from state to state: (batch, S) logarithms. `skip` is 0 where two states on may be
    reached, and -inf where not."""
    reached = alpha.copy()
    np.logaddexp(reached[:, 1:], alpha[:, :-1], out=reached[:, 1:])
    np.logaddexp(reached[:, 2:], alpha[:, :-2] + skip[:, 2:], out=reached[:, 2:])
    return reached


def _forward_counts(emitted: np.ndarray, skip: np.ndarray) -> np.ndarray:
    """For each step, sample and state: the log probability of being there, having emitted what leads there."""
    counts = np.full_like(emitted, -np.inf)
    counts[0, :, :2] = emitted[0, :, :2]
    for t in range(1, len(emitted)):
        np.add(_go_on(counts[t - 1], skip), emitted[t], out=counts[t])
    return counts


def _emitted(log_p: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The log probability of what each state emits, at each step: (T, batch, S)."""
    return np.take_along_axis(log_p, np.broadcast_to(states, (len(log_p), *states.shape)), axis=2)


def _may_skip(states: np.ndarray, blank: int) -> np.ndarray:
    """0 where a state can be reached from the one two before it, -inf where not."""
    skip = np.full_like(states, -np.inf, dtype=np.float64)
    skip[:, 2:][(states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])] = 0
    return skip


def _total(counts: np.ndarray, times: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The log probability of all paths: those that are, after their last step, in the last state or the one before."""
    samples = array_module(counts).arange(counts.shape[1])
    last = counts[times - 1, samples]
    before = np.where(ends > 0, last[samples, np.maximum(ends - 1, 0)], -np.inf)
    return np.logaddexp(last[samples, ends], before)


@TwoGradientOperator
@ignore_fp_errors
def _ctc(
    x: np.ndarray, *, states: np.ndarray, ends: np.ndarray, times: np.ndarray, blank: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The losses, (batch,); and log probabilities and forward counts, in float64 (differences of sums over time).

    `states` are the labels with blanks between, (batch, S); `ends` and `times` the last state and the number of steps
    of each sample.
    """
    wide = x.astype(np.float64)
    if is_host(x):
        log_p = log_softmax.forward(wide, axis=2, scale=1.0)
        counts, sizes = np.empty((*x.shape[:2], states.shape[1])), _sizes(x, states, blank)
        native.forward_counts(len(states), native.WORK * counts.size, log_p, counts, *sizes, scratch=_scratch(states))
    else:
        log_p = _log_probabilities(wide)
        counts = _forward_counts(_emitted(log_p, states), _may_skip(states, blank))
    total = _total(counts, times, ends)
    return np.where(total == -np.inf, 0, -total).astype(widen_half(x).dtype), log_p, counts


@_ctc.backward
@ignore_fp_errors
def _(
    g: tuple, y: tuple, x: np.ndarray, *, states: np.ndarray, ends: np.ndarray, times: np.ndarray, blank: int
) -> tuple[np.ndarray]:
    """`g (softmax(x) - how likely each label is at each step, given that the sequence was spelled)`."""
    _, log_p, forward = y
    total = _total(forward, times, ends)
    if is_host(x):
        dx, (nothing, numbers, sizes) = np.empty_like(log_p), _sizes(x, states, blank)
        given = log_p, forward, total, g[0].astype(np.float64), dx, nothing, numbers, ends, times, sizes
        native.gradient(len(states), 2 * native.WORK * forward.size, *given, scratch=_scratch(states))
        return (dx.astype(x.dtype),)
    emitted = _emitted(log_p, states)
    likely = np.exp(
        forward + _backward_counts(emitted, _may_skip(states, blank), times, ends) - emitted - total[:, None]
    )
    dx = np.exp(log_p)
    xp = array_module(dx)
    steps, samples = xp.arange(len(dx))[:, None], xp.arange(dx.shape[1])
    for s in range(states.shape[1]):  # one state at a time: labels repeat
        dx[steps, samples, states[:, s]] -= likely[:, :, s]
    dx *= g[0][:, None]
    dx[(steps >= times) | (total == -np.inf)] = 0  # if no path spells the labels, nothing can be learned
    return (dx.astype(x.dtype),)


def _sizes(x: np.ndarray, states: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What both kernels take."""
    return constants(np.dtype(np.float64), -np.inf), states, np.array([*x.shape, states.shape[1], blank])


def _scratch(states: np.ndarray) -> int:
    return native.ROWS * (states.shape[1] + native.MARGIN)


def _backward_counts(emitted: np.ndarray, skip: np.ndarray, times: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """For each step, sample and state: the log probability of emitting what follows from there on, that included.

    These are the forward counts of the sequence read backwards, which start in a sample's last two states at its last
    step.
    """
    counts = np.full_like(emitted, -np.inf)
    states = array_module(emitted).arange(emitted.shape[2])
    start = np.full_like(emitted[0], -np.inf)
    start[(states == ends[:, None]) | (states == ends[:, None] - 1)] = 0
    mirrored = np.full_like(skip, -np.inf)
    mirrored[:, :-2] = skip[:, 2:]
    after = np.full_like(start, -np.inf)
    for t in range(len(emitted) - 1, -1, -1):
        reached = np.where((times == t + 1)[:, None], start, _go_on(after[:, ::-1], mirrored[:, ::-1])[:, ::-1])
        after = np.add(reached, emitted[t], out=counts[t])
    return counts


def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: str = "first",
) -> NDArray:
    """The loss of each sample, (batch,); 0, without a gradient, where too few steps count to spell the labels.

    Parameters
    ----------
    data: scores before softmax, (steps, batch, classes), classes with the blank.
    label: (batch, labels): class numbers. Without `label_lengths` a sequence ends at the first 0 (`blank_label`
        'first') or at the first negative number ('last').
    data_lengths: with `use_data_lengths`, how many steps count, (batch,).
    label_lengths: with `use_label_lengths`, how many labels count, (batch,).
    blank_label: which class is the blank: the 'first' or the 'last'.
    """
    if data.ndim != 3 or label.ndim != 2 or label.shape[0] != data.shape[1]:
        raise MXNetError(
            "CTCLoss: data must be (steps, batch, classes) and label (batch, labels), not "
            f"{data.shape} and {label.shape}"
        )
    if blank_label not in ("first", "last"):
        raise MXNetError(f"CTCLoss: blank_label is 'first' or 'last', not {blank_label!r}")
    steps, batch, classes = data.shape
    blank = 0 if blank_label == "first" else classes - 1
    labels = to_host(label._data).astype(np.int64)
    times = np.full(batch, steps)
    if use_data_lengths:
        times = _lengths("data_lengths", data_lengths, batch, 1, steps)
    if use_label_lengths:
        lengths = _lengths("label_lengths", label_lengths, batch, 0, labels.shape[1])
    else:
        padding = labels <= 0 if blank == 0 else labels < 0
        lengths = np.where(padding.any(axis=1), padding.argmax(axis=1), labels.shape[1])
    counted = np.arange(labels.shape[1]) < lengths[:, None]
    wrong = counted & ((labels < 0) | (labels >= classes))
    if wrong.any():
        raise MXNetError(
            f"CTCLoss: label {labels[wrong][0]} is none of the {classes} classes (blank_label='{blank_label}')"
        )
    states = np.full((batch, 2 * labels.shape[1] + 1), blank)
    states[:, 1::2] = np.where(counted, labels, blank)
    states, ends, times = (to_device_of(data._data, x) for x in (states, 2 * lengths, times))
    return _ctc(data, states=states, ends=ends, times=times, blank=blank)[0].astype(data.dtype, copy=False)


def _lengths(name: str, given: NDArray | None, batch: int, low: int, high: int) -> np.ndarray:
    if given is None or given.shape != (batch,):
        found = "none are given" if given is None else f"they have shape {given.shape}"
        raise MXNetError(f"CTCLoss: use_{name}=True needs {name}, of shape ({batch},), but {found}")
    lengths = to_host(given._data).astype(np.int64)
    if lengths.size and not low <= lengths.min() <= lengths.max() <= high:
        raise MXNetError(f"CTCLoss: {name} must be from {low} to {high}, not {lengths.min()} to {lengths.max()}")
    return lengths


ctc_loss = CTCLoss
