"""Every kind of memory a caller may come with: it works in place, or the error names the tensor. Nothing is copied."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import State, compiled
from optgen.axes import When
from optgen.execute import buffers
from optgen.groups import LineGroup
from optgen.ir import Buffer
from tests.compiler.harness import Array

RULE = optgen.load("sgd", momentum=0.5)


def ones(*shape: int, dtype: str = "float32") -> Array:
    return np.ones(shape, dtype)


def unaligned(n: int) -> Array:
    return np.zeros(4 * n + 1, np.uint8)[1:].view(np.float32)


class Interface:
    """An object that only has __array_interface__."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class OnlyDLPack:
    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class TorchLike:
    """What PyTorch's tensors have, as far as bind looks."""

    def __init__(self, array: Array, device: str = "cpu", layout: str = "torch.strided") -> None:
        self.array, self.device, self.layout = array, device, layout
        self.shape, self.dtype = array.shape, f"torch.{array.dtype}"
        self.grad: Any = None

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)


class Cuda:
    def __init__(self) -> None:
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}


# ---------------------------------------------------------------- what works

WORKING: dict[str, Callable[[Array], Any]] = {
    "numpy": lambda x: x,
    "__array_interface__": Interface,
    "DLPack": OnlyDLPack,
    "torch-like": TorchLike,
    "subclass": lambda x: x.view(np.recarray),
}


@pytest.mark.parametrize("wrap", WORKING.values(), ids=WORKING)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (7,), (2, 3, 4), (1, 5, 1)])
def test_updates_in_place(wrap: Callable[[Array], Any], shape: tuple[int, ...]) -> None:
    w, g = np.full(shape, 2.0, np.float32), np.full(shape, 1.0, np.float32)
    params = [wrap(w)]
    state = RULE.init(params)
    assert state.arrays["mom"][0].shape == shape
    RULE.bind(params, [wrap(g)], state)(lr=0.5)
    assert np.all(w == 1.5) and np.all(state.arrays["mom"][0] == -0.5) and np.all(g == 1)
    assert state.t.tolist() == [1]


def test_views_that_are_contiguous() -> None:
    base = np.zeros((6, 5), np.float32)
    for view in (base[2:4], base[3], base.reshape(-1)[7:9], base[:1, :].T[:5].reshape(5), base.T[:, :1].T[:, :1]):
        base[...] = 1
        RULE.bind([view], [np.ones_like(view)], RULE.init([view]))(lr=1.0)
        assert np.all(view == 0) and base.sum() == 30 - view.size


def test_read_only_and_shared_gradients() -> None:
    g = ones(4)
    g.flags.writeable = False
    params = [ones(4), ones(2)]
    RULE.bind(params, [g, g[:2]], RULE.init(params))(lr=1.0)
    assert not np.any(params[0]) and not np.any(params[1])


def test_no_tensors() -> None:
    step = RULE.bind([], [], RULE.init([]))
    step()
    step(lr=0.1, wd=[])
    step.rebind([])


def test_unaligned_works() -> None:
    w, g = unaligned(9), unaligned(9)
    g[:] = 1
    RULE.bind([w], [g], RULE.init([w]))(lr=1.0)
    assert np.all(w == -1)


# ---------------------------------------------------------------- what does not

SWAPPED = np.dtype(np.float32).newbyteorder()
RECORDS = np.zeros(4, [("a", np.float32), ("b", np.int8)])
BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "not contiguous": (lambda: ones(8)[::2], ValueError, "not contiguous"),
    "a field of records": (lambda: RECORDS["a"], ValueError, "not contiguous"),
    "reversed": (lambda: ones(4)[::-1], ValueError, "not contiguous"),
    "broadcast": (lambda: np.broadcast_to(np.float32(1), (4,)), ValueError, "not contiguous"),
    "Fortran order": (lambda: np.asfortranarray(ones(2, 2)), ValueError, "not contiguous"),
    "float64": (lambda: ones(4, dtype="float64"), TypeError, "dtype float64, but the kernel takes float32"),
    "integers": (lambda: ones(4, dtype="int32"), TypeError, "dtype int32"),
    "objects": (lambda: np.array([1.0] * 4, object), TypeError, "dtype object"),
    "no bytes": (lambda: np.zeros(4, "V0"), TypeError, "dtype void"),
    "byte-swapped": (lambda: np.ones(4, SWAPPED), TypeError, "bytes are in the other order"),
    "list": (lambda: [1.0] * 4, TypeError, "expected a tensor"),
    "None": (lambda: None, TypeError, "expected a tensor"),
    "number": (lambda: 1.0, TypeError, "expected a tensor"),
    "NumPy scalar": (lambda: np.float32(1), TypeError, "expected a tensor"),
    "bytes": (lambda: b"\0" * 16, TypeError, "expected a tensor"),
    "CUDA": (Cuda, ValueError, "on a CUDA device"),
    "torch on CUDA": (lambda: TorchLike(ones(4), "cuda:0"), ValueError, "on device 'cuda:0'"),
    "torch sparse": (lambda: TorchLike(ones(4), layout="torch.sparse_coo"), TypeError, "layout is torch.sparse_coo"),
    "torch transposed": (lambda: TorchLike(ones(2, 3).T), ValueError, "not contiguous"),
    "torch half": (lambda: TorchLike(ones(4, dtype="float16")), TypeError, "dtype float16"),
}


@pytest.mark.parametrize("bad, error, text", BAD.values(), ids=BAD)
def test_bad_tensor_is_named(bad: Callable[[], Any], error: type[Exception], text: str) -> None:
    good, x = ones(4), bad()
    with pytest.raises(error, match=rf"params\[1\]: .*{text}"):
        RULE.init([good, x])
    w = [ones(4), ones(*getattr(x, "shape", (4,)))]
    with pytest.raises(error, match=rf"grads\[1\]: .*{text}"):
        RULE.bind(w, [ones(4), x], RULE.init(w))
    state = RULE.init(w)
    state.arrays["mom"][1] = x  # type: ignore[index]
    if x is None:
        error, text = ValueError, "holds nothing"
    with pytest.raises(error, match=rf"state(\['mom'\]\[1\])?: .*{text}"):
        RULE.bind(w, [ones(4), ones(4)], state)


def test_advice_for_what_is_not_contiguous() -> None:
    """What is only read can be copied; a copy of what is written would be updated in vain."""
    rule, w, strided = optgen.load("sophia"), ones(4), ones(8)[::2]
    own, copied = "copy the result back yourself$", r"strides \(8,\)\); pass a C-contiguous copy$"
    with pytest.raises(ValueError, match=rf"^params\[0\]: not contiguous .*{own}"):
        rule.bind([strided], [w], inputs={"h_hat": [w.copy()]})
    with pytest.raises(ValueError, match=rf"^grads\[0\]: not contiguous .*{copied}"):
        rule.bind([w], [strided], inputs={"h_hat": [ones(4)]})
    with pytest.raises(ValueError, match=rf"^grads\[0\]\.values: not contiguous .*{copied}"):
        RULE.bind([ones(4)], [optgen.RowSparse(np.arange(4), strided)])
    with pytest.raises(ValueError, match=rf"^inputs\['h_hat'\]\[0\]: not contiguous .*{copied}"):
        rule.bind([w], [w.copy()], inputs={"h_hat": [strided]})


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def test_read_only() -> None:
    with pytest.raises(ValueError, match=r"params\[0\]: read-only"):
        RULE.bind([read_only(ones(3))], [ones(3)], RULE.init([ones(3)]))
    state = RULE.init([ones(3)])
    read_only(state.arrays["mom"][0])
    with pytest.raises(ValueError, match=r"state\['mom'\]\[0\]: read-only"):
        RULE.bind([ones(3)], [ones(3)], state)
    with pytest.raises(ValueError, match=r"state.t: read-only"):
        RULE.bind([ones(3)], [ones(3)], State(RULE.init([ones(3)]).arrays, read_only(np.zeros(1, np.int64))))


def test_shapes_and_numbers() -> None:
    w = [ones(3), ones(2, 2)]
    with pytest.raises(ValueError, match=r"grads\[1\]: shape \(4,\), but its parameter has \(2, 2\)"):
        RULE.bind(w, [ones(3), ones(4)], RULE.init(w))
    with pytest.raises(ValueError, match="grads: 1 tensors for 2 parameters"):
        RULE.bind(w, [ones(3)], RULE.init(w))
    with pytest.raises(ValueError, match=r"state\['mom'\]: 1 tensors for 2 parameters"):
        RULE.bind(w, w, State({"mom": [ones(3)]}, np.zeros(2, np.int64)))
    with pytest.raises(ValueError, match=r"state\['mom'\]\[0\]: shape \(2, 2\)"):
        RULE.bind(w, copies_of(w), State({"mom": [ones(2, 2), ones(2, 2)]}, np.zeros(2, np.int64)))
    for objects in (ones(3), "abc", b"abc", {0: ones(3)}, {1, 2}, 5, None):
        with pytest.raises(TypeError, match="params: expected a list of tensors, not"):
            RULE.init(objects)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="params: expected a list of tensors, not"):
            RULE.bind(objects)  # type: ignore[arg-type]


def copies_of(arrays: list[Array]) -> list[Array]:
    return [a.copy() for a in arrays]


def test_state_of_another_rule() -> None:
    w, adam = [ones(3)], optgen.load("adam")
    with pytest.raises(ValueError, match=r"state: .*mom.*Adam.*m, v"):
        adam.bind(w, [ones(3)], RULE.init(w))
    with pytest.raises(ValueError, match=r"state: .*mom.*nothing"):
        optgen.load("sgd").bind(w, [ones(3)], RULE.init(w))
    with pytest.raises(TypeError, match=r"dtype float64"):
        RULE.bind(w, [ones(3)], optgen.load("sgd", "float64", momentum=0.5).init([ones(3, dtype="float64")]))
    with pytest.raises(TypeError, match="state: expected what init"):
        RULE.bind(w, [ones(3)], {"mom": [ones(3)]})  # type: ignore[arg-type]
    for t in (np.zeros(1, np.int32), np.zeros(2, np.int64), np.zeros((1, 1), np.int64), np.zeros(1, ">i8"), [0]):
        with pytest.raises((TypeError, ValueError), match=r"state\.t"):
            RULE.bind(w, [ones(3)], State(RULE.init(w).arrays, t))  # type: ignore[arg-type]


def test_overlaps() -> None:
    base = ones(10)
    free = [ones(6), ones(6)]

    def refused(params: list[Array], grads: list[Array], mom: list[Array], *names: str) -> None:
        with pytest.raises(ValueError, match="share memory") as caught:
            RULE.bind(params, grads, State({"mom": mom}, np.zeros(len(params), np.int64)))
        assert all(name in str(caught.value) for name in names), caught.value

    refused([base, base], [ones(10)] * 2, [ones(10), ones(10)], "params[0]", "params[1]")
    refused([base[:6], base[4:]], free, copies_of(free), "params[0]", "params[1]")
    refused([base], [base], [ones(10)], "params[0]", "grads[0]")
    refused([base[:6]], [base[4:]], [ones(6)], "params[0]", "grads[0]")
    refused([base], [ones(10)], [base], "params[0]", "state['mom'][0]")
    refused([ones(6)], [base[:6]], [base[4:]], "grads[0]", "state['mom'][0]")
    # A short tensor between two long ones that overlap.
    refused([base[0:8], base[8:9], base[7:10]], [ones(8), ones(1), ones(3)], [ones(8), ones(1), ones(3)], "params[2]")
    counts = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match=r"state\.t"):
        w = [counts.view(np.float32), ones(4)]
        RULE.bind(w, [ones(4), ones(4)], State({"mom": [ones(4), ones(4)]}, counts))
    neighbours = [base[:5], base[5:]]
    RULE.bind(neighbours, [ones(5)] * 2, RULE.init(neighbours))()


# ---------------------------------------------------------------- lifetime and other gradients


def test_rebind() -> None:
    w = [ones(4), ones(2)]
    step = RULE.bind(w, [ones(4), ones(2)], RULE.init(w))
    step(lr=1.0)
    step.rebind([np.full(4, 8, np.float32), np.zeros(2, np.float32)])
    step()
    assert np.all(w[0] == 0 - 8 - 0.5) and np.all(w[1] == 0 - 0.5)
    for bad in ([ones(4)], [ones(4), ones(3)], [w[0], ones(2)], [ones(4), ones(2, dtype="float64")]):
        with pytest.raises((TypeError, ValueError), match=r"grads"):
            step.rebind(bad)
    before = w[0].copy()
    step()  # the gradients of the last rebind that worked
    assert np.all(w[0] == before + (0.5 * -8.5 - 8))


def test_memory_is_kept_alive() -> None:
    """Also the gradients that a failed rebind was to replace."""

    class Tracked(np.ndarray):
        pass

    w, g, other = (np.ones(5, np.float32).view(Tracked) for _ in range(3))
    state = RULE.init([w])
    references = [weakref.ref(x) for x in (w, g, state.arrays["mom"][0])]
    step = RULE.bind([w], [g], state)
    with pytest.raises(ValueError):
        step.rebind([w])
    del w, g, state
    gc.collect()
    assert all(r() is not None for r in references)
    step()
    step.rebind([other])
    gc.collect()
    assert references[1]() is None
    del step
    gc.collect()
    assert all(r() is None for r in references)


def test_gradients_read_at_each_step() -> None:
    """A parameter without a gradient is left as it is, and so is its count."""
    params = [TorchLike(ones(3)), TorchLike(ones(2))]
    step = RULE.bind(params, None, RULE.init(params))
    step()
    assert step.state.t.tolist() == [0, 0]
    for value in (1.0, 3.0):
        for p in params:
            p.grad = TorchLike(np.full(p.shape, value, np.float32))  # another tensor each time, as zero_grad makes it
        step(lr=1.0)
    assert np.all(params[0].array == 1 - 1 - 3 - 0.5)
    params[0].grad = None
    step()
    assert np.all(params[0].array == -3.5) and np.all(params[1].array == -3.5 - 3 - 1.75)
    assert step.state.t.tolist() == [2, 3]
    params[0].grad = TorchLike(ones(3))
    step(lr=2.0)
    assert np.all(params[0].array == -3.5 - 2 - 1.75) and step.state.t.tolist() == [3, 4]
    params[1].grad = TorchLike(ones(3))
    with pytest.raises(ValueError, match=r"grads\[1\]: shape"):
        step()
    params[1].grad = params[1]
    with pytest.raises(ValueError, match=r"params\[1\] and grads\[1\] share memory|grads\[1\] and params\[1\]"):
        step()
    with pytest.raises(ValueError, match=r"params\[0\]: a ndarray has no \.grad; pass grads to bind"):
        RULE.bind([ones(3)])()


@pytest.mark.parametrize("count", [-3, -1, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63)])
@pytest.mark.parametrize("n", [1, 3])
def test_counts_that_no_updates_make(count: int, n: int) -> None:
    """They are refused when they are bound, and when they were set since; nothing changes then."""
    rule = optgen.load("adam")
    params, grads = ([np.full(5, x, np.float32) for _ in range(n)] for x in (1.0, 0.5))
    words = rf"state\.t\[{n - 1}\]: {count} updates; a count is from 0 to 2\^53"
    state = rule.init(params)
    step = rule.bind(params, grads, state)
    step()
    before, good = [p.copy() for p in params], state.t.copy()
    state.t[-1] = count
    with pytest.raises(ValueError, match=words):
        step(lr=0.5)
    with pytest.raises(ValueError, match=words):
        rule.bind(params, grads, state)
    assert all(map(np.array_equal, params, before)) and state.t[-1] == count and step._values["lr"] != 0.5
    state.t[...] = good
    step()
    state.t[...] = 1 << 53
    step()
    assert not any(map(np.array_equal, params, before)) and all(np.isfinite(p).all() for p in params)


@pytest.mark.parametrize(("size", "unit"), [(1, 64), (5, 64), (1 << 16, 4096), (3 << 20, 4096)])
@pytest.mark.parametrize(("dtype", "offset"), [("float32", 0), ("float32", 20), ("float64", 4088), ("uint8", 63)])
def test_arrays_at_an_offset_in_a_line_or_page(size: int, unit: int, dtype: str, offset: int) -> None:
    for value in (0.0, 3.0):
        array = buffers.aligned((size,), dtype, value, offset)
        assert array.ctypes.data % unit == offset % unit and array.flags.c_contiguous and array.flags.writeable
        assert (array.dtype, array.shape) == (dtype, (size,)) and np.all(array == value)


@pytest.mark.parametrize("offset", [0, 16, 4032])
def test_states_lie_as_their_parameter_does(offset: int) -> None:
    """The first elements of both are as many elements past a cache line, and past a page if they are many."""
    for n, unit in ((7, 64), (1 << 17, 4096)):
        for rule in (optgen.load("adam"), optgen.load("adam", storage={"v": "int8_linear", "m": "bfloat16"})):
            w = buffers.aligned((n,), "float32", 0.0, offset)
            for name in ("m", "v"):
                (x,) = rule.init([w]).arrays[name]
                assert x.ctypes.data % unit == w.ctypes.data % 4096 // 4 * x.itemsize % unit
    half = buffers.aligned((9,), "bfloat16", 0.0, 10)
    (master,) = optgen.load("sgd", "bfloat16", master=True).init([half]).arrays["w"]
    assert master.ctypes.data % 64 == half.ctypes.data % 32 * 2


def test_a_buffer_is_read_from_json_as_it_was() -> None:
    groups = (LineGroup("axis", -1), LineGroup("block", "n"), LineGroup("block", 4))
    axes = ((), ("rows",), ("rows", "cols"), ("cols", 8), ("rows", "k"), *((group,) for group in groups))
    for buffer in (Buffer("s", True, 0.0, x, known=When.TENSOR, entries=n) for x in axes for n in (0, 3, "n")):
        assert compiled.buffer(json.loads(json.dumps(compiled.row_of(buffer)))) == buffer
