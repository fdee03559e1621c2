"""Further samplers."""

from runtime.gluon.contrib.data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
