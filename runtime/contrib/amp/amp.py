"""Switching mixed precision on, and training with it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.contrib.amp import casting, lists
from runtime.contrib.amp.graphs import convert_model as convert_model  # programs take it from this module
from runtime.contrib.amp.graphs import convert_symbol
from runtime.contrib.amp.loss_scaler import LossScaler
from runtime.core.dtypes import element_type
from runtime.gluon import HybridBlock, SymbolBlock, Trainer
from runtime.symbol import Symbol
from runtime.symbol.graph import Entry, inputs_of

_loss_scaler: LossScaler | None = None
"""That of the first trainer, which scales `lists.LOSS_OUTPUTS` too."""


def __getattr__(name: str) -> Any:
    """`_amp_initialized`, whether `init` was called: layers written for MXNet read it to choose numbers that fit; and
    `bfloat16`, the type."""
    if name == "_amp_initialized":
        return casting._everywhere is not None
    if name == "bfloat16":
        return element_type("bfloat16")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    fp32_ops: Iterable[str] | None = None,
) -> None:
    """Have operators of `nd` compute in `target_dtype`, float16 or bfloat16, or in float32, as the lists say.

    Parameters stay in float32. There is no way back; a second call changes nothing.

    Parameters
    ----------
    target_precision_ops: names of operators that compute in `target_dtype`, in place of `list_lp16_ops`.
    conditional_fp32_ops: operators with an argument, and the values of it with which they compute in float32, in place
        of `list_conditional_fp32_ops`.
    fp32_ops: names of operators that compute in float32, in place of `list_fp32_ops`.
    """
    if casting._everywhere is None:
        casting.everywhere(casting.casts(target_dtype, target_precision_ops, conditional_fp32_ops, fp32_ops))


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Have a trainer leave out steps whose gradients overflow; `scale_loss` then scales its losses."""
    global _loss_scaler
    trainer = _trainer(optimizer_or_trainer)
    if casting._everywhere is None:
        raise MXNetError("amp.init_trainer: call amp.init() first, before the network is made")
    scaler = LossScaler()
    if _loss_scaler is None:
        _loss_scaler = scaler
        for name in lists.LOSS_OUTPUTS:
            setattr(nd, name, _scaling(getattr(nd, name), scaler))
    trainer._amp_loss_scaler = scaler
    trainer._amp_original_scale = trainer._scale


def _scaling(function: Any, scaler: LossScaler) -> Any:
    def call(*args: Any, grad_scale: float = 1.0, **kwargs: Any) -> Any:
        return function(*args, grad_scale=grad_scale * scaler.loss_scale, **kwargs)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _trainer(trainer: Any) -> Trainer:
    if not isinstance(trainer, Trainer):
        raise TypeError(f"amp works with a gluon.Trainer, not with {type(trainer).__name__}")
    return trainer


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Trainer) -> Iterator[Any]:
    """`with amp.scale_loss(loss, trainer) as scaled: autograd.backward(scaled)`: losses, one or a list, times the
    scale, by which the trainer's next step divides."""
    trainer = _trainer(optimizer_or_trainer)
    if trainer._amp_loss_scaler is None:
        raise MXNetError("amp.scale_loss: call amp.init_trainer(trainer) first")
    scale = trainer._amp_loss_scaler.loss_scale
    trainer._scale = trainer._amp_original_scale / scale
    with np.errstate(over="ignore", invalid="ignore"):  # gradients may overflow, and the step is then left out
        yield [x * scale for x in loss] if isinstance(loss, (list, tuple)) else loss * scale


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divide the gradients by the scale of the loss now, for instance to clip them; the step then does not."""
    trainer = _trainer(optimizer_or_trainer)
    if trainer._amp_loss_scaler is None:
        raise MXNetError("amp.unscale: call amp.init_trainer(trainer) first")
    factor = trainer._scale / trainer._amp_original_scale
    with autograd.pause():
        for param in trainer._params:
            if param.grad_req != "null":
                for grad in param.list_grad():
                    grad[:] = grad * factor
    trainer._scale = trainer._amp_original_scale


class _Converted(HybridBlock):
    """A network that computes with casts."""

    def __init__(self, block: HybridBlock, casts: casting.Casts) -> None:
        super().__init__(prefix=block.prefix, params=block.params)
        self.block = block
        self._casts = casts

    def forward(self, *args: Any) -> Any:
        with casting.within(self._casts):
            return self.block(*args)


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    ctx: Context | None = None,
    cast_optional_params: bool = False,
) -> HybridBlock:
    """A network that computes what `block` does with the casts of mixed precision, for prediction.

    It has copies of the parameters, in `ctx` if that is given: in float32, or in `target_dtype` with
    `cast_optional_params`. The lists are as for `init`. With `excluded_sym_names`, nodes of its graph
    that compute in float32, the network is that graph, for which `block` must be hybridized and have been called.
    """
    if not isinstance(block, HybridBlock):
        raise ArgumentError(f"convert_hybrid_block: block must be a HybridBlock, not {type(block).__name__}")
    if excluded_sym_names:
        lists_of = target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops
        return _converted_graph(block, lists_of, excluded_sym_names, ctx, cast_optional_params)
    chosen = casting.casts(target_dtype, target_dtype_ops, conditional_fp32_ops, fp32_ops)
    own = copy.deepcopy(block)
    if ctx is not None:
        own.collect_params().reset_ctx(ctx)
    if cast_optional_params:
        own.cast(chosen.low)
    return _Converted(own, chosen)


def _converted_graph(
    block: HybridBlock,
    lists_of: tuple[Any, ...],
    excluded: Iterable[str],
    ctx: Context | None,
    cast_optional_params: bool,
) -> SymbolBlock:
    graph = block._graph("convert_hybrid_block() can exclude nodes")
    params = block.collect_params()
    inputs = [name for name in graph.list_inputs() if name not in params]
    converted = convert_symbol(graph, *lists_of, excluded, inputs, cast_optional_params)
    made = SymbolBlock(converted, [Symbol([Entry(x)]) for x in inputs_of(converted._entries) if x.name in inputs])
    for name, param in made.collect_params().items():
        value = params[name].data()
        param.shape = value.shape
        param.initialize(ctx=ctx or value.context)
        param.set_data(value)
    return made


# ---------------------------------------------------------------- the lists


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """The operators that compute in `target_dtype`."""
    return list(lists.LP16[casting.low_type(target_dtype).name])


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """The operators that compute in float32."""
    return sorted(casting.casts(target_dtype).full_ops)


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """The operators that compute in float32 if an argument has one of the values."""
    casting.low_type(target_dtype)
    return [(name, key, list(values)) for name, key, values in lists.CONDITIONAL_FP32]


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """The operators whose arrays are cast to the widest type among them."""
    casting.low_type(target_dtype)
    return list(lists.WIDEST)


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """The operators that are losses, and whose gradients are scaled."""
    casting.low_type(target_dtype)
    return list(lists.LOSS_OUTPUTS)
