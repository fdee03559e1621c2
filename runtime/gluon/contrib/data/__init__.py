"""Data sets and their order, beyond the usual."""

from runtime.gluon.contrib.data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
