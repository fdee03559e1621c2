"""GPUs as users of the runtime see them: those that are missing, and two, whose CuPy is the stand-in of tests/cuda."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from runtime.core import backend
from runtime.ndarray.updates import sums

FIRST, SECOND = mx.gpu(0), mx.gpu(1)


def values(x: nd.NDArray) -> list:
    return x.asnumpy().tolist()


# ---------------------------------------------------------------- what is missing


def told(code: str, *paths: str) -> str:
    """What a fresh Python prints that finds modules in `paths` first."""
    program = f"import sys; sys.path[:0] = {list(paths)!r}; {code}"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    ).stdout


ASK = """
import runtime as mx
assert "cupy" not in sys.modules
print(mx.num_gpus(), list(mx.test_utils.list_gpus()), mx.util.get_gpu_count())
for ask in (lambda: mx.nd.ones(1, ctx=mx.gpu()), mx.gpu_memory_info, mx.gpu().empty_cache):
    try:
        ask()
    except mx.MXNetError as error:
        print(error)
x = mx.nd.ones(2, ctx=mx.gpu() if mx.test_utils.list_gpus() else mx.cpu())
mx.nd.waitall()
mx.cpu().empty_cache()
print(x.context)
"""
ABSENT = "raise ModuleNotFoundError(\"No module named 'cupy'\", name='cupy')"
BROKEN = "raise ImportError('libcudart.so.13: cannot open shared object file')"
NO_DRIVER = """
class cuda:
    class runtime:
        def getDeviceCount():
            raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
"""
NO_DEVICE = "class cuda:\n    class runtime:\n        def getDeviceCount(): return 0"


@pytest.mark.parametrize(
    ("library", "missing"),
    [
        (ABSENT, "CuPy, which computes there, is not installed: pip install 'cupy-cuda13x>=14' (the extra 'cuda')"),
        (BROKEN, "CuPy, which computes there, cannot be imported: libcudart.so.13: cannot open shared object file"),
        (
            NO_DRIVER,
            "CUDA finds no driver and device: cudaErrorInsufficientDriver: CUDA driver version is insufficient",
        ),
        (NO_DEVICE, "CUDA finds a driver, but no device"),
    ],
    ids=["absent", "broken", "no driver", "no device"],
)
def test_there_is_no_gpu(tmp_path: Path, library: str, missing: str) -> None:
    (tmp_path / "cupy.py").write_text(library)
    there_is_none = f"there is no device gpu(0): {missing}"
    assert told(f"exec({ASK!r})", str(tmp_path)).splitlines() == ["0 [] 0", *[there_is_none] * 3, "cpu(0)"]


def test_devices_that_are_not_there(cupy: ModuleType) -> None:
    assert mx.num_gpus() == 2 and list(mx.test_utils.list_gpus()) == [0, 1]
    for number in (2, -1):
        with pytest.raises(
            mx.MXNetError, match=rf"no device gpu\({number}\): GPUs are counted from 0, and num_gpus\(\)"
        ):
            nd.zeros(1, ctx=mx.gpu(number))


# ---------------------------------------------------------------- two of them


def test_arrays_live_on_the_device_of_their_context(cupy: ModuleType) -> None:
    with SECOND:
        made = [
            nd.zeros((2, 3)), nd.array([[1, 2, 3]]), nd.full(2, 7), nd.arange(3), nd.eye(2), nd.linspace(0, 1, 3),
            nd.ones(2, dtype="bfloat16"), nd.array(np.ones(2)), nd.empty(()), nd.empty(2),
        ]  # fmt: skip
    for x in (*made, made[1] + 1, made[1][0], made[1].sum(), made[1] * made[1], made[1].copy(), copy.copy(made[1])):
        assert x.context == SECOND and type(x._data) is cupy.ndarray and x._data.device.id == 1
    assert cupy.cuda.current_device() == 0  # as it was
    x = made[1]
    assert values(x * 2 - x) == [[1, 2, 3]] and x.sum().asscalar() == 6 and float(x[0, 1]) == 2 and x.writable
    assert repr(x) == "\n[[1. 2. 3.]]\n<NDArray 1x3 @gpu(1)>" and np.asarray(x).dtype == np.float32
    x[:, 1:] = nd.array([8, 9])  # from the CPU
    x[0, [0]] = np.array([7.0])
    assert values(x) == [[7, 8, 9]]
    x += 1
    assert values(nd.add(x, x, out=x)) == [[16, 18, 20]] and x._data.device.id == 1
    x.wait_to_read()
    nd.waitall()


def test_copies_between_memories(cupy: ModuleType) -> None:
    x = nd.array([1, 2, 3], ctx=mx.cpu())
    for target in (FIRST, SECOND, mx.cpu(1), FIRST, FIRST):
        before, x = x, x.as_in_context(target)
        assert x.context == target and values(x) == [1, 2, 3] and backend.is_host(x._data) == target.on_cpu
        assert (x is before) == (before.context == target)
    moved = x.copyto(SECOND)
    moved[0] = 5
    assert values(x) == [1, 2, 3] and values(moved.copyto(nd.zeros(3, ctx=mx.cpu()))) == [5, 2, 3]
    assert moved.copyto(x) is x and values(x) == [5, 2, 3]
    assert nd.array(moved, ctx=mx.cpu()).context == mx.cpu() and nd.array(moved).context == SECOND
    assert nd.array(moved, ctx=FIRST, dtype="int32")._data.dtype == np.int32


def test_pickled_and_saved(cupy: ModuleType, tmp_path: Path) -> None:
    x = nd.array([[1, 2]], ctx=SECOND, dtype="float16")
    restored = pickle.loads(pickle.dumps(x))
    assert restored.context == SECOND and values(restored) == [[1, 2]] and restored.dtype == np.float16
    nd.save(tmp_path / "x", {"x": x})
    with mx.cpu():
        assert nd.load(tmp_path / "x")["x"].context == mx.cpu()
    with FIRST:
        loaded = nd.load(tmp_path / "x")["x"]
    assert loaded.context == FIRST and values(loaded) == [[1, 2]] and type(loaded._data) is cupy.ndarray


def test_contexts_do_not_mix(cupy: ModuleType) -> None:
    x = nd.ones(2, ctx=FIRST)
    for other in (SECOND, mx.cpu(), mx.cpu_pinned()):
        with pytest.raises(mx.MXNetError, match=r"add: inputs live in gpu\(0\) and in .*; bring them together"):
            x + nd.ones(2, ctx=other)
        with pytest.raises(mx.MXNetError, match=r"sgd_update: arrays live in .*; bring them together"):
            nd.sgd_update(x, nd.ones(2, ctx=other), lr=0.1)
    with pytest.raises(IndexError, match=r"index 2 is out of bounds for axis 0, of length 2"):
        x[nd.array([0, 2], ctx=FIRST)]
    with pytest.raises(IndexError, match=r"index -3 is out of bounds for axis 1, of length 2"):
        x.reshape((1, 2))[..., [1, -3]] = 0
    with pytest.raises(ValueError, match=r"cannot write a value of shape \(3,\) to x\[:\]"):
        x[:] = nd.ones(3, ctx=FIRST)


def test_gradients_cross_devices(cupy: ModuleType) -> None:
    x = nd.array([3, 4], ctx=SECOND)
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = (x * x).as_in_context(FIRST)
            z = y.copyto(mx.cpu()) * nd.array([1, 2], ctx=mx.cpu())
        z.backward()
    assert values(x.grad) == [12, 32] and x.grad.context == SECOND
    with autograd.record():
        first = autograd.grad(((x**3).as_in_context(FIRST)).tanh(), x, create_graph=True)[0]
    first.backward()
    assert x.grad.context == SECOND and type(x.grad._data) is cupy.ndarray


def test_sums_of_several_devices(cupy: ModuleType) -> None:
    for dtype in ("float32", "bfloat16"):
        parts = [nd.full(3, i, ctx=ctx, dtype=dtype) for i, ctx in enumerate((FIRST, SECOND, mx.cpu()), start=1)]
        for target in (FIRST, SECOND, mx.cpu()):
            total = sums.total(parts, target)
            assert (
                total.context == target and backend.is_host(total._data) == target.on_cpu and values(total) == [6] * 3
            )


def test_dlpack(cupy: ModuleType) -> None:
    x = nd.array([1, 2], ctx=SECOND)
    for given in (x, x._data, nd.to_dlpack_for_read(x), x.to_dlpack_for_write()):
        shared = nd.from_dlpack(given)
        assert shared.context == SECOND
        shared += 1
    assert values(x) == [5, 6] and x.__dlpack_device__() == (2, 1)
    capsule = x.to_dlpack_for_read()
    nd.from_dlpack(capsule)
    with pytest.raises(ValueError, match="used up"):
        nd.from_dlpack(capsule)
    with FIRST:
        host = np.ones(2, np.float32)
        assert nd.from_dlpack(host).context == nd.from_numpy(host).context == mx.cpu(0)
        assert nd.from_numpy(np.ones(2), zero_copy=False).context == FIRST


def test_memory_is_given_back(cupy: ModuleType) -> None:
    free, total = mx.gpu_memory_info(1)
    assert 0 < free <= total
    before = cupy.get_default_memory_pool().freed
    SECOND.empty_cache()
    assert cupy.get_default_memory_pool().freed == before + 1
