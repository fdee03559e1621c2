"""Data sets and loading."""

from __future__ import annotations

from runtime.gluon.data.dataloader import DataLoader
from runtime.gluon.data.dataset import ArrayDataset, Dataset
from runtime.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "RandomSampler", "Sampler", "SequentialSampler"]
