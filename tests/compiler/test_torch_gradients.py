"""Gradients of PyTorch that are other tensors at each step, and where tensors are read, natively and in Python."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute.cpu import dlpack
from optgen.execute.cpu.dlpack import find_export
from optgen.execute.steps.step import KEPT_SETS
from optgen.execute.tensors import places

torch = pytest.importorskip("torch")

SHAPES = [(3, 4), (5,), (), (2, 1, 3), (0, 2), (1,)]
NAMES = ("native", "python")


@pytest.fixture(params=NAMES, autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test is one of both readers: without DLPack's functions, as in an older PyTorch, Python reads."""
    if request.param == "native" and find_export([torch.zeros(1)]) is None:
        pytest.skip("this PyTorch has no C functions of DLPack")
    if request.param == "python":
        monkeypatch.setattr(dlpack, "find_export", lambda tensors: None)
    return str(request.param)


def parameters(shapes: Any = SHAPES) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(s, generator=generator)) for s in shapes]


def gradients(k: int, shapes: Any = SHAPES) -> list[Any]:
    generator = torch.Generator().manual_seed(100 + k)
    return [torch.randn(s, generator=generator) for s in shapes]


def binds(monkeypatch: pytest.MonkeyPatch, step: Any) -> list[None]:
    """Grows by one with each time that the step looks at every gradient in Python."""
    calls: list[None] = []
    bind = step._bind_found
    monkeypatch.setattr(step, "_bind_found", lambda found: calls.append(None) or bind(found))
    return calls


def test_only_addresses_change(monkeypatch: pytest.MonkeyPatch) -> None:
    params, others = parameters(), parameters()
    step, reference = optgen.load("adam").bind(params), optgen.load("adam").bind(others, gradients(0))
    calls, kept = binds(monkeypatch, step), []
    for k in range(4):
        kept.append(gradients(k))  # so that none gets the address of an earlier one
        for p, g in zip(params, kept[-1], strict=True):
            p.grad = g
        step(lr=0.1)
        reference.rebind(gradients(k))
        reference(lr=0.1)
    assert len(calls) == 1
    assert all(map(torch.equal, params, others)) and step.state.t.tolist() == [4] * len(SHAPES)


def test_gradients_of_backward() -> None:
    net, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    other.load_state_dict(net.state_dict())
    step, reference = optgen.load("sgd").bind(net.parameters()), torch.optim.SGD(other.parameters(), lr=0.5)
    for k in range(3):
        for layer in (net, other):
            layer.zero_grad()
            layer(torch.full((1, 3), k + 1.0)).sum().backward()
        step(lr=0.5)
        reference.step()
    assert all(map(torch.equal, net.parameters(), other.parameters()))


def test_gradients_are_not_kept() -> None:
    """Their memory is that of the next ones."""
    params = parameters()
    step = optgen.load("sgd").bind(params)
    for k in range(2):
        for p, g in zip(params, gradients(k), strict=True):
            p.grad = g
        references = [weakref.ref(p.grad.untyped_storage()) for p in params]
        step()
        for p in params:
            p.grad = None
        del p, g
        assert not any(r() for r in references)


def negative() -> Any:
    x = torch.tensor([1 + 2j]).conj().imag
    assert x.is_neg() and x.shape == (1,)
    return x


def freed() -> Any:
    x = torch.ones(3, 4)
    x.untyped_storage().resize_(0)
    return x


UNFIT: dict[str, tuple[int, Callable[[Any], Any], str]] = {
    "dtype": (0, lambda p: torch.ones(3, 4, dtype=torch.float64), r"grads\[0\]: dtype float64"),
    "integers": (0, lambda p: torch.ones(3, 4, dtype=torch.int32), r"grads\[0\]: dtype int32"),
    "shape": (0, lambda p: torch.ones(4, 3), r"grads\[0\]: shape \(4, 3\)"),
    "rank": (1, lambda p: torch.ones(5, 1), r"grads\[1\]: shape \(5, 1\)"),
    "strides": (0, lambda p: torch.ones(4, 3).t(), r"grads\[0\]: not contiguous"),
    "device": (0, lambda p: torch.ones(3, 4, device="meta"), r"grads\[0\]: on device 'meta'"),
    "sparse": (0, lambda p: torch.ones(3, 4).to_sparse(), r"grads\[0\]: its layout is torch.sparse_coo"),
    "freed": (0, lambda p: freed(), r"grads\[0\]: a Tensor without memory"),
    "negative": (5, lambda p: negative(), r"grads\[5\]: its memory holds the negative"),
    "the parameter": (0, lambda p: p[0].detach(), r"(params|grads)\[0\] and (params|grads)\[0\] share memory"),
    "another parameter": (2, lambda p: p[1].detach()[4], r"(params\[1\] and grads\[2\]|grads\[2\] and params\[1\])"),
}


@pytest.mark.parametrize("place, make, text", UNFIT.values(), ids=UNFIT)
def test_new_gradients_that_do_not_fit(place: int, make: Callable[[Any], Any], text: str) -> None:
    params = parameters()
    step = optgen.load("sgd").bind(params)
    for p, g in zip(params, gradients(0), strict=True):
        p.grad = g
    step()
    before = [p.clone() for p in params]
    assign(params[place], make(params))
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=text):
            step()
    assert all(map(torch.equal, params, before)) and step.state.t.tolist() == [1] * len(SHAPES)
    assign(params[place], torch.zeros(SHAPES[place]))
    step()
    assert step.state.t.tolist() == [2] * len(SHAPES)


def assign(param: Any, grad: Any) -> None:
    """Set `.grad`, to what PyTorch itself would refuse as well."""
    param.__class__ = type("Free", (torch.nn.Parameter,), {"grad": grad})


def test_strides_of_one_element_mean_nothing(monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    (param,) = parameters([(4, 3, 1, 1)])
    step = optgen.load("sgd").bind([param])
    calls, expected = binds(monkeypatch, step), param.detach().clone()
    for strides in ((3, 1, 1, 1), (3, 1, 3, 3), (3, 1, 7, 1)):
        param.grad = torch.ones(12).as_strided((4, 3, 1, 1), strides)
        step(lr=1.0)
        expected -= 1
    assert torch.equal(param, expected) and len(calls) == (1 if reader == "native" else 3)


# ---------------------------------------------------------------- gradients that come and go


def test_experts_that_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has tables of its own, which know what was changed while others were used."""
    params, others = parameters(), parameters()
    rule = optgen.load("nadam", storage="bfloat16_stochastic")
    step, expected = rule.bind(params), rule.init(others)
    made: list[None] = []
    make = step._make_tables
    monkeypatch.setattr(step, "_make_tables", lambda members: made.append(None) or make(members))
    for k, members in enumerate([(0, 1), (2, 3, 5), (0, 1), (0,), (2, 3, 5), (0, 1), (0,)]):
        for i, g in enumerate(gradients(k)):
            params[i].grad = others[i].grad = g if i in members else None
        if k in (1, 3):
            step.seed = k
        step(lr=0.1 / (k + 1))
        anew = rule.bind(others, None, expected)
        anew.seed = 3 if k >= 3 else 1 if k else 0
        anew(lr=0.1 / (k + 1))
    assert len(made) == 3
    assert all(map(torch.equal, params, others)) and step.state.t.tolist() == expected.t.tolist() == [5, 3, 2, 2, 0, 2]


def test_so_many_sets_are_kept() -> None:
    params = parameters([(2,)] * 4)
    step = optgen.load("sgd").bind(params)
    for members in itertools.product((True, False), repeat=4):
        for p, present in zip(params, members, strict=True):
            p.grad = torch.ones(2) if present else None
        step(lr=0.125)
        assert len(step._kept_sets) <= KEPT_SETS and list(step._kept_sets)[-1] == tuple(np.flatnonzero(members))
    for p, start in zip(params, parameters([(2,)] * 4), strict=True):
        assert torch.allclose(p, start - 1)


# ---------------------------------------------------------------- readers


def various() -> list[Any]:
    kinds = ("float64", "float32", "bfloat16", "int8", "uint8", "int64", "bool", "complex64")
    plain = [torch.zeros((2, 3), dtype=getattr(torch, name)) for name in kinds]
    return [*plain, torch.zeros(5)[2:], torch.zeros(4, 6).t(), torch.tensor(1.0), None, *parameters()]


def test_addresses_and_geometry(reader: str) -> None:
    tensors = various()
    found = places.reader(tensors, [])
    assert isinstance(found, dlpack.NativeReader) == (reader == "native")
    assert found.addresses.tolist() == [0 if x is None else x.data_ptr() for x in tensors]
    assert found.read(tensors) and found.read(various())
    assert found.addresses.tolist() != [0 if x is None else x.data_ptr() for x in tensors]
    for i, x in enumerate(tensors):
        others = [None, 3, np.zeros((2, 3)), torch.zeros(7), torch.zeros(2, 3, 1, dtype=torch.float16)]
        for other in others if x is not None else [torch.zeros(())]:
            assert not found.read([*tensors[:i], other, *tensors[i + 1 :]])
    assert found.read(tensors)


def test_sizes_of_storages() -> None:
    tensors = [torch.zeros(8), torch.zeros(8)]
    found = places.reader(tensors, [x.untyped_storage() for x in tensors])
    assert found.read(tensors)
    tensors[1].untyped_storage().resize_(64)
    assert not found.read(tensors)


class Liar(torch.Tensor):  # type: ignore[misc, name-defined, unused-ignore]
    shape = ()


def test_a_shape_that_is_another_in_python() -> None:
    """A class may say what it likes: no memory is written for axes that it does not name."""
    liar = torch.zeros(2, 3, 4).as_subclass(Liar)
    assert isinstance(places.reader([liar], []), places.PythonReader)


def test_other_classes_and_versions_are_read_in_python() -> None:
    api = dlpack._ExchangeAPI(major=dlpack.VERSION + 1, export=1)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(("PyCapsule_New", ctypes.pythonapi))
    name = b"dlpack_exchange_api"
    later = type("Later", (), {"__dlpack_c_exchange_api__": capsule(ctypes.addressof(api), name, None)})
    other = type("Other", (), {"__dlpack_c_exchange_api__": capsule(ctypes.addressof(api), None, None)})
    for tensors in ([later()], [other()], [np.zeros(1)], []):
        assert find_export(tensors) is None
    api.major = dlpack.VERSION
    assert find_export([later(), later()]) == 1 and find_export([later(), other()]) is None
