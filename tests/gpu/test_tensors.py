"""What is a tensor of a GPU, and what is said where it cannot be used."""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import optgen
from optgen.execute.cuda import driver
from tests.compiler.arrays import random
from tests.compiler.harness import same_bits
from tests.gpu.libraries import Library

SHAPE = (129, 33)


def expected(steps: int = 1) -> np.ndarray:
    (w,), (g,) = random(SHAPE), random(SHAPE, seed=1)
    step = optgen.load("adam").bind([w], [g])
    for _ in range(steps):
        step(lr=0.1)
    return w


class OnlyDLPack:
    """A tensor that knows no other way than DLPack."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        device, number = self._tensor.__dlpack_device__()
        return int(device), int(number)

    def __dlpack__(self, **how: Any) -> Any:
        return self._tensor.__dlpack__(**how)


def test_dlpack(library: Library) -> None:
    w, g = (library.put(random(SHAPE, seed=k)[0]) for k in (0, 1))
    optgen.load("adam", target="cuda").bind([OnlyDLPack(w)], [OnlyDLPack(g)])(lr=0.1)
    library.synchronize()
    assert same_bits(library.get(w), expected())


def test_bfloat16(library: Library) -> None:
    """Which `__cuda_array_interface__` has no word for."""
    arrays = [random(SHAPE, seed=k)[0].astype(ml_dtypes.bfloat16) for k in (0, 1)]
    w, g = map(library.put, arrays)
    optgen.load("adam", dtype="bfloat16", target="cuda").bind([w], [g])(lr=0.1)
    optgen.load("adam", dtype="bfloat16").bind(arrays[:1], arrays[1:])(lr=0.1)
    library.synchronize()
    assert same_bits(library.get(w), arrays[0])


def test_gradients_of_jax(torch_library: Library) -> None:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX finds no GPU")
    w = torch_library.put(random(SHAPE)[0])
    g = jax.numpy.asarray(random(SHAPE, seed=1)[0]).block_until_ready()
    optgen.load("adam", target="cuda").bind([w], [g])(lr=0.1)
    torch_library.synchronize()
    assert same_bits(torch_library.get(w), expected())


def test_arrays_of_pycuda() -> None:
    pytest.importorskip("pycuda")
    pytest.importorskip("pycuda.autoprimaryctx")
    gpuarray = pytest.importorskip("pycuda.gpuarray")
    w, g = (gpuarray.to_gpu(random(SHAPE, seed=k)[0]) for k in (0, 1))
    optgen.load("adam", target="cuda").bind([w], [g])(lr=0.1)
    assert same_bits(w.get(), expected())


def test_states_are_arrays_for_other_libraries(library: Library) -> None:
    """And a state is a tensor like any other: a second step goes on with the first one's."""
    w, g = (library.put(random(SHAPE, seed=k)[0]) for k in (0, 1))
    rule = optgen.load("adam", target="cuda")
    first = rule.bind([w], [g])
    first(lr=0.1)
    taken = library.torch.as_tensor(first.state.arrays["m"][0], device="cuda") if hasattr(library, "torch") else None
    taken = library.cupy.asarray(first.state.arrays["m"][0]) if taken is None else taken
    library.synchronize()
    assert same_bits(library.get(taken), first.state.arrays["m"][0].get())
    rule.bind([w], [g], first.state)(lr=0.1)
    library.synchronize()
    assert same_bits(library.get(w), expected(2))


def test_gradients_of_parameters() -> None:
    """A step without `grads` reads `.grad` of each parameter anew, and leaves out those that have none."""
    torch = pytest.importorskip("torch")
    weights, grads = random(SHAPE, (65,)), random(SHAPE, (65,), seed=1)
    params = [torch.nn.Parameter(torch.from_numpy(w.copy()).cuda()) for w in weights]
    step = optgen.load("adam", target="cuda").bind(params)
    params[0].grad = torch.from_numpy(grads[0]).cuda()
    step(lr=0.1)
    torch.cuda.synchronize()
    assert same_bits(params[0].detach().cpu().numpy(), expected())
    assert same_bits(params[1].detach().cpu().numpy(), weights[1])
    assert list(step.state.t) == [1, 0]


# ---------------------------------------------------------------- errors


def test_tensors_of_the_cpu_are_refused(library: Library) -> None:
    rule, x = optgen.load("adam", target="cuda"), library.put(random(SHAPE)[0])
    with pytest.raises(ValueError, match=r"params\[0\]: in the memory of the CPU; this kernel runs on a GPU"):
        rule.bind([np.ones(3, np.float32)], [np.ones(3, np.float32)])
    with pytest.raises(ValueError, match=r"grads\[0\]: in the memory of the CPU; this kernel runs on a GPU"):
        rule.bind([x], [random(SHAPE)[0]])
    with pytest.raises(ValueError, match=r"params\[0\]: on .*this kernel runs on the CPU"):
        optgen.load("adam").bind([x], [x])


def test_tensors_of_pytorch_on_the_cpu_are_refused() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    with pytest.raises(ValueError, match=r"params\[0\]: on device 'cpu'; this kernel runs on a GPU"):
        optgen.load("adam", target="cuda").bind([x], [x.clone()])
    there = torch.nn.Parameter(x.cuda())
    with pytest.raises(ValueError, match=r"params\[0\]: on .*this kernel runs on the CPU"):
        optgen.load("adam").bind([there], [x])


def test_other_dtypes_shapes_and_orders_are_refused(library: Library) -> None:
    rule, x = optgen.load("adam", target="cuda"), library.put(random(SHAPE)[0])
    double, other, wide = (
        library.put(random(s, dtype=t)[0]) for s, t in ((SHAPE, "float64"), ((3,), "float32"), ((8, 8), "float32"))
    )
    with pytest.raises(TypeError, match=r"params\[0\]: dtype float64, but the kernel takes float32"):
        rule.bind([double], [x])
    with pytest.raises(TypeError, match=r"grads\[0\]: dtype float64, but the kernel takes float32"):
        rule.bind([x], [double])
    with pytest.raises(ValueError, match=r"grads\[0\]: shape \(3,\), but its parameter has \(129, 33\)"):
        rule.bind([x], [other])
    with pytest.raises(ValueError, match=r"params\[0\]: not contiguous"):
        rule.bind([wide[:, 2:5]], [wide[:, 5:]])
    with pytest.raises(ValueError, match="share memory, and a step writes to it"):
        rule.bind([x], [x])


def test_parameters_on_two_gpus_are_refused() -> None:
    torch = pytest.importorskip("torch")
    if driver.count() < 2:
        pytest.skip("there is one GPU")
    params = [torch.ones(9, device=f"cuda:{k}") for k in range(2)]
    rule = optgen.load("adam", target="cuda")
    with pytest.raises(ValueError, match=r"params\[0\] is on GPU 0 and params\[1\] on GPU 1; bind the parameters of"):
        rule.bind(params, [torch.ones_like(p) for p in params])
    for k, w in enumerate(params):  # each GPU has its own step, of one rule
        rule.bind([w], [torch.ones_like(w)])(lr=0.1)
        torch.cuda.synchronize(k)
    assert torch.equal(params[0].cpu(), params[1].cpu())
