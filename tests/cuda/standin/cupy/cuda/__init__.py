"""`cupy.cuda`: two devices, whose memory is that of this process."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from . import runtime


class _Current(threading.local):
    def __init__(self) -> None:
        self.devices = [0]


_current = _Current()


def current_device() -> int:
    """The number of the device on which this thread's kernels run."""
    return _current.devices[-1]


class Device:
    """A device; in `with Device(i):` it is the current one."""

    def __init__(self, device: int | Device | None = None) -> None:
        device = current_device() if device is None else device
        self.id = device.id if isinstance(device, Device) else int(device)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __enter__(self) -> Device:
        if not 0 <= self.id < runtime.getDeviceCount():
            raise runtime.CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        _current.devices.append(self.id)
        return self

    def __exit__(self, *exception: object) -> None:
        _current.devices.pop()

    def use(self) -> None:
        _current.devices[-1] = self.id

    def synchronize(self) -> None:
        """All is computed when it is called."""

    @property
    def mem_info(self) -> tuple[int, int]:
        return runtime.memGetInfo()

    @property
    def compute_capability(self) -> str:
        return "90"


class Stream:
    """A queue of kernels, which are run when they are called."""

    def __init__(self, ptr: int = 0) -> None:
        self.ptr = ptr

    def synchronize(self) -> None:
        """All is computed when it is called."""


_stream = Stream()


def get_current_stream(device_id: int = -1) -> Stream:
    return _stream


def is_available() -> bool:
    return runtime.getDeviceCount() > 0


class MemoryPool:
    """Knows the memory of all arrays: `blocks[address]` is its bytes, and the device. Counts how often it was given
    back."""

    def __init__(self) -> None:
        self.freed = 0
        self.blocks: dict[int, tuple[int, int]] = {}
        self._arrays: dict[int, weakref.ref] = {}  # what has the memory, by address

    def add(self, array: np.ndarray, device: int) -> None:
        """Take notice of the memory of an array, until that is gone."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        address = array.__array_interface__["data"][0]
        if not array.nbytes or not array.flags.owndata or address in self.blocks:
            return

        def gone(_: Any) -> None:
            del self.blocks[address], self._arrays[address]

        self.blocks[address] = array.nbytes, device
        self._arrays[address] = weakref.ref(array, gone)

    def free_all_blocks(self, stream: Any = None) -> None:
        self.freed += 1

    def used_bytes(self) -> int:
        """On the current device."""
        return sum(nbytes for nbytes, device in list(self.blocks.values()) if device == current_device())

    def total_bytes(self) -> int:
        return 0


pool = MemoryPool()
