"""What each of ONNX's operators is in a graph: `READINGS`, by ONNX's names."""

from __future__ import annotations

from runtime.onnx.reading import elementwise, layers, rearranging, reductions, resizing
from runtime.onnx.reading.node import Node, Reading

__all__ = ["READINGS", "Node", "Reading"]

READINGS: dict[str, Reading] = {
    **elementwise.READINGS,
    **layers.READINGS,
    **rearranging.READINGS,
    **reductions.READINGS,
    **resizing.READINGS,
}
