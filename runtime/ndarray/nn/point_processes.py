"""The likelihood of events in time."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import to_device_of, to_host
from runtime.ndarray.elementwise import BlockGrad, exp, log
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.shape.gather import where
from runtime.ndarray.shape.reshape import reshape

__all__: list[str] = []
CONTRIB = ("hawkesll",)


def hawkesll(
    lda: NDArray,
    alpha: NDArray,
    beta: NDArray,
    state: NDArray,
    lags: NDArray,
    marks: NDArray,
    valid_length: NDArray,
    max_time: NDArray,
) -> list[NDArray]:
    """The log-likelihoods, (batch,), of events of K kinds, whose rates decay and rise with each event, and the last
    states, (batch, K): a Hawkes process whose kinds excite themselves, with exponential decay.

    The rate of kind k at time t is `lda_k + alpha_k beta_k sum exp(-beta_k (t - t_i))` over its events at t_i before.
    Gradients flow from the likelihoods to `lda`, `alpha` and `beta`.

    Parameters
    ----------
    lda: (batch, K), rates without events.
    alpha, beta: (K,), how much an event excites, and how fast that decays.
    state: (batch, K), the sums of exp(-beta (t - t_i)) over events before time 0.
    lags: (batch, length), times from event to event.
    marks: (batch, length), the kinds of events, whole numbers.
    valid_length: (batch,), how many events count; max_time: (batch,), when observation ends.
    """
    if lda.ndim != 2 or lags.ndim != 2 or marks.shape != lags.shape or state.shape != lda.shape:
        raise MXNetError(
            "hawkesll: lda and state are (batch, K), lags and marks (batch, length), not "
            f"{lda.shape}, {state.shape}, {lags.shape} and {marks.shape}"
        )
    (batch, kinds), length = lda.shape, lags.shape[1]
    if not all(x.shape == (kinds,) for x in (alpha, beta)) or not all(
        x.shape == (batch,) for x in (valid_length, max_time)
    ):
        raise MXNetError(
            f"hawkesll: alpha and beta are ({kinds},), valid_length and max_time ({batch},), not "
            f"{alpha.shape}, {beta.shape}, {valid_length.shape} and {max_time.shape}"
        )
    counted = np.arange(length) < to_host(valid_length._data)[:, None]
    of_kind = (to_host(marks._data)[:, :, None] == np.arange(kinds)) & counted[:, :, None]
    starts = of_kind.astype(lda.dtype), np.zeros((batch, kinds), lda.dtype)
    hits, last = (NDArray(to_device_of(lda._data, x), lda._ctx) for x in starts)
    state, lags, max_time = map(BlockGrad, (state, lags, max_time))
    time, total = last[:, :1], last[:, 0]
    for i in range(length):
        time = time + lags[:, i : i + 1]
        passed = time - last
        decay = exp(-beta * passed)
        gain = log(lda + alpha * beta * state * decay) - lda * passed - alpha * state * (1 - decay)
        total = total + where(hits[:, i], gain, gain * 0).sum(axis=1)
        state = where(hits[:, i], 1 + state * decay, state)
        last = where(hits[:, i], time + last * 0, last)
    left = reshape(max_time, (-1, 1)) - last
    decay = exp(-beta * left)
    total = total - (lda * left + alpha * state * (1 - decay)).sum(axis=1)
    return [total, BlockGrad(state * decay)]
