"""Checks of symbols: what a graph computes, beside what is expected of it.

Values of arguments are given as `location`: arrays in the order of `list_arguments`, or by name. `dtype` is the element
type that NumPy arrays get, or "asnumpy" for their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.symbol import Symbol
from runtime.symbol.executor import Executor
from runtime.test_utils.compare import Tolerance, assert_almost_equal
from runtime.test_utils.generate import create_sparse_array
from runtime.test_utils.settings import default_context

Values = Sequence[Any] | Mapping[str, Any]
Arrays = dict[str, NDArray]
_FLOATS = (np.float16, np.float32, np.float64)


def simple_forward(sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """The outputs as NumPy arrays, a list if there are several, given NumPy arrays by name."""
    executor = sym.bind(ctx or default_context(), args={name: nd.array(x) for name, x in inputs.items()})
    outputs = [y.asnumpy() for y in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether the nodes of two graphs are of the same operators, one by one."""
    operators = [[node["op"] for node in json.loads(x.tojson())["nodes"]] for x in (sym1, sym2)]
    return all(a == b for a, b in zip(*operators, strict=False))


def check_symbolic_forward(
    sym: Symbol,
    location: Values,
    expected: Values,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Values | None = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """The outputs; AssertionError unless they are `expected`, arrays in order or by the outputs' names."""
    ctx = ctx or default_context()
    args = located(sym, location, ctx, dtype)
    grads = {name: nd.zeros(x.shape, ctx=ctx, dtype=x.dtype) for name, x in args.items()}
    executor = sym.bind(ctx, args, grads, aux_states=located_states(sym, aux_states, ctx, dtype))
    outputs = executor.forward(is_train=False)
    names = sym.list_outputs()
    wanted = [expected[name] for name in names] if isinstance(expected, Mapping) else expected
    for name, want, y in zip(names, wanted, outputs, strict=False):
        assert_almost_equal(want, y, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Values,
    out_grads: Values | None,
    expected: Values,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Values | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ctx: Context | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> Arrays:
    """The gradients of arguments by name; AssertionError unless they are `expected`, given those of the outputs.

    They are written over random numbers, or added to them, as `grad_req` says.
    """
    ctx = ctx or default_context()
    names = sym.list_arguments()
    args = located(sym, location, ctx, dtype)
    wanted = dict(expected) if isinstance(expected, Mapping) else dict(zip(names, expected, strict=False))
    before = {name: np.random.normal(size=wanted[name].shape) for name in sorted(wanted)}
    grads = {name: as_array(x, ctx, wanted[name].dtype if dtype == "asnumpy" else dtype) for name, x in before.items()}
    for name, stype in (grad_stypes or {}).items():
        if name in grads and stype not in (None, "default"):
            grads[name] = create_sparse_array(grads[name].shape, stype, density=0.0)
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    else:
        requests = dict(grad_req if isinstance(grad_req, Mapping) else zip(names, grad_req, strict=False))
    executor = sym.bind(ctx, args, grads, requests, located_states(sym, aux_states, ctx, dtype))
    executor.forward(is_train=True)
    if isinstance(out_grads, Mapping):
        executor.backward({name: as_array(x, ctx, dtype) for name, x in out_grads.items()})
    else:
        executor.backward(None if out_grads is None else [as_array(x, ctx, dtype) for x in out_grads])
    for name, want in wanted.items():
        assert_gradient(name, requests[name], want, before[name], grads[name], rtol, atol, "EXPECTED", equal_nan)
    return grads


def assert_gradient(
    name: str,
    request: str,
    wanted: Any,
    before: np.ndarray,
    found: Any,
    rtol: Tolerance,
    atol: Tolerance,
    source: str,
    equal_nan: bool = False,
) -> None:
    """AssertionError unless `found` is what `request` leaves in an array that was `before`."""
    names = f"{source}_{name}", f"BACKWARD_{name}"
    if request == "write":
        assert_almost_equal(wanted, found, rtol, atol, names, equal_nan)
    elif request == "add":
        assert_almost_equal(wanted, found.asnumpy() - before, rtol, atol, names, equal_nan)
    elif request == "null":
        assert_almost_equal(before, before if found is None else found, rtol, atol, names, equal_nan)
    else:
        raise ValueError(f"Invalid grad_req {request} for argument {name}")


def check_speed(
    sym: Symbol,
    location: Mapping[str, np.ndarray] | None = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: str | Sequence[str] | Mapping[str, str] | None = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds that a pass takes, the mean of N: forward and backward, or with `typ="forward"` forward alone.

    Values are random unless `location` has them; the shapes are then in `kwargs`, as for `simple_bind`.
    """
    if typ not in ("whole", "forward"):
        raise ValueError('typ can only be "whole" or "forward".')
    shapes = kwargs if location is None else {name: x.shape for name, x in location.items()}
    executor = sym.simple_bind(ctx or default_context(), grad_req or "write", **shapes)
    for name, x in executor.arg_dict.items():
        if location is None or name in location:
            x[:] = np.random.normal(size=x.shape) if location is None else location[name]
    _pass(executor, typ == "whole")
    nd.waitall()
    start = time.perf_counter()
    for _ in range(N):
        _pass(executor, typ == "whole")
    nd.waitall()
    return (time.perf_counter() - start) / N


def _pass(executor: Executor, whole: bool) -> None:
    outputs = executor.forward(is_train=whole)
    if whole:
        executor.backward(outputs)


# ---------------------------------------------------------------- values


def as_array(x: Any, ctx: Context, dtype: Any) -> NDArray:
    """A NumPy array as an array of the element type `dtype`, or its own for "asnumpy"; other arrays as they are."""
    return nd.array(x, ctx=ctx, dtype=x.dtype if dtype == "asnumpy" else dtype) if isinstance(x, np.ndarray) else x


def located(sym: Symbol, location: Values, ctx: Context, dtype: Any) -> Arrays:
    """The values of arguments by name; ValueError if a dict does not name exactly the arguments."""
    assert isinstance(location, (dict, list, tuple))
    return _named("arguments", sym.list_arguments(), location, ctx, dtype)


def located_states(sym: Symbol, states: Values | None, ctx: Context, dtype: Any) -> Arrays | None:
    """The values of auxiliary states by name; ValueError if a dict does not name exactly the states."""
    return None if states is None else _named("aux_states", sym.list_auxiliary_states(), states, ctx, dtype)


def _named(what: str, names: Sequence[str], given: Values, ctx: Context, dtype: Any) -> Arrays:
    assert dtype == "asnumpy" or dtype in _FLOATS, dtype
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ValueError(f"Symbol {what} and keys of the given location do not match: {names}, {sorted(given)}")
    else:
        given = dict(zip(names, given, strict=False))
    return {name: as_array(given[name], ctx, dtype) for name in sorted(given)}
