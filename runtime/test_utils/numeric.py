"""Gradients of symbols by finite differences."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime import symbol
from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.symbol import Symbol
from runtime.symbol.executor import Executor
from runtime.test_utils.compare import Tolerance, default_numeric_eps, get_tolerance
from runtime.test_utils.settings import default_context
from runtime.test_utils.symbols import Values, assert_gradient, located, located_states

_PROJECTION = "__random_proj"


def numeric_grad(
    executor: Executor,
    location: MutableMapping[str, np.ndarray],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """The gradient of the sum of the first output by each argument in `location`, from points that are `eps` apart.

    Arguments that are not floats get zeros.
    """

    def value() -> float:
        for name, state in (aux_states or {}).items():
            executor.aux_dict[name][:] = state
        return executor.forward(is_train=use_forward_train)[0].asnumpy()

    for name, x in location.items():
        _write(executor.arg_dict[name], x, dtype)
    found = {name: np.zeros(x.shape, dtype=dtype) for name, x in location.items()}
    for name, x in location.items():
        if x.dtype.kind != "f":
            continue
        place = executor.arg_dict[name]
        for index in np.ndindex(x.shape):
            moved = x.copy()
            moved[index] += eps / 2
            _write(place, moved, dtype)
            above = value()
            moved[index] -= eps
            _write(place, moved, dtype)
            found[name][index] = (above - value()).sum() / eps
        _write(place, x, dtype)
    return found


def _write(place: NDArray, x: np.ndarray, dtype: Any) -> None:
    place[:] = nd.array(x, dtype=dtype).tostype(place.stype)


def check_numeric_gradient(
    sym: Symbol,
    location: Values,
    aux_states: Values | None = None,
    numeric_eps: Tolerance = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Sequence[str] | Mapping[str, str] | None = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """AssertionError unless the gradients of a symbol with one output are those that finite differences give.

    The output is multiplied by random numbers and summed. `grad_nodes` names the arguments, by default all, and may
    say 'write', 'add' or 'null' for each; `numeric_eps` is how far apart the points are.
    """
    ctx = ctx or default_context()
    args = located(sym, location, ctx, dtype)
    states = located_states(sym, aux_states, ctx, dtype)
    values = {name: x.asnumpy() for name, x in args.items()}
    state_values = None if states is None else {name: x.asnumpy() for name, x in states.items()}
    if grad_nodes is not None and not isinstance(grad_nodes, (list, tuple, Mapping)):
        raise ValueError(f"grad_nodes must be names of arguments, or a dict, not {grad_nodes!r}")
    names = sym.list_arguments() if grad_nodes is None else grad_nodes
    requests = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "write")
    shape = sym.infer_shape(**{name: x.shape for name, x in args.items()})[1][0]
    loss = symbol.make_loss(sym * symbol.Variable(_PROJECTION))
    args[_PROJECTION] = nd.array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)  # none near 0, for precision
    before = {name: np.random.normal(0, 0.01, size=args[name].shape) for name in (*requests, _PROJECTION)}
    grads = {name: nd.array(x, ctx=ctx, dtype=dtype) for name, x in before.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in grads and stype != "default":
            grads[name] = nd.zeros(grads[name].shape, ctx=ctx, dtype=dtype).tostype(stype)
    executor = loss.bind(ctx, args, grads, requests, states)
    output = executor.forward(is_train=True)[0]
    executor.backward()
    found = {name: None if x is None else x.copy() for name, x in executor.grad_dict.items()}
    eps = get_tolerance(output, numeric_eps, default_numeric_eps())
    assert eps >= 1e-5 or dtype == np.float64, f"points {eps} apart are too close for {dtype}"
    values = {name: x for name, x in values.items() if name in requests}  # the others, such as indices, do not move
    numbers = numeric_grad(executor, values, state_values, eps, use_forward_train, dtype)
    for name, request in requests.items():
        assert_gradient(name, request, numbers[name], before[name], found[name], rtol, atol, "NUMERICAL")
