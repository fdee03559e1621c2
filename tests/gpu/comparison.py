"""The same steps on the CPU and on the GPU, side by side, through the public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optgen import RowSparse, State
from tests.compiler.harness import Array, Case, Shape, assert_same, numbers, row_sparse, same_bits
from tests.compiler.test_differential import FACTOR, changes_for, disturb, load
from tests.gpu.libraries import Library

SEED = 2**40 + 11


def compare(
    library: Library,
    case: Case,
    shapes: Sequence[Shape],
    mode: Mapping[str, Any] | None = None,
    *,
    special: bool = False,
    sparse: bool = False,
    lazy: bool = True,
    several: int = 1,
    offset: int = 0,
    steps: int = 2,
    capturable: bool = False,
) -> None:
    """Some steps, with other gradients and hyper-parameters each, on both; AssertionError where a bit differs.

    `special`: infinities and NaN, too. `sparse`: two gradients of three are row-sparse. `several`: gradients of each
    parameter, which are summed. `offset`: tensors begin so many elements behind an aligned address. `capturable`: the
    GPU computes what the host does otherwise.
    """
    cpu, gpu = load(case, mode or {}), load(case, {**(mode or {}), "target": "cuda"})
    shapes = case.shapes(*shapes)
    if case.is_shared:  # it takes one kernel to sum over all tensors
        shapes = [shape for shape in shapes if cpu.variant(shape) == cpu.variant(shapes[-1])]
    by_row = [sparse and len(shape) > 0 and i % 3 != 1 for i, shape in enumerate(shapes)]
    rng = np.random.default_rng(special)

    def dense(shape: Shape) -> Array:
        return numbers(rng, shape, cpu.dtype, special=special)

    def gradient(shape: Shape, rows: bool) -> Any:
        if rows:
            return row_sparse(rng, shape, cpu.dtype, special=special)
        return [dense(shape) for _ in range(several)] if several > 1 else dense(shape)

    def gradients() -> list[Any]:
        return [gradient(shape, rows) for shape, rows in zip(shapes, by_row, strict=True)]

    params = [dense(shape) for shape in shapes]
    inputs = {i.name: [dense(shape) for shape in shapes] for i in case.spec.inputs}
    flags = case.flags(len(shapes))
    how: dict[str, Any] = {"flags": flags, "ids": [3 * i + 1 for i in range(len(shapes))], "lazy": lazy}
    there = [library.put(p, offset) for p in params]
    state, state_there = cpu.init(params, by_row, flags), gpu.init(there, by_row, flags, capturable=capturable)
    state.t[...] = [i % 3 for i in range(len(shapes))]
    set_to(state_there.t, state.t)
    if special:
        disturb(rng, state)
        send(state, state_there)
    grads = gradients()
    ours = cpu.bind(params, grads, state, inputs, **how)
    inputs_there = {name: [library.put(x, offset) for x in arrays] for name, arrays in inputs.items()}
    grads_there = [put(library, g, offset) for g in grads]
    theirs = gpu.bind(there, grads_there, state_there, inputs_there, **how, capturable=capturable)
    for step in range(steps):
        changes = changes_for(case, len(shapes))[step % 2]
        for bound in (ours, theirs):
            bound.seed = SEED
            if cpu.scales_gradient:
                bound.gradient_factor = FACTOR
            bound(**changes)
        label = (
            f"{case} {mode} special={special} sparse={sparse} lazy={lazy} {several=} {offset=} step {step}: {changes}"
        )
        library.synchronize()
        assert_same(label, params, state, [library.get(p) for p in there], fetched(state_there))
        grads = gradients()
        ours.rebind(grads)
        theirs.rebind([put(library, g, offset) for g in grads])
    if case.spec.evaluate:
        expected = cpu.evaluate(params, state, flags=flags)
        for a, b in zip(expected, gpu.evaluate(there, state_there, flags=flags), strict=True):
            assert same_bits(a, b.get()), f"{label}: evaluate"


def put(library: Library, grad: Any, offset: int = 0) -> Any:
    """A gradient on the GPU: dense, row-sparse or several."""
    if isinstance(grad, list):
        return [library.put(g, offset) for g in grad]
    if isinstance(grad, RowSparse):
        return RowSparse(library.put(np.asarray(grad.indices)), library.put(grad.values, offset))
    return library.put(grad, offset)


def send(state: State, there: State) -> None:
    """Have a rule's state on the GPU hold what one on the CPU holds."""
    for name, arrays in state.arrays.items():
        for a, b in zip(arrays, there.arrays[name], strict=True):
            if b is not None:
                set_to(b, a)


def set_to(there: Any, array: Array) -> None:
    """Have an array of a state hold what another one does; of kind host, or a count, it may be on the CPU."""
    if isinstance(there, np.ndarray):
        there[...] = array
    else:
        there.set(array)


def fetched(state: State) -> State:
    """A copy of a rule's state on the GPU in the memory of the CPU."""

    def get(a: Any) -> Any:
        return a.copy() if isinstance(a, np.ndarray) else a.get()

    arrays = {name: [None if a is None else get(a) for a in arrays] for name, arrays in state.arrays.items()}
    return State(arrays, get(state.t))
