"""The features of this library, under MXNet's names."""

from __future__ import annotations

from typing import NamedTuple

from runtime.base import did_you_mean
from runtime.context import num_gpus

_ENABLED = ("BLAS_OPEN", "LAPACK")
_DISABLED = (
    *("BLAS_APPLE", "BLAS_ATLAS", "BLAS_MKL", "CAFFE", "CPU_AVX", "CPU_AVX2", "CPU_SSE", "CPU_SSE2", "CPU_SSE3"),
    *("CPU_SSE4A", "CPU_SSE4_1", "CPU_SSE4_2", "CUDA", "CUDA_RTC", "CUDNN", "CXX14", "DEBUG", "DIST_KVSTORE", "F16C"),
    # Arrays may be as large as memory is; the feature also says that topk and others return int64, which they do not.
    "INT64_TENSOR_SIZE",
    *("JEMALLOC", "MKLDNN", "NCCL", "NVML", "ONEDNN", "OPENCV", "OPENMP", "PROFILER", "SIGNAL_HANDLER", "SSE"),
    *("TENSORRT", "TVM_OP"),
)


class Feature(NamedTuple):
    """Something that could be built in, and whether it is."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All features that have a name."""
    enabled = (*_ENABLED, "CUDA") if num_gpus() else _ENABLED
    return [Feature(name, name in enabled) for name in sorted(_ENABLED + _DISABLED)]


class Features(dict[str, Feature]):
    """All features by name; there is one such object."""

    _only: Features | None = None

    def __new__(cls) -> Features:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether the feature of that name, in any case, is built in; RuntimeError if there is no such name."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"unknown feature '{feature_name}'{did_you_mean(name, self)}")
        return self[name].enabled
