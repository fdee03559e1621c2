"""`nd.contrib`: loops and branches over arrays, and what the families of operators name in their CONTRIB.

Control flow is Python's: what the functions compute is recorded as it happens, so gradients flow through all of it.
Where a hybridized block is traced, loops and branches take the names of subgraphs that they take in its graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.attribute import subgraph_name
from runtime.autograd.modes import mode
from runtime.base import ArgumentError, MXNetError, _as_list
from runtime.core.backend import device_scope
from runtime.ndarray.creation import blank
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.shape.slicing import concat, stack

Nested = Any  # an NDArray, or a list or tuple of Nested


def foreach(
    body: Callable[[Nested, Nested], tuple[Nested, Nested]], data: Nested, init_states: Nested, name: str = "foreach"
) -> tuple:
    """Call `outputs, states = body(slices, states)` for each index of the first axis of `data`, starting with
    `init_states`. Returns the outputs of all calls, stacked along a new first axis, and the last states.

    `data` is an array or a list of arrays, and so are `slices`; outputs and states are arrays or nested lists of them.
    `name` is for graphs (`sym.contrib.foreach`).
    """
    _take_names(name)
    for x in _flatten(data, "foreach: data") + _flatten(init_states, "foreach: init_states"):
        if not isinstance(x, NDArray):
            raise ArgumentError(f"foreach: data and init_states must be made of arrays, not {type(x).__name__}")
    arrays = _as_list(data)
    if not arrays or any(len(x) != len(arrays[0]) for x in arrays):
        raise ArgumentError(f"foreach: data must be arrays of one length, not of shapes {[x.shape for x in arrays]}")
    states = init_states
    steps = []
    outputs: Nested = []
    for i in range(len(arrays[0])):
        outputs, states = body([x[i] for x in arrays] if isinstance(data, (list, tuple)) else data[i], states)
        steps.append(_flatten(outputs, "foreach: the output of body"))
    return _regroup([stack(*items) for items in _columns(steps)], outputs), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Nested, Nested]],
    loop_vars: Nested,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple:
    """Call `outputs, loop_vars = func(*loop_vars)` while `cond(*loop_vars)` is true, at most `max_iterations` times.

    Returns the outputs of all calls, stacked along a new first axis of length `max_iterations` (zeros where no call was
    made; nothing if none was at all), and the last loop_vars: an array if an array was given, else a list. `name` is
    for graphs (`sym.contrib.while_loop`).
    """
    _take_names(f"{name}_cond", f"{name}_func")
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations must be given")
    limit = _scalar(max_iterations, int, "max_iterations")
    variables = _as_list(loop_vars)
    if not variables:
        raise ArgumentError("while_loop: loop_vars must have an element at least")
    steps: list[list[NDArray]] = []
    outputs: Nested = []
    while len(steps) < limit and _scalar(cond(*variables), bool, "the result of cond"):
        outputs, changed = func(*variables)
        outputs = [] if outputs is None else outputs
        changed = [] if changed is None else _as_list(changed)
        if len(changed) != len(variables):
            raise ArgumentError(f"while_loop: func was given {len(variables)} loop_vars, and returned {len(changed)}")
        variables = changed
        steps.append(_flatten(outputs, "while_loop: the output of func"))
    stacked = [_filled(stack(*items), limit) for items in _columns(steps)]
    return _regroup(stacked, outputs), variables[0] if isinstance(loop_vars, NDArray) else variables


def cond(pred: Any, then_func: Callable[[], Nested], else_func: Callable[[], Nested], name: str = "cond") -> Nested:
    """`then_func()` if the number `pred`, an array of one element, is not 0, else `else_func()`.

    `name` is for graphs (`sym.contrib.cond`).
    """
    _take_names(f"{name}_pred", f"{name}_then", f"{name}_else")
    return then_func() if _scalar(pred, bool, "cond: pred") else else_func()


def quadratic(data: NDArray, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> NDArray:
    """`a*x*x + b*x + c` of each element x. Of a csr array, without `c`, it is csr."""
    if data.stype == "csr" and c == 0:
        return data * data * a + data * b
    return (data * a + b) * data + c


def allclose(a: NDArray, b: NDArray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True) -> NDArray:
    """1 if `|a - b| <= atol + rtol |b|` for all elements, else 0, as a uint8 of shape ().

    Infinite elements are close to equal ones alone, and with `equal_nan` NaN is to NaN. Both have the same shape.
    """
    if a.shape != b.shape:
        raise MXNetError(f"allclose: arrays of shapes {a.shape} and {b.shape}; they must be of one shape")
    with device_scope(a.context):
        close = np.isclose(a._data, b._data, rtol, atol, equal_nan).all()
        return NDArray(close.astype(np.uint8), a.context)


def _take_names(*names: str) -> None:
    if mode.trace is not None:
        for name in names:
            subgraph_name(name)


# ---------------------------------------------------------------- nested lists of arrays


def _flatten(nested: Nested, what: str) -> list[NDArray]:
    if isinstance(nested, NDArray):
        return [nested]
    if not isinstance(nested, (list, tuple)):
        raise ArgumentError(f"{what} must be an array or a nested list of arrays, not {type(nested).__name__}")
    return [x for item in nested for x in _flatten(item, what)]


def _regroup(flat: list[NDArray], like: Nested) -> Nested:
    """`flat` in the nesting of `like`, with lists for lists and tuples."""
    remaining = iter(flat)

    def group(nested: Nested) -> Nested:
        return next(remaining) if isinstance(nested, NDArray) else [group(item) for item in nested]

    return group(like)


def _columns(steps: list[list[NDArray]]) -> list[Sequence[NDArray]]:
    """For each output, its values in all steps."""
    if any(len(step) != len(steps[0]) for step in steps):
        raise ArgumentError(f"the number of outputs differs between steps: {sorted({len(step) for step in steps})}")
    return list(zip(*steps, strict=True))


def _filled(stacked: NDArray, length: int) -> NDArray:
    """`stacked` with zeros behind it, up to `length`."""
    missing = length - len(stacked)
    return (
        concat(stacked, blank((missing, *stacked.shape[1:]), stacked.context, stacked.dtype), dim=0)
        if missing
        else stacked
    )


def _scalar(value: Any, kind: type, what: str) -> Any:
    try:
        return kind(value.asscalar() if isinstance(value, NDArray) else value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} cannot be taken as {kind.__name__}: {error}") from None
