"""What is around the launches: finding tensors, sending tables, steps in two halves, memory, errors."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import Box, Piece, RowSparse
from optgen.execute.cuda import driver, memory
from optgen.execute.cuda.table import STEPS_IN_FLIGHT
from optgen.ir import BLOCK
from tests.compiler.harness import by_name, numbers, same_bits
from tests.cuda.emulation import Gpu, GpuArray, emulated
from tests.sweeps import swept

RNG = np.random.default_rng(3)


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated() as (gpu,):
        yield gpu


def pair(gpu: Gpu, *shapes: tuple[int, ...]) -> tuple[list[GpuArray], list[GpuArray]]:
    params, grads = ([GpuArray(RNG.standard_normal(s).astype("float32"), gpu) for s in shapes] for _ in range(2))
    return params, grads


# ---------------------------------------------------------------- a step in two halves


def test_a_graph_of_launches_sees_the_numbers_of_each_step(gpu: Gpu) -> None:
    params, grads = pair(gpu, (300,), (4, 5))
    host = [p.get() for p in params]
    step = optgen.load("nadam", target="cuda").bind(params, grads)
    reference = optgen.load("nadam").bind(host, [g.get() for g in grads])
    for k in range(2 * STEPS_IN_FLIGHT + 1):
        step.advance(lr=0.1 / (k + 1))
        step.launch()  # what a replay does
        reference(lr=0.1 / (k + 1))
    assert all(same_bits(a.get(), b) for a, b in zip(params, host, strict=True))
    assert step.state.t.tolist() == [2 * STEPS_IN_FLIGHT + 1] * 2


def test_what_is_captured_are_launches_only(gpu: Gpu) -> None:
    step = optgen.load("sgd", target="cuda").bind(*pair(gpu, (3,)))
    step.advance()
    gpu.capturing = True
    step.launch()
    with pytest.raises(RuntimeError, match=r"call launch\(\) there, and advance\(\) before each replay"):
        step()


def test_a_table_is_sent_once_a_step(gpu: Gpu) -> None:
    step = optgen.load("adam", target="cuda").bind(*pair(gpu, *[(5,)] * 40))
    step()
    gpu.sent = 0
    gpu.launches.clear()
    step(lr=0.5)
    assert (gpu.sent, len(gpu.launches)) == (1, 1)


def test_streams_are_those_of_the_callers_library(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    streams: list[int] = []
    launch = gpu.launch
    monkeypatch.setattr(gpu, "launch", lambda *args: (streams.append(args[-1]), launch(*args)))
    current = SimpleNamespace(cuda_stream=11)
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda device: current))
    monkeypatch.setitem(sys.modules, "torch", torch)
    (param,), (grad,) = pair(gpu, (6,))
    step = optgen.load("sgd", target="cuda").bind([Torch(param)], [grad])
    step()
    current.cuda_stream = 12
    step()
    optgen.load("sgd", target="cuda").bind([param], [grad])()
    assert streams == [11, 12, 0]


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (7, 7),
        (np.int64(8), 8),
        (SimpleNamespace(cuda_stream=9), 9),
        (SimpleNamespace(ptr=10), 10),
        (SimpleNamespace(handle=11), 11),
        (SimpleNamespace(handle=ctypes.c_void_p(12)), 12),
        (SimpleNamespace(handle=ctypes.c_void_p(0)), 0),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 13)), 13),
    ],
)
def test_a_stream_can_be_given(stream: Any, handle: int, monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    streams: list[int] = []
    launch = gpu.launch
    monkeypatch.setattr(gpu, "launch", lambda *args: (streams.append(args[-1]), launch(*args)))
    optgen.load("sgd", target="cuda").bind(*pair(gpu, (6,)), stream=stream)()
    assert streams == [handle]


def test_a_step_is_after_the_streams_of_its_arrays(gpu: Gpu) -> None:
    """From when it is bound, or gets other gradients, on: a call looks at no arrays."""

    def arrays(*streams: object) -> list[GpuArray]:
        return [GpuArray(np.ones(5, np.float32), gpu, stream=x) for x in streams]

    sgd = optgen.load("sgd", target="cuda")
    step = sgd.bind(arrays(None, 1, 7, 7, 9), arrays(None, 1, 2, 9, 8), stream=9)
    assert sorted(set(gpu.orders)) == [(9, 1), (9, 2), (9, 7), (9, 8)]
    gpu.orders.clear()
    step()
    assert gpu.orders == []
    step.rebind(arrays(9, 9, 9, 5, None))
    assert gpu.orders == [(9, 5)]
    gpu.orders.clear()
    sgd.init(arrays(1, 6))  # in the default stream
    assert gpu.orders == [(0, 6)]
    empty = GpuArray(np.ones((0, 3), np.float32), gpu, stream=6)
    sgd.bind([empty], [empty])()
    assert gpu.orders == [(0, 6)]
    for wrong, error in ((0, ValueError), (-3, ValueError), (True, TypeError), ("7", TypeError)):
        with pytest.raises(error, match=r"params\[0\]: the stream of its __cuda_array_interface__ is "):
            sgd.bind(arrays(wrong), arrays(1))


def test_what_is_no_stream_is_refused(gpu: Gpu) -> None:
    sgd = optgen.load("sgd", target="cuda")
    for wrong in (1.5, "legacy", True, object()):
        with pytest.raises(TypeError, match="stream: expected the handle of a stream"):
            sgd.bind(*pair(gpu, (6,)), stream=wrong)
    with pytest.raises(ValueError, match="stream: -1 is the handle of no stream"):
        sgd.bind(*pair(gpu, (6,)), stream=-1)
    with pytest.raises(ValueError, match="its products are computed by PyTorch or CuPy, in their current stream"):
        optgen.load("muon", target="cuda").bind(*pair(gpu, (6, 6)), stream=1)
    with pytest.raises(ValueError, match="stream: a step on the CPU is in none"):
        optgen.load("sgd").bind([np.ones(3, np.float32)], [np.ones(3, np.float32)], stream=1)


class Torch:
    """As much of a PyTorch tensor as is looked at."""

    def __init__(self, array: GpuArray, device: str = "cuda:0") -> None:
        self._array, self.shape, self.device = array, array.shape, device
        self.dtype = f"torch.{array.dtype.name}"
        self.grad: Any = None

    def data_ptr(self) -> int:
        return int(self._array.__cuda_array_interface__["data"][0])

    def stride(self) -> list[int]:
        return [int(np.prod(self.shape[k + 1 :])) for k in range(len(self.shape))]


def test_gradients_are_read_anew_and_may_be_missing(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    params, grads = pair(gpu, (40,), (7,))
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=0)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensors = [Torch(p) for p in params]
    before = [p.get() for p in params]
    step = optgen.load("sgd", target="cuda").bind(tensors)
    with pytest.raises(RuntimeError, match=r"call advance\(\) once before launch\(\)"):
        step.launch()
    step()
    assert all(same_bits(a.get(), b) for a, b in zip(params, before, strict=True))
    tensors[1].grad = Torch(grads[1])
    step(lr=1.0, wd=0.0)
    assert same_bits(params[0].get(), before[0])
    assert same_bits(params[1].get(), before[1] - grads[1].get())
    assert step.state.t.tolist() == [0, 1]
    step.rebind(pair(gpu, (40,), (7,))[1])  # until the next step, which looks for itself
    step()
    assert same_bits(params[1].get(), before[1] - grads[1].get() - grads[1].get())


def test_gradients_that_are_elsewhere_at_each_step(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    """At other offsets from what is aligned, too, by which launches are planned."""
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=0)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    params, grads = pair(gpu, (40,), (7, 5))
    host, tensors = [p.get() for p in params], [Torch(p) for p in params]
    step, reference = (
        optgen.load("adam", target="cuda").bind(tensors),
        optgen.load("adam").bind(host, [g.get() for g in grads]),
    )
    for offset in (0, 4, 8, 16, 2):
        for x, g in zip(tensors, grads, strict=True):
            x.grad = Torch(GpuArray(g.get(), gpu, offset))
        if offset == 2:
            with pytest.raises(ValueError, match=r"^grads\[0\]: not aligned to its elements"):
                step(lr=0.1)
            continue
        step(lr=0.1)
        reference(lr=0.1)
    assert all(same_bits(a.get(), b) for a, b in zip(params, host, strict=True))


def test_memory_that_was_replaced_is_refused_and_versions_are_counted(
    monkeypatch: pytest.MonkeyPatch, gpu: Gpu
) -> None:
    """Also where launches are called alone; what a graph writes when it is replayed is counted by `advance`."""
    counted: list[list[Torch]] = []
    torch = SimpleNamespace(
        Tensor=Torch,
        cuda=SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=0)),
        autograd=SimpleNamespace(graph=SimpleNamespace(increment_version=counted.append)),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    params, grads = ([Torch(x) for x in arrays] for arrays in pair(gpu, (40,), (7,)))
    step = optgen.load("sgd", target="cuda").bind(params, grads)
    for call in (step, step.advance, step.launch):
        call()
        assert counted.pop() == params and not counted
    was, params[1]._array = params[1]._array, GpuArray(np.zeros(7, "float32"), gpu)
    for call in (step, step.advance, step.launch):
        with pytest.raises(
            ValueError, match=r"^params\[1\]: no longer the memory, .* bind anew, with state=step.state"
        ):
            call()
    params[1]._array, grads[0]._array = was, GpuArray(np.zeros(40, "float32"), gpu)
    for call in (step, step.advance, step.launch):
        with pytest.raises(ValueError, match=r"^grads\[0\]: no longer the memory, .* rebind the gradients"):
            call()
    assert not counted and step.state.t.tolist() == [2, 2]


def test_a_step_under_way_is_in_use(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    params, grads = pair(gpu, (40,))
    step = optgen.load("sgd", target="cuda").bind(params, grads)
    refused = []

    def launch(*args: Any) -> None:
        for call in (step, step.advance, step.launch, step.evaluate):
            with pytest.raises(RuntimeError, match="this step is in use by its own exchange"):
                call()
            refused.append(call)

    monkeypatch.setattr(gpu, "launch", launch)
    step()
    step.launch()
    assert len(refused) == 8 and step.state.t.tolist() == [1]


def test_rows_and_whole_gradients_in_turn(gpu: Gpu) -> None:
    """A dense gradient is all of the rows that were row-sparse just now, in the same memory."""
    params, grads = pair(gpu, (3, 5))
    host, values = params[0].get(), grads[0].get()
    rows = np.array([2], np.int64)
    step = optgen.load("sgd", target="cuda").bind(params, grads)
    reference = optgen.load("sgd").bind([host], [values])
    part = SimpleNamespace(__cuda_array_interface__={**grads[0].__cuda_array_interface__, "shape": (1, 5)})
    for ours, theirs in (
        (RowSparse(GpuArray(rows, gpu), part), RowSparse(rows, values[:1])),
        (grads[0], values),
        (RowSparse(GpuArray(rows, gpu), part), RowSparse(rows, values[:1])),
        (grads[0], values),
    ):
        step.rebind([ours])
        reference.rebind([theirs])
        step(lr=0.5)
        reference(lr=0.5)
        assert same_bits(params[0].get(), host)


# ---------------------------------------------------------------- pieces


def test_pieces_exchange_what_a_norm_is_made_of(gpu: Gpu) -> None:
    """Two halves of a tensor, each bound apart, come to the bits of the whole on the CPU."""
    n, cut = 3 * BLOCK + 7, 2 * BLOCK
    case = by_name("lamb-bias_correction")
    weight, grad = (numbers(RNG, (n,), "float32", special=False) for _ in range(2))
    expected = weight.copy()
    case.load().bind([expected], [grad])()
    first = GpuArray(weight[:cut], gpu), GpuArray(grad[:cut], gpu)
    second = GpuArray(weight[cut:], gpu), GpuArray(grad[cut:], gpu)
    whole = case.load()
    partials: dict[int, np.ndarray] = {}

    def collect(members: list[int], found: np.ndarray) -> None:
        partials[len(partials)] = found.copy()

    def give(members: list[int], found: np.ndarray) -> None:
        found[: cut // BLOCK] = partials[0][: cut // BLOCK]

    def fill(members: list[int], found: np.ndarray) -> None:
        found[cut // BLOCK :] = partials[1][cut // BLOCK :]

    rule = case.load(target="cuda")
    pieces = [Piece(0, (n,))], [Piece(cut, (n,))]
    rule.bind([GpuArray(weight[:cut], gpu)], [first[1]], pieces=pieces[0], exchange=collect)()
    rule.bind([second[0]], [second[1]], pieces=pieces[1], exchange=lambda m, x: (collect(m, x), give(m, x)))()
    rule.bind([first[0]], [first[1]], pieces=pieces[0], exchange=fill)()
    assert whole.cut((n,)) == "blocks"
    assert same_bits(np.concatenate([first[0].get(), second[0].get()]), expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adam", {"storage": "bfloat16_stochastic"}),
        ("adam", {"storage": "int8_dynamic", "blocks_by_row": True}),
        ("sgld", {}),
    ],
)
def test_boxes_of_elementwise_rules(gpu: Gpu, name: str, options: dict[str, Any]) -> None:
    """Rows that do not begin at a multiple of four elements draw what the whole tensor does."""
    shape, cuts = (15, 301), (0, 4, 4, 15)
    case = by_name(name)
    weight, grad = (numbers(RNG, shape, "float32", special=False) for _ in range(2))
    expected = weight.copy()
    step = case.load(**options).bind([expected], [grad])
    step()
    step()
    found = []
    for k in range(3):
        rows = slice(cuts[k], cuts[k + 1])
        own = GpuArray(weight[rows].copy(), gpu)
        pieces = [Box.of_rows(shape, cuts, k)]
        step = case.load(target="cuda", **options).bind([own], [GpuArray(grad[rows].copy(), gpu)], pieces=pieces)
        step()
        step()
        found.append(own.get())
    assert same_bits(np.concatenate(found), expected)


def test_boxes_that_are_refused(gpu: Gpu) -> None:
    part = GpuArray(np.ones((3, 8), np.float32), gpu)
    rows, columns = Box.of_rows((9, 8), (0, 3, 9), 0), Box((3, 16), (((0, 0), (3, 8)), ((0, 8), (3, 8))), 0)
    for name, box in (("lamb", rows), ("adafactor", rows), ("sgld", columns)):
        with pytest.raises(ValueError, match=r"that is done on the CPU only \(target='cpu'\)"):
            optgen.load(name, target="cuda").bind([part], [GpuArray(np.ones((3, 8), np.float32), gpu)], pieces=[box])


COLUMNS = """\
optimizer Columns "values that depend on several rows, in a small kernel"
state m      = 0
state C: col = 0
update:
  m' = 0.9*m + g
  C' = 0.5*C + mean(m'^2, per col)
  w' = w - lr*m'/(1 + sqrt(C'))
"""


@pytest.mark.parametrize("name", swept(["lamb", "adafactor", "columns"], ["columns"]))
def test_eight_bit_blocks_restart_at_rows(gpu: Gpu, name: str) -> None:
    """Also where values depend on several rows, and beside tensors whose blocks restart there by themselves."""
    options: dict[str, Any] = {"storage": "int8_dynamic", "blocks_by_row": True}
    if name == "adafactor":
        options["beta1"] = 0.9
    spec = optgen.parse(COLUMNS) if name == "columns" else name
    shapes = [(17, 300), (20, 256), (40, 3)]
    weights, grads = ([numbers(RNG, s, "float32", special=False) for s in shapes] for _ in range(2))
    ours = [GpuArray(w, gpu) for w in weights]
    step = optgen.load(spec, target="cuda", **options).bind(ours, [GpuArray(g, gpu) for g in grads])
    reference = optgen.load(spec, **options).bind(weights, grads)
    for _ in range(2):
        step()
        reference()
    assert all(same_bits(a.get(), b) for a, b in zip(ours, weights, strict=True))
    scales = step.state.arrays["m.scale"]
    assert [None if x is None else x.shape for x in scales] == [(17, 2), (20, 1), None]


# ---------------------------------------------------------------- finding tensors


def test_what_a_rule_makes_can_be_read_by_others(gpu: Gpu) -> None:
    rule = optgen.load("adam", target="cuda", storage="bfloat16")
    state = rule.init([GpuArray(np.zeros((3, 4), "float32"), gpu)])
    array = state.arrays["m"][0]
    assert (array.shape, array.dtype.name, array.nbytes) == ((3, 4), "bfloat16", 24)
    array.set(np.full((3, 4), 1.5, array.dtype))
    assert array.get().astype(float).sum() == 18
    assert array.__cuda_array_interface__["data"] == (array.address, False)
    with pytest.raises(ValueError, match=r"float32 of shape \(2,\) does not fit into bfloat16 of \(3, 4\)"):
        array.set(np.zeros(2, "float32"))


class Capsule:
    """A tensor that has nothing but DLPack."""

    def __init__(self, array: GpuArray, code: int = 2) -> None:
        self._array = array
        shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        address = array.__cuda_array_interface__["data"][0]
        self._keep = shape
        self._tensor = memory._DLTensor(address - 8, 2, 0, len(array.shape), code, 32, 1, shape, None, 8)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int) -> Any:
        assert stream == 1  # the legacy default one, which the step is put into
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self._tensor), b"dltensor", None)


def test_dlpack(gpu: Gpu) -> None:
    params, grads = pair(gpu, (3, 5))
    expected = params[0].get() - np.float32(0.5) * grads[0].get()
    optgen.load("sgd", target="cuda").bind([Capsule(params[0])], [Capsule(grads[0])])(lr=0.5, wd=0.0)
    assert same_bits(params[0].get(), expected)
    with pytest.raises(TypeError, match=r"params\[0\]: dtype int32, but the kernel takes float32"):
        optgen.load("sgd", target="cuda").bind([Capsule(params[0], code=0)], [grads[0]])


def test_errors_name_the_tensor(gpu: Gpu) -> None:
    rule = optgen.load("adam", target="cuda")
    params, grads = pair(gpu, (3, 4))

    def fails(match: str, params: Any = params, grads: Any = grads) -> None:
        with pytest.raises((TypeError, ValueError), match=match):
            rule.bind(params, grads)

    fails(r"params\[0\]: in the memory of the CPU; this kernel runs on a GPU", [np.zeros(3, "float32")])
    fails(r"grads\[0\]: in the memory of the CPU", params, [np.zeros((3, 4), "float32")])
    fails(r"grads\[0\]: on device 'cpu'", params, [Torch(grads[0], "cpu")])
    fails(r"params\[0\]: expected a tensor of a GPU .* not list", [[1.0]])
    fails(r"grads\[0\]: shape \(4, 3\), but its parameter has \(3, 4\)", params, pair(gpu, (4, 3))[0])
    fails(r"grads\[0\]: dtype float64", params, [GpuArray(np.zeros((3, 4)), gpu)])
    fails(r"params\[0\]: not aligned to its elements; copy it", [GpuArray(np.zeros((3, 4), "float32"), gpu, offset=2)])
    fails(r"grads\[0\] and params\[0\] share memory", params, params)
    strided = GpuArray(np.zeros((3, 4), "float32"), gpu)
    interface = {**strided.__cuda_array_interface__, "strides": (4, 12)}
    null = {**strided.__cuda_array_interface__, "data": (0, False)}
    fails(r"params\[0\]: a SimpleNamespace without memory", [SimpleNamespace(__cuda_array_interface__=null)])
    fails(r"params\[0\]: not contiguous", [SimpleNamespace(__cuda_array_interface__=interface, dtype=np.dtype("f4"))])
    sparse = RowSparse(GpuArray(np.array([0, 9]), gpu), GpuArray(np.zeros((2, 4), "float32"), gpu))
    fails(r"grads\[0\].indices: 9 at position 1, but the parameter has 3 rows", params, [sparse])
    cpu = optgen.load("adam")
    with pytest.raises(ValueError, match=r"params\[0\]: on a CUDA device; this kernel runs on the CPU"):
        cpu.bind(params, grads)


def test_parameters_of_one_step_are_on_one_gpu() -> None:
    with emulated(2) as gpus:
        params = [GpuArray(np.zeros(3, "float32"), gpu) for gpu in gpus]
        rule = optgen.load("sgd", target="cuda")
        with pytest.raises(ValueError, match=r"params\[0\] is on GPU 0 and params\[1\] on GPU 1; bind .* apart"):
            rule.bind(params, params)
        for gpu, param in zip(gpus, params, strict=True):
            rule.bind([param], [GpuArray(np.ones(3, "float32"), gpu)])(lr=1.0)
            assert gpu.launches and param.get().tolist() == [-1.0] * 3
        with pytest.raises(ValueError, match=r"grads\[0\]: on GPU 1, and the parameters are on GPU 0"):
            rule.bind(params[:1], params[1:])


def test_bad_targets() -> None:
    with pytest.raises(ValueError, match="target: 'cpu' or 'cuda', not 'gpu'"):
        optgen.load("sgd", target="gpu")


def test_without_a_driver() -> None:
    """In a process of its own, which looks for a library that is nowhere."""
    code = (
        "import optgen.execute.cuda.driver as d; d.LIBRARY = 'libno-driver.so'; import optgen\n"
        "try: optgen.load('sgd', target='cuda')\n"
        "except ValueError as error: print(d.count(), error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(
        "0 target='cuda': there is no GPU of NVIDIA here, or no driver for it (libno-driver.so)"
    )


def test_the_driver_says_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(status: int, words: Any) -> int:
        words._obj.value = b"out of memory"
        return 0

    library = SimpleNamespace(cuMemAlloc_v2=lambda *args: 2, cuGetErrorString=describe)
    monkeypatch.setattr(driver, "_library", lambda: library)
    with pytest.raises(driver.CudaError, match=r"CUDA: cuMemAlloc_v2: out of memory \(2\)"):
        driver.call("cuMemAlloc_v2")


# ---------------------------------------------------------------- memory


def test_memory_goes_with_the_step(gpu: Gpu) -> None:
    params, grads = pair(gpu, (300,), (5, 6))
    before = len(gpu._arrays)
    step = optgen.load("lamb", target="cuda").bind(params, grads)
    step()
    assert len(gpu._arrays) > before
    gone = weakref.ref(step)
    del step
    gc.collect()
    assert gone() is None and len(gpu._arrays) == before
