"""Calls of the CUDA driver, against a library with its signatures (`libcuda.c`): arguments of the right width, in the
right order, with the right context.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from optgen.execute.cuda import driver
from optgen.execute.cuda.driver import CudaError, Gpu
from optgen.execute.cuda.memory import DeviceArray

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler: cc")

STREAM = 0x7F0000000600  # as wide as a pointer


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = tmp_path_factory.mktemp("cuda") / "libcuda.so"
    source = Path(__file__).with_name("libcuda.c")
    subprocess.run(["cc", "-std=gnu11", "-shared", "-fPIC", "-o", made, source], check=True, timeout=60)
    found = ctypes.CDLL(str(made))
    found.said.restype = ctypes.c_char_p
    return found


@pytest.fixture
def gpu(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """Number 1 of two."""
    monkeypatch.setattr(driver, "LIBRARY", library._name)
    driver._library.cache_clear()
    yield Gpu(1)
    driver._library.cache_clear()


@pytest.fixture
def said(library: ctypes.CDLL, gpu: Gpu) -> Callable[[], list[str]]:
    """The calls since this was called last."""

    def calls() -> list[str]:
        assert library.contexts() == 0  # what was pushed was popped
        lines: list[str] = library.said().decode().splitlines()
        library.forget()
        return lines

    calls()
    return calls


def test_a_gpu(gpu: Gpu) -> None:
    assert (driver.count(), gpu.multiprocessors, gpu.capability) == (2, 132, (9, 0))
    assert driver.owner(0x7F0000000000) == 1
    with pytest.raises(CudaError, match=r"cuPointerGetAttribute: unknown error \(1\)"):
        driver.owner(8)


def test_memory(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    array = DeviceArray((3, 5), "float32", gpu)
    values = np.arange(15, dtype="float32").reshape(3, 5)
    array.set(values, STREAM)
    assert np.array_equal(array.get(STREAM), values)
    other = DeviceArray((3, 5), "float32", gpu)
    gpu.copy(other.address, array.address, 60, STREAM)
    gpu.fill(array.address, b"\x01\x02\x03\x04", 2, STREAM)
    gpu.fill(array.address + 8, b"\x05\xf6", 3)
    gpu.fill(array.address + 14, b"\xff", 1)
    assert np.array_equal(other.get(), values)
    assert array.get().tobytes()[:15] == b"\1\2\3\4\1\2\3\4\5\xf6\5\xf6\5\xf6\xff"
    del array, other
    sync, default = f"cuStreamSynchronize {STREAM:#x}", "(nil)"
    assert said() == [
        "cuMemAlloc_v2 60",
        *(f"cuMemcpyHtoDAsync_v2 60 {STREAM:#x}", sync),
        *(f"cuMemcpyDtoHAsync_v2 60 {STREAM:#x}", sync),
        "cuMemAlloc_v2 60",
        f"cuMemcpyDtoDAsync_v2 60 {STREAM:#x}",
        f"cuMemsetD32Async 4030201 2 {STREAM:#x}",
        f"cuMemsetD16Async f605 3 {default}",
        f"cuMemsetD8Async ff 1 {default}",
        *(f"cuMemcpyDtoHAsync_v2 60 {default}", f"cuStreamSynchronize {default}") * 2,
        *["cuMemFree_v2"] * 2,
    ]
    with pytest.raises(CudaError, match=r"cuMemAlloc_v2: out of memory \(2\)"):
        gpu.allocate(1 << 41)  # more than 32 bits


def test_code(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    handles = gpu.load(b".version 6.3", ["abc", "abcde"])
    assert [h & 0xFF for h in handles.values()] == [3, 5]
    assert gpu.load(b".version 6.3", ["abc", "abcde"]) == handles  # which is not loaded again
    assert gpu.resident(handles["abc"], 256) == 3
    gpu.launch(handles["abc"], 396, 256, 0x7F1234567890, STREAM)
    function = f"{handles['abc']:#x}"
    assert said() == [
        "cuModuleLoadDataEx 12",
        f"cuOccupancyMaxActiveBlocksPerMultiprocessor {function} 256 0",
        f"cuLaunchKernel {function} 396 1 1 256 1 1 0 {STREAM:#x} 7f1234567890 (nil)",
    ]
    with pytest.raises(CudaError, match=r"cuModuleLoadDataEx: a PTX JIT compilation failed \(218\)\nline 7: nonsense$"):
        gpu.load(b"nonsense", [])


def test_pinned_memory_and_events(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    pinned, event = gpu.pinned(80), gpu.event()
    gpu.record(event, STREAM)
    gpu.wait(event)
    gpu.drop(event)
    gpu.free_pinned(pinned)
    assert not gpu.is_capturing(STREAM) and gpu.is_capturing(0x7F00000000000700)
    assert said() == [
        *("cuMemHostAlloc 80 1", "cuEventCreate 2"),
        *(f"cuEventRecord {event:#x} {STREAM:#x}", f"cuEventSynchronize {event:#x}", f"cuEventDestroy_v2 {event:#x}"),
        "cuMemFreeHost",
    ]


def test_the_order_of_two_streams(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    other = STREAM + 1
    gpu.order(STREAM, other)
    gpu.order(0, 2)  # the default stream of the thread
    lines = said()
    event = lines[1].split()[1]
    assert lines == [
        *("cuEventCreate 2", f"cuEventRecord {event} {other:#x}"),
        *(f"cuStreamWaitEvent {STREAM:#x} {event} 0", f"cuEventDestroy_v2 {event}"),
        *("cuEventCreate 2", f"cuEventRecord {event} 0x2"),
        *(f"cuStreamWaitEvent (nil) {event} 0", f"cuEventDestroy_v2 {event}"),
    ]
    gpu.order(STREAM, STREAM)
    gpu.order(0, 1)  # the same one
    assert said() == []


def test_any_thread(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    """The current context is the thread's own: every call brings the right one, and leaves what was there."""
    thread = threading.Thread(target=lambda: gpu.free(gpu.allocate(4)))
    thread.start()
    thread.join()
    with gpu.current():
        gpu.synchronize(STREAM)
    assert said() == ["cuMemAlloc_v2 4", "cuMemFree_v2", f"cuStreamSynchronize {STREAM:#x}"]


def test_what_is_taken_and_freed_while_a_graph_is_captured(
    gpu: Gpu, library: ctypes.CDLL, said: Callable[[], list[str]]
) -> None:
    """The collector of garbage comes at any time, and nothing may fail in a capture: it would be lost."""
    array, pinned, event = DeviceArray((2,), "float32", gpu), gpu.pinned(80), gpu.event()
    said()
    library.capture(1)
    try:
        address = ctypes.c_uint64()
        with gpu.current(), pytest.raises(CudaError, match=r"cuMemAlloc_v2: .*\(900\)"):
            driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4))
        del array
        gpu.free_pinned(pinned)
        gpu.drop(event)
        gpu.pinned(80)
        gpu.allocate(4)
        with gpu.current(), pytest.raises(CudaError, match=r"\(900\)"):  # to others it is forbidden as before
            driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4))
    finally:
        library.capture(0)
    taken = ["cuMemHostAlloc 80 1", "cuMemAlloc_v2 4"]
    assert said() == ["cuMemFree_v2", "cuMemFreeHost", f"cuEventDestroy_v2 {event:#x}", *taken]


def test_what_is_freed_after_a_failure(
    gpu: Gpu, library: ctypes.CDLL, said: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Says nothing of it: the error is told where the GPU is used."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    array = DeviceArray((2,), "float32", gpu)
    library.fail(1)
    try:
        with pytest.raises(CudaError, match=r"\(700\)"):
            array.get()
        del array
    finally:
        library.fail(0)
    assert told == [] and said() == ["cuMemAlloc_v2 8"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_gives_nothing_back(gpu: Gpu, said: Callable[[], list[str]]) -> None:
    array = DeviceArray((2,), "float32", gpu)
    said()
    child = os.fork()
    if not child:
        del array
        os._exit(len(said()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del array
    assert said() == ["cuMemFree_v2"]
