"""Data sets and loading."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.gluon.data import batchify
from runtime.gluon.data.dataloader import DataLoader
from runtime.gluon.data.dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from runtime.gluon.data.sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
]


def __getattr__(key: str) -> Any:
    """What few programs use is imported when it is asked for."""
    if key == "vision":
        return importlib.import_module("runtime.gluon.data.vision")
    raise AttributeError(f"module 'runtime.gluon.data' has no attribute '{key}'")
