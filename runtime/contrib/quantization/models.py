"""Networks in 8 bits from networks in floats, with ranges from data or without."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime import symbol
from runtime.base import ArgumentError
from runtime.context import Context, cpu
from runtime.contrib.quantization.calibration import (
    Logger,
    _get_optimal_thresholds,
    _LayerHistogramCollector,
    _LayerOutputMinMaxCollector,
    collect,
)
from runtime.contrib.quantization.passes import Ranges, _calibrate_quantized_sym, _quantize_params, _quantize_symbol
from runtime.gluon import HybridBlock, SymbolBlock
from runtime.io import DataBatch, DataDesc, DataIter
from runtime.ndarray import NDArray
from runtime.symbol import Symbol

Params = Mapping[str, NDArray]
Quantized = tuple[Symbol, dict[str, NDArray], Params]


def quantize_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Logger | None = None,
) -> Quantized:
    """The graph in 8 bits, its arguments and its states.

    Parameters
    ----------
    sym, arg_params, aux_params: the graph in floats, and its arrays by name.
    data_names, label_names: the variables that batches of `calib_data` are for.
    excluded_sym_names, excluded_op_names: names of nodes, and of operators, that stay in floats.
    calib_mode: 'none' finds ranges whenever the graph runs, and leaves BatchNorm in floats, which cannot; 'naive'
        takes the least and the largest number of each output for `calib_data`; 'entropy' cuts off the rare ones.
    num_calib_examples: at most so many examples are run, in whole batches.
    quantized_dtype: 'int8', 'uint8' for data without negative numbers, or 'auto', by the range.
    quantize_mode: 'full' replaces all operators that it can, 'smart' convolutions, dense layers and what is between.
    quantize_granularity: each array has one range, in 'channel-wise' too, as in MXNet's graphs of single operators.
    """
    ctx = _one_context(ctx)
    qsym, layers = _graph(
        sym, ctx, arg_params, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    collector = _collector(calib_mode, layers, quantized_dtype, None, logger)
    if collector is None:
        return qsym, _quantize_params(qsym, arg_params), aux_params
    if not isinstance(calib_data, DataIter):
        raise ValueError(
            f"calib_data must be a DataIter for calib_mode={calib_mode!r}, not {type(calib_data).__name__}"
        )
    names = list(data_names), list(label_names or ())
    examples = collect(sym, arg_params, aux_params, calib_data, names, ctx, collector, num_calib_examples)
    if logger:
        logger.info("found the ranges of %d outputs with %d examples", len(layers), examples)
    return calib_graph(qsym, arg_params, aux_params, collector, str(calib_mode), quantized_dtype, logger)


def quantize_model_mkldnn(sym: Symbol, arg_params: Params, aux_params: Params, *args: Any, **kwargs: Any) -> Quantized:
    """`quantize_model`: there are no other operators for oneDNN here."""
    return quantize_model(sym, arg_params, aux_params, *args, **kwargs)


def quantize_graph(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Any = None,
    logger: Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], Params, Any]:
    """The graph in 8 bits without ranges, its arguments, its states, and what collects ranges (None in mode 'none').

    Its `collect` is for `Executor.set_monitor_callback(..., monitor_all=True)`. In the mode 'customize' it is
    `LayerOutputCollector`, whose `min_max_dict` then has the ranges by output.
    """
    ctx = _one_context(ctx)
    qsym, layers = _graph(
        sym, ctx, arg_params, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    collector = _collector(calib_mode, layers, quantized_dtype, LayerOutputCollector, logger)
    return qsym, _quantize_params(qsym, arg_params), aux_params, collector


def calib_graph(
    qsym: Symbol,
    arg_params: Params,
    aux_params: Params,
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Logger | None = None,
) -> Quantized:
    """The graph in 8 bits with the ranges that a collector found. `arg_params` are those of the graph in floats."""
    ranges: Ranges
    if calib_mode == "entropy":
        ranges = _get_optimal_thresholds(collector.hist_dict, quantized_dtype, logger=logger)
    elif calib_mode in ("naive", "customize"):
        ranges = collector.min_max_dict
    else:
        raise ValueError(f"calib_graph: calib_mode is 'naive', 'entropy' or 'customize', not {calib_mode!r}")
    qsym = _calibrate_quantized_sym(qsym, ranges)
    return qsym, _quantize_params(qsym, arg_params), aux_params


def _one_context(ctx: Context | None) -> Context:
    ctx = ctx or cpu()
    if not isinstance(ctx, Context):
        raise ValueError(f"ctx is one context, such as mx.cpu(), not {ctx!r}")
    return ctx


def _graph(
    sym: Symbol,
    ctx: Context,
    params: Params,
    names: list[str] | None,
    operators: list[str] | None,
    calib_mode: str | None,
    *how: str,
) -> tuple[Symbol, list[str]]:
    for key, value in (("excluded_sym_names", names), ("excluded_op_names", operators)):
        if value is not None and not isinstance(value, list):
            raise ValueError(f"{key} must be a list of names, not {type(value).__name__}")
    if not isinstance(sym, Symbol):
        raise TypeError(f"a Symbol is expected, as mx.sym.load(file) gives, not {type(sym).__name__}")
    unranged = ["BatchNorm"] if _is_none(calib_mode) else []
    return _quantize_symbol(sym, ctx, names, [*(operators or ()), *unranged], list(params), *how)


def _is_none(calib_mode: str | None) -> bool:
    return calib_mode is None or calib_mode == "none"


def _collector(calib_mode: str | None, layers: Collection[str], kind: str, own: Any, logger: Logger | None) -> Any:
    if _is_none(calib_mode):
        return None
    if calib_mode == "entropy":
        return _LayerHistogramCollector(include_layer=layers, logger=logger)
    if calib_mode == "naive":
        return _LayerOutputMinMaxCollector(kind, layers, logger)
    if calib_mode == "customize" and own is not None:
        return own
    hint = ", which needs a LayerOutputCollector" if calib_mode == "customize" else ""
    raise ValueError(f"calib_mode is 'none', 'naive', 'entropy' or 'customize', not {calib_mode!r}{hint}")


# ---------------------------------------------------------------- blocks


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Iterable[str] | None = None,
    exclude_layers_match: Iterable[str] | None = None,
    exclude_operators: Iterable[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context | None = None,
    LayerOutputCollector: Any = None,
    logger: Logger | None = None,
) -> SymbolBlock:
    """A block that computes what `network` does in 8 bits; see `quantize_model`.

    Parameters
    ----------
    exclude_layers, exclude_operators: names of nodes of its graph, and of operators, that stay in floats.
    exclude_layers_match: parts of such names of nodes.
    calib_data: a DataIter, or what gives batches, as a DataLoader, of which the first arrays are the inputs.
    data_shapes: a DataDesc for each input; needed without `calib_data`.
    """
    ctx = _one_context(ctx)
    data = calib_data if calib_data is None or isinstance(calib_data, DataIter) else _Batches(calib_data)
    if data is None and not _is_none(calib_mode):
        raise ValueError(f"calib_data must be given for calib_mode={calib_mode!r}")
    shapes = data_shapes or (data and data.provide_data)
    if not shapes:
        raise ValueError("data_shapes must be given where there is no calib_data: a DataDesc for each input")
    sym, params, states = _traced(network, [tuple(x.shape) for x in shapes], ctx)
    inputs = [name for name in sym.list_inputs() if name not in params and name not in states]
    parts, names = list(exclude_layers_match or ()), {x.name for x in sym.get_internals()}
    excluded = [*(exclude_layers or ()), *sorted(x for x in names if any(part in x for part in parts))]
    if logger:
        logger.info("these stay in floats: %s", excluded)
    qsym, qparams, states, collector = quantize_graph(
        sym, params, states, ctx, excluded, list(exclude_operators or ()), calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, LayerOutputCollector, logger,
    )  # fmt: skip
    if collector is not None:
        assert data is not None
        collect(sym, params, states, data, (inputs, []), ctx, collector, num_calib_examples)
        qsym, qparams, states = calib_graph(qsym, params, states, collector, str(calib_mode), quantized_dtype, logger)
    net = SymbolBlock(qsym, [symbol.var(name) for name in inputs])
    for name, param in net.collect_params().items():
        value = {**qparams, **states}[name]
        param.shape, param.dtype = value.shape, value.dtype
        param.initialize("zeros", ctx)
        param.set_data(value)
    return net


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Iterable[str] | None = None,
    exclude_layers_match: Iterable[str] | None = None,
    exclude_operators: Iterable[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context | None = None,
    logger: Logger | None = None,
) -> SymbolBlock:
    """`quantize_net_v2`, which MXNet says to use."""
    warnings.warn("quantize_net is the older name of quantize_net_v2", DeprecationWarning, stacklevel=2)
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip


def _traced(
    network: HybridBlock, shapes: Sequence[tuple[int, ...]], ctx: Context
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The graph of a block, its arguments and its states. Of the shapes, the last that it does not take are labels."""
    for count in range(len(shapes), 0, -1):
        network.hybridize()  # forgets how many inputs there were
        try:
            network(*[nd.zeros(shape, ctx) for shape in shapes[:count]])
            break
        except (TypeError, ArgumentError):
            if count == 1:
                raise
    sym = network._graph("quantization")
    params = {name: param._reduce() for name, param in network.collect_params().items()}
    arguments, states = ({key: params[key] for key in keys if key in params} for keys in _names(sym))
    return sym, arguments, states


def _names(sym: Symbol) -> tuple[list[str], list[str]]:
    return sym.list_arguments(), sym.list_auxiliary_states()


class _Batches(DataIter):
    """The batches of a DataLoader, as lists of arrays. Those of segments of videos, (videos, segments, channels,
    height, width), are of images."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader
        first = next(iter(loader), None)
        if first is None:
            raise ValueError("calib_data has no batch")
        arrays = self._arrays(first)
        super().__init__(arrays[0].shape[0])
        self.provide_data = [DataDesc(f"data{i}", x.shape) for i, x in enumerate(arrays)]
        self.reset()

    @staticmethod
    def _arrays(batch: Any) -> list[NDArray]:
        first, *others = batch if isinstance(batch, (list, tuple)) else [batch]
        return [first.reshape((-1, *first.shape[2:])) if first.ndim > 4 else first, *others]

    def reset(self) -> None:
        self._iter = iter(self._loader)

    def next(self) -> DataBatch:
        return DataBatch(data=self._arrays(next(self._iter)))
