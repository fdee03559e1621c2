"""Automatic mixed precision: products in 16 bits, what loses by it in float32, and losses that are scaled up."""

from runtime.contrib.amp.amp import (
    convert_hybrid_block,
    init,
    init_trainer,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_ops,
    list_widest_type_cast,
    scale_loss,
    unscale,
)
from runtime.contrib.amp.graphs import convert_model, convert_symbol

__all__ = [
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_ops",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]
