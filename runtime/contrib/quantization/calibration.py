"""The ranges of a network's outputs, from data: the least and the largest number, or the range with the least loss.

The second is by S. Migacz, "8-bit Inference with TensorRT", GTC 2017: of all thresholds, the one for which the numbers
in 8 bits have the distribution with the least Kullback-Leibler divergence from that of the numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.io import DataIter
from runtime.ndarray import NDArray
from runtime.symbol import Symbol

Logger = logging.Logger | Any


class Histogram(NamedTuple):
    """Counts of the numbers in bins of one width from -threshold to threshold, and the ends that were met."""

    counts: np.ndarray
    edges: np.ndarray
    low: float
    high: float
    threshold: float


def combine_histogram(old_hist: Any, arr: np.ndarray, new_min: float, new_max: float, new_th: float) -> Histogram:
    """The histogram with the numbers of `arr` too. Where they go beyond it, it gets more bins of the same width."""
    counts, edges, low, high, threshold = old_hist
    if new_th > threshold:
        width = 2 * threshold / len(counts)
        more = int((new_th - threshold) // width + 1)
        threshold += more * width
        counts, edges = np.pad(counts, more), np.linspace(-threshold, threshold, len(counts) + 2 * more + 1)
    found = np.histogram(arr, len(counts), (-threshold, threshold))[0]
    return Histogram(counts + found, edges, min(low, new_min), max(high, new_max), threshold)


class _Collector:
    """Called with the name and the array of each output; those in `include_layer` (None: all) are taken."""

    def __init__(self, include_layer: Collection[str] | None = None, logger: Logger | None = None) -> None:
        self.include_layer, self.logger = include_layer, logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Take an array. MXNetError names one with NaN or infinity."""
        if self.include_layer is not None and name not in self.include_layer:
            return
        values = arr.asnumpy()
        low, high = float(values.min()), float(values.max())
        if not np.isfinite([low, high]).all():
            raise MXNetError(f"'{name}' has NaN or infinity for the data that ranges are found with")
        if self.logger:
            self.logger.debug("'%s', of shape %s, is from %g to %g", name, values.shape, low, high)
        self._take(name, values, low, high)

    def _take(self, name: str, values: np.ndarray, low: float, high: float) -> None:
        raise NotImplementedError


class _LayerHistogramCollector(_Collector):
    """Histograms of outputs, in `hist_dict`, with `num_bins` bins for the first array of each; an odd number."""

    def __init__(
        self, num_bins: int = 8001, include_layer: Collection[str] | None = None, logger: Logger | None = None
    ) -> None:
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.hist_dict: dict[str, Histogram] = {}

    def _take(self, name: str, values: np.ndarray, low: float, high: float) -> None:
        threshold = max(abs(low), abs(high), float(np.finfo(np.float32).tiny))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, low, high, threshold)
        else:
            found = np.histogram(values, self.num_bins, (-threshold, threshold))
            self.hist_dict[name] = Histogram(*found, low, high, threshold)


class _LayerOutputMinMaxCollector(_Collector):
    """The least and the largest numbers of outputs, in `min_max_dict`."""

    def __init__(
        self,
        quantized_dtype: str = "int8",
        include_layer: Collection[str] | None = None,
        logger: Logger | None = None,
    ) -> None:
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def _take(self, name: str, values: np.ndarray, low: float, high: float) -> None:
        old = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(old[0], low), max(old[1], high)


def collect(
    sym: Symbol,
    params: Mapping[str, NDArray],
    states: Mapping[str, NDArray],
    data: DataIter,
    names: tuple[list[str], list[str]],
    ctx: Context,
    collector: Any,
    most: int | None = None,
) -> int:
    """Run the graph on batches of `data` until `most` examples, and call `collector.collect` with all outputs.

    `names` are those of the variables of data and of labels. Arguments that nothing is given for are 0. Returns the
    number of examples.
    """
    moved = {key: x.as_in_context(ctx) for key, x in params.items()}
    aux = {key: x.as_in_context(ctx) for key, x in states.items()}
    wanted, examples = sym.list_arguments(), 0
    for batch in data:
        arrays = [(names[0], batch.data), (names[1], batch.label or [])]
        given = {k: x.as_in_context(ctx) for keys, xs in arrays for k, x in zip(keys, xs, strict=False) if k in wanted}
        known = moved | given
        if len(known.keys() & set(wanted)) < len(wanted):
            shapes = sym.infer_shape(**{key: x.shape for key, x in known.items() if key in wanted})[0]
            known = {k: nd.zeros(s, ctx) for k, s in zip(wanted, shapes, strict=True) if k not in known} | known
        executor = sym.bind(ctx, {key: known[key] for key in wanted}, grad_req="null", aux_states=aux)
        executor.set_monitor_callback(collector.collect, monitor_all=True)
        executor.forward(is_train=False)
        examples += data.batch_size
        if most is not None and examples >= most:
            break
    if not examples:
        raise MXNetError("there is no batch in the data that ranges are found with: reset() it, or give more")
    return examples


# ---------------------------------------------------------------- the range with the least loss


def _get_optimal_threshold(
    hist_data: Any, quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, float, float, float]:
    """The ends that were met, the threshold to cut the numbers off at, and the divergence that is left with it."""
    counts, edges, low, high, _ = hist_data
    if len(counts) % 2 == 0 or len(counts) < num_quantized_bins:
        raise MXNetError(f"a histogram of an odd number of bins, {num_quantized_bins} or more, is expected")
    if low >= 0 and quantized_dtype in ("auto", "uint8"):
        num_quantized_bins = 2 * num_quantized_bins + 1  # the negative half is empty
    middle = len(counts) // 2
    found = []
    for i in range(min(num_quantized_bins // 2, middle), middle + 1):
        stop = middle + i + 1
        found.append((_divergence(counts, middle - i, stop, num_quantized_bins), float(edges[stop])))
    divergence, threshold = min(found)
    return low, high, threshold, divergence


def _divergence(counts: np.ndarray, start: int, stop: int, levels: int) -> float:
    """Of the numbers, those beyond [start, stop) being at its ends, from the same in `levels` equal parts of it.

    The first bin has no part in what it is compared with, as in MXNet.
    """
    p = counts[start:stop].astype(np.float64)
    inside = np.append(0.0, p[1:])
    p[0] += counts[:start].sum()
    p[-1] += counts[stop:].sum()
    parts = min(levels, len(p))
    starts = np.arange(parts) * (len(p) // parts)
    sums, places = (np.add.reduceat(x, starts) for x in (inside, (inside != 0).astype(np.float64)))
    q = np.repeat(sums / np.maximum(places, 1), np.diff(starts, append=len(p))) * (p != 0)
    p, q = _smooth(p), _smooth(q)
    if p.min() <= 0 or q.min() <= 0:
        return float("inf")
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log(p / q)))


def _smooth(p: np.ndarray, least: float = 1e-4) -> np.ndarray:
    """With `least` where there is nothing, taken in equal parts from the others."""
    empty = p == 0
    zeros = int(empty.sum())
    return np.where(empty, least, p - least * zeros / max(p.size - zeros, 1))


def _get_optimal_thresholds(
    hist_dict: Mapping[str, Any], quantized_dtype: str, num_quantized_bins: int = 255, logger: Logger | None = None
) -> dict[str, tuple[float, float]]:
    """The range with the least loss of each output; one from 0 for outputs that uint8 can hold, if it may."""
    found = {}
    for name, histogram in hist_dict.items():
        low, high, threshold, divergence = _get_optimal_threshold(histogram, quantized_dtype, num_quantized_bins)
        found[name] = (0.0 if low >= 0 and quantized_dtype in ("auto", "uint8") else -threshold, threshold)
        if logger:
            logger.debug("'%s', from %g to %g, is cut off at %g: %g", name, low, high, threshold, divergence)
    return found
