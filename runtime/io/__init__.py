"""Data iterators, for scripts that were written before Gluon. New code uses `gluon.data.DataLoader`."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.base import not_provided
from runtime.io.files import CSVIter, LibSVMIter
from runtime.io.io import DataBatch, DataDesc, DataIter, NDArrayIter, PrefetchingIter, ResizeIter
from runtime.io.mnist import MNISTIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]


def __getattr__(key: str) -> Any:
    """Iterators over images are imported when they are asked for."""
    if key in ("ImageRecordIter", "ImageDetRecordIter"):
        return getattr(importlib.import_module("runtime.image.record_iter"), key)
    if key in _NOT_PROVIDED:
        raise AttributeError(not_provided("runtime.io", key, _NOT_PROVIDED[key]))
    raise AttributeError(f"module 'runtime.io' has no attribute '{key}'")


_NOT_PROVIDED = {
    **dict.fromkeys(("ImageRecordInt8Iter", "ImageRecordUInt8Iter", "ImageRecordIter_v1"), "use ImageRecordIter"),
}
