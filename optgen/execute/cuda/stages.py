"""Stages on a GPU: kernels of PTX, and calls in the library of the tensors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from optgen.execute.buffers import Array, Tensor
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.cuda.kernel import GpuKernel
from optgen.execute.cuda.memory import DeviceArray
from optgen.execute.cuda.table import GpuTable
from optgen.execute.stages.array_calls import ArrayCalls
from optgen.execute.stages.bound_stages import BoundStage
from optgen.execute.stages.stage_device import Workspace

LIBRARIES = ("torch", "cupy")
"""The libraries that multiply and factorize matrices on GPUs."""


class SectionTable(GpuTable):
    """A table of tensors whose kernel is one of several of an update. It runs in the order of the stream."""

    def run(self) -> None:
        self._plan_for_gradients()
        self.kernel.run(self.address)
        stream = self._stream()
        self.send(stream)
        self.launch(stream)


class GpuStages(ArrayCalls):
    """See `optgen.execute.stages.stage_device.StageDevice`. `owner` is a tensor of the caller, whose library computes
    calls."""

    at_once = 1

    def __init__(self, gpu: GpuInterface, stream: Callable[[], Any], owner: Any) -> None:
        self._gpu, self._stream = gpu, stream
        self._library = library_of(owner)
        super().__init__(sys.modules[self._library])

    def block(self, nbytes: int) -> tuple[DeviceArray, int]:
        memory = DeviceArray((max(nbytes, 1),), "uint8", self._gpu)
        return memory, memory.address

    def table(
        self, kernel: GpuKernel, domains: Sequence[Tensor], held: Mapping[str, Sequence[Tensor]], ids: Sequence[int]
    ) -> SectionTable:
        places, pieces = list(range(len(domains))), [None] * len(domains)
        return SectionTable(self._gpu, self._stream, kernel, places, domains, held, ids, pieces)

    def view(self, tensor: Tensor) -> Any:
        xp = sys.modules[self._library]
        if self._library == "torch":
            return xp.as_tensor(_Numbers(tensor), device=f"cuda:{self._gpu.ordinal}")
        with xp.cuda.Device(self._gpu.ordinal):
            return xp.asarray(_Numbers(tensor))

    def prepared(self, stages: Sequence[BoundStage], how: str, workspace: Workspace) -> Sequence[BoundStage]:
        return stages

    def groups(self, elements: Sequence[int]) -> list[list[int]]:
        return [list(range(len(elements)))]

    def run_groups(self, groups: Sequence[Sequence[Sequence[BoundStage]]]) -> None:
        for stages in (stages for own in groups for stages in own):
            for stage in stages:
                for _ in stage.run():
                    pass

    def keep(self, tensor: Tensor) -> Callable[[], None]:
        if tensor.gpu is None and tensor.size:  # a state of kind host
            array: Array = tensor.view()
            copied = array.copy()

            def put_back_on_host() -> None:
                array[...] = copied

            return put_back_on_host
        copy, stream = DeviceArray((tensor.nbytes,), "uint8", self._gpu), self._stream()
        self._gpu.copy(copy.address, tensor.address, tensor.nbytes, stream)

        def put_back() -> None:
            self._gpu.copy(tensor.address, copy.address, tensor.nbytes, self._stream())

        return put_back

    def is_finite(self, tensor: Tensor) -> bool:
        """True: to look at a gradient before it is factorized would be to wait for the GPU once more."""
        return True


class _Numbers:
    """Memory of float32 or float64 numbers, as libraries take it."""

    def __init__(self, tensor: Tensor) -> None:
        self.__cuda_array_interface__ = {
            "shape": tensor.shape,
            "typestr": np.dtype(tensor.dtype).str,
            "data": (tensor.address, False),
            "strides": None,
            "version": 3,
        }


class NoHalves:
    """Stands for the launches of a step that no graph can hold, because it waits for results of its own."""

    def __init__(self, gpu: GpuInterface, stream: Callable[[], Any]) -> None:
        self._gpu, self._stream = gpu, stream

    def check_not_capturing(self) -> None:
        if self._gpu.is_capturing(self._stream()):
            self._refuse()

    def advance(self) -> NoReturn:
        self._refuse()

    launch = advance

    def _refuse(self) -> NoReturn:
        raise RuntimeError(
            "a step with products of matrices is kernels and calls of PyTorch or CuPy in turn, which no graph can "
            "have: call the step itself, without a capture"
        )


def library_of(owner: Any) -> str:
    """The library of a tensor, or one that is there if the tensor's own has no products; ValueError if none is."""
    own = "torch" if hasattr(owner, "data_ptr") else type(owner).__module__.partition(".")[0]
    for name in (own, *LIBRARIES) if own in LIBRARIES else LIBRARIES[::-1]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return name
    raise ValueError("products of matrices on a GPU are computed by PyTorch or CuPy: install one of them for CUDA")
