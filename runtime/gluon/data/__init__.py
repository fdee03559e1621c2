"""Data sets and loading."""

from __future__ import annotations

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
