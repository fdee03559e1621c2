"""Data iterators, for scripts that were written before Gluon. New code uses `gluon.data.DataLoader`."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.io.files import CSVIter, LibSVMIter
from runtime.io.io import DataBatch, DataDesc, DataIter, MXDataIter, NDArrayIter, PrefetchingIter, ResizeIter
from runtime.io.mnist import MNISTIter
from runtime.io.utils import _getdata_by_idx, _has_instance, _init_data  # noqa: F401

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]


_RECORD_ITERATORS = (
    *("ImageRecordIter", "ImageRecordIter_v1", "ImageRecordInt8Iter", "ImageRecordUInt8Iter"),
    *("ImageRecordUInt8Iter_v1", "ImageDetRecordIter"),
)


def __getattr__(key: str) -> Any:
    """Iterators over images are imported when they are asked for."""
    if key in _RECORD_ITERATORS:
        return getattr(importlib.import_module("runtime.image.record_iter"), key)
    raise AttributeError(f"module 'runtime.io' has no attribute '{key}'")
