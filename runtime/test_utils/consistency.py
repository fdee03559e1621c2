"""Whether symbols compute the same in several contexts and element types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.ndarray import NDArray
from runtime.symbol import Symbol
from runtime.symbol.executor import Executor
from runtime.test_utils.compare import Tolerance, assert_almost_equal, get_tols


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    arg_params: dict[str, Any] | None = None,
    aux_params: dict[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, NDArray | None] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> Mapping[str, NDArray | None]:
    """The outputs and gradients by name, of the most exact run; AssertionError unless all runs agree with them.

    A run is a dict of `ctx_list`, the arguments of `simple_bind`, with `sym`, or with its own of several. Arguments are
    random, of standard deviation `scale`, unless `arg_params` has them. Gradients are those for the outputs of the
    first run. Without `raise_on_err` differences are printed.
    """
    assert len(ctx_list) > 1
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    assert len(symbols) == len(ctx_list)
    for x in symbols:
        assert x.list_arguments() == symbols[0].list_arguments()
        assert x.list_outputs() == symbols[0].list_outputs()
    runs = [x.simple_bind(grad_req=grad_req, **bound) for x, bound in zip(symbols, ctx_list, strict=True)]
    _fill(runs, arg_params or {}, aux_params or {}, scale, use_uniform, rand_type)
    for run in runs:
        run.forward(is_train=False)
    types = [np.dtype(run.outputs[0].dtype) for run in runs]
    best = int(np.argmax([dtype.itemsize for dtype in types]))
    truth = dict(runs[best].output_dict) if ground_truth is None else ground_truth
    compare = _Comparison(types[best], rtol, atol, equal_nan, raise_on_err)
    others = [(run, dtype) for i, (run, dtype) in enumerate(zip(runs, types, strict=True)) if i != best]
    for run, dtype in others:
        compare(run.output_dict, truth, dtype)
    if grad_req != "null":
        _train(runs)
        if ground_truth is None:
            truth = {**runs[best].output_dict, **runs[best].grad_dict}
        for run, dtype in others:
            compare({**run.output_dict, **run.grad_dict}, truth, dtype)
    return truth


def _fill(runs: Sequence[Executor], args: dict, states: dict, scale: float, uniform: bool, dtype: Any) -> None:
    """Give all runs the same values."""
    for name, x in sorted(runs[0].arg_dict.items()):
        if name not in args:
            draws = (
                np.random.uniform(-0.92 * scale, 0.92 * scale, size=x.shape)
                if uniform
                else np.random.normal(size=x.shape, scale=scale)
            )
            args[name] = draws.astype(dtype)
    for run in runs:
        for name, x in run.arg_dict.items():
            x[:] = args[name]
        for name, x in run.aux_dict.items():
            x[:] = states.get(name, 0)


def _train(runs: Sequence[Executor]) -> None:
    """A forward and a backward pass of each, given the first one's outputs as gradients, in the least exact type."""
    for run in runs:
        run.forward(is_train=True)
    heads = []
    for i, y in enumerate(runs[0].outputs):
        dtype = min((run.outputs[i].dtype for run in runs), key=lambda dtype: np.dtype(dtype).itemsize)
        heads.append(y.astype(dtype).asnumpy())
    for run in runs:
        run.backward(
            [
                nd.array(x, ctx=y.context, dtype=y.dtype).tostype(y.stype)
                for x, y in zip(heads, run.outputs, strict=True)
            ]
        )


class _Comparison:
    """Compares arrays with true ones, as exactly as the outputs of both runs are."""

    def __init__(self, dtype: np.dtype, rtol: Tolerance, atol: Tolerance, equal_nan: bool, strict: bool) -> None:
        self._dtype, self._rtol, self._atol, self._equal_nan, self._strict = dtype, rtol, atol, equal_nan, strict

    def __call__(self, found: Mapping[str, NDArray | None], truth: Mapping[str, Any], dtype: np.dtype) -> None:
        for name, x in found.items():
            want = truth[name]
            if want is None:
                assert x is None, name
                continue
            assert x is not None, name
            rough = [_rougher(a.dtype, own) for a, own in ((x, dtype), (want, self._dtype))]
            rtol, atol = get_tols(*(np.zeros((), t) for t in rough), self._rtol, self._atol)
            try:
                assert_almost_equal(x, want, rtol, atol, (name, f"TRUE_{name}"), self._equal_nan)
            except AssertionError as error:
                if self._strict:
                    raise
                print(error)


def _rougher(a: Any, b: Any) -> np.dtype:
    return min(np.dtype(a), np.dtype(b), key=lambda dtype: dtype.itemsize)
