"""Networks in 8 bits: graphs whose operators are replaced by those of 8 bits, with ranges found from data."""

from runtime.contrib.quantization.calibration import (
    _get_optimal_threshold,
    _get_optimal_thresholds,
    _LayerHistogramCollector,
    _LayerOutputMinMaxCollector,
    combine_histogram,
)
from runtime.contrib.quantization.models import (
    calib_graph,
    quantize_graph,
    quantize_model,
    quantize_model_mkldnn,
    quantize_net,
    quantize_net_v2,
)
from runtime.contrib.quantization.passes import _calibrate_quantized_sym, _quantize_params, _quantize_symbol

_PRIVATE = (
    _calibrate_quantized_sym, _get_optimal_threshold, _get_optimal_thresholds, _LayerHistogramCollector,
    _LayerOutputMinMaxCollector, _quantize_params, _quantize_symbol,
)  # fmt: skip
"""What programs take from here by MXNet's private names."""

__all__ = [
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]
