"""The function of `nd` that computes each operator of the table.

Most have the operator's name there, without its prefix, and the names of its inputs and attributes. `_SPELLED` has the
others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.ndarray import NDArray, custom
from runtime.ndarray.sparse.base import BaseSparseNDArray, in_graph
from runtime.symbol.attributes import dtype_of_variable, reshape_target
from runtime.symbol.graph import Node
from runtime.symbol.table import Operator, find

_PREFIXES: tuple[tuple[str, ModuleType], ...] = (
    ("_contrib_", nd.contrib),
    ("_image_", nd.image),
    ("_random_", nd.random),
    ("_sparse_", nd.sparse),
    ("_", nd),
    ("_", nd.contrib),
)


_OWN = {name: function for name, function in vars(nd._internal).items() if name.startswith("_")}
"""Functions that `nd._internal` has itself: others there call operators of graphs."""


def compute(node: Node, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a node that others can take, from its inputs."""
    assert node.operator is not None
    spelled = _SPELLED.get(node.operator.name)
    if spelled is not None:
        result = spelled(inputs, node.values)
    elif node.operator.open:
        own = {key: text for key, text in node.attributes.items() if key[:2] != "__" and key != "num_args"}
        result = custom.of_node(node, inputs, own.pop("op_type"), own)
    else:
        function, accepted = _function(node.operator.name)
        for key in refused(node.operator.name):
            if node.values[key] != node.operator.attributes[key].default_value:
                raise MXNetError(f"{node.operator.name}: {key}={node.attributes[key]} is not computed here")
        attributes = {key: x for key, x in node.values.items() if key in accepted}
        names = [name for name, _ in node.input_names]
        if accepted.issuperset(names):  # some inputs may be left out
            result = function(**dict(zip(names, inputs, strict=True)), **attributes)
        else:
            result = function(*inputs, **attributes)
    return result if isinstance(result, list) else [result]


@cache
def _function(name: str) -> tuple[Callable[..., Any], frozenset[str]]:
    """The function of `nd` with an operator's name, and the names of its parameters."""
    function = getattr(nd, name, None) or _OWN.get(name)
    for prefix, module in _PREFIXES:
        if function is None and name.startswith(prefix):
            function = getattr(module, name.removeprefix(prefix), None)
    if function is None:
        raise MXNetError(f"the operator '{name}' has no function in runtime.ndarray")
    return function, frozenset(inspect.signature(function).parameters)


@cache
def refused(name: str) -> tuple[str, ...]:
    """The attributes of an operator that must have their default, as its function does not take them."""
    _, accepted = _function(name)
    return tuple(key for key in find(name).attributes if key not in accepted and f"{name} {key}" not in HARMLESS)


HARMLESS = frozenset(
    {
        *("add_n num_args", "khatri_rao num_args", "_rnn_param_concat num_args"),  # inputs are there to be counted
        *("BatchNorm min_calib_range", "BatchNorm max_calib_range"),  # for 8 bits, which are another operator
        *("_contrib_BatchNormWithReLU min_calib_range", "_contrib_BatchNormWithReLU max_calib_range"),
        "_contrib_gradientmultiplier is_int",  # gradients are floats
        "RNN lstm_state_clip_nan",  # of bounds, which are refused
        *(f"_contrib_SparseEmbedding {key}" for key in ("dtype", "deterministic", "sparse_grad")),  # always so
    }
)
"""Attributes of operators that change nothing, and that their functions do not take."""


def documentation(operator: Operator) -> str:
    """What `help` says of an operator: what is said of its function. MXNetError if it cannot be computed."""
    if operator.name in _SPELLED or operator.open or operator.graphs:
        return f"The operator {operator.name} of MXNet."
    return inspect.getdoc(_function(operator.name)[0]) or f"The operator {operator.name} of MXNet."


# ---------------------------------------------------------------- operators with other spellings

Spelled = Callable[[Sequence[NDArray], Mapping[str, Any]], Any]


def _scalar(function: Callable[[NDArray, float], NDArray]) -> Spelled:
    """An operator of an array and the number `scalar`, which is whole or not, as it is written."""

    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
        scalar = values["scalar"]
        return function(inputs[0], int(scalar) if scalar.is_integer() and values.get("is_int", True) else scalar)

    return call


def _binary(function: Callable[[NDArray, NDArray], NDArray]) -> Spelled:
    return lambda inputs, values: function(inputs[0], inputs[1])


def _kept(function: Callable[[NDArray, NDArray], NDArray]) -> Spelled:
    """An operator that two arrays stored alike give a result stored like them."""

    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
        x, y = inputs
        result = function(x, y)
        return result.tostype(x.stype) if x.stype == y.stype != "default" else result

    return call


def _of_stored(x: NDArray, function: Callable[[NDArray], NDArray]) -> NDArray:
    """`function`, whose slope is the same everywhere, of the elements of `x` that are stored; the others stay 0."""
    if not isinstance(x, BaseSparseNDArray):
        return function(x)
    result = x._with(function(NDArray(x._values, x.context))._data)
    if in_graph(x):
        result._node = function(x)._node
    return result


def _stored_quotient(x: NDArray, y: NDArray) -> NDArray:
    """`x/y` of the rows of `x` that are stored; the others stay 0."""
    if x.stype != "row_sparse" or in_graph(x, y):
        return x / y
    divisors = y.tostype("default").take(x.indices)
    return nd.sparse.row_sparse_array((x.data / divisors, x.indices), x.shape, x.context, x.dtype)


def _square_sum(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    """The sum of squares. Of the rows of a row-sparse array it is one, if the axis is kept."""
    x = inputs[0]
    rows = values["axis"] == (1,) and values["keepdims"] and not values["exclude"]
    if x.stype != "row_sparse" or not rows or in_graph(x):
        return nd.sum(nd.square(x), **values)
    if not len(x.indices):
        return nd.sparse.zeros("row_sparse", (len(x), 1), x.context, x.dtype)
    return nd.sparse.row_sparse_array(
        (nd.sum(nd.square(x.data), axis=1, keepdims=True), x.indices), (len(x), 1), x.context, x.dtype
    )


def _made(function: Callable[..., NDArray], *keys: str) -> Spelled:
    """An operator without inputs, which makes an array in the current context or in `ctx`."""

    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
        return function(*(values[key] for key in keys), ctx=_context(values["ctx"]), dtype=values["dtype"])

    return call


def _context(text: str | None) -> Context | None:
    """The context that a string like `cpu(0)` names; None for none."""
    if not text:
        return None
    kind, _, number = text.rstrip(")").partition("(")
    return Context(kind, int(number or 0))


def _drawn(function: Callable[..., NDArray], *keys: str) -> Spelled:
    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
        given = {"shape": values["shape"] or (1,), "ctx": _context(values["ctx"]), "dtype": values["dtype"]}
        return function(*(values[key] for key in keys), **{k: x for k, x in given.items() if x is not None})

    return call


def _sampled(function: Callable[..., NDArray]) -> Spelled:
    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> Any:
        given = {key: x for key, x in values.items() if x is not None and not (key == "shape" and x == ())}
        return function(*inputs, **given)

    return call


def _split(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> Any:
    sections = values["sections"] or [i for i in values["indices"] if i]
    return nd.split_v2(inputs[0], sections, axis=values["axis"], squeeze_axis=values["squeeze_axis"])


def _histogram(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> Any:
    bins = values["bin_cnt"] or inputs[1]
    return nd.histogram(inputs[0], bins, range=values["range"])


def _eye(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    return nd.eye(values["N"], values["M"], values["k"], ctx=_context(values["ctx"]), dtype=values["dtype"])


def _arange_like(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    return nd.contrib.arange_like(inputs[0], **{k: x for k, x in values.items() if k != "ctx"})


def _arange(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    start, stop = values["start"], values["stop"]
    if stop is None and not values["infer_range"]:
        start, stop = 0, start
    return nd.arange(start, stop, values["step"], values["repeat"], ctx=_context(values["ctx"]), dtype=values["dtype"])


def _reshape(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    old = not values["shape"] and values["target_shape"]
    shape = reshape_target(values) if old else values["shape"]
    return nd.reshape(inputs[0], shape=shape, reverse=values["reverse"])


def _linspace(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    return nd.linspace(
        values["start"], values["stop"], values["num"], values["endpoint"],
        ctx=_context(values["ctx"]), dtype=values["dtype"],
    )  # fmt: skip


def _zeros_without_dtype(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> NDArray:
    """Zeros of the type that has MXNet's number `dtype`; float32 for -1."""
    dtype = None if values["dtype"] == -1 else dtype_of_variable(str(values["dtype"]))
    return nd.zeros(values["shape"], ctx=_context(values["ctx"]), dtype=dtype)


def _like(name: str) -> Spelled:
    """Draws of the shape, type and context of an array."""
    function = getattr(nd.random, f"{name}_like")
    return lambda inputs, values: function(inputs[0], **values)


def _interleaved(function: Callable[..., Any], arrays: int, count: str) -> Spelled:
    """An update of several weights, whose inputs are the `arrays` of the first weight, of the second, and so on.

    `count` is the attribute that says how many weights there are. Behind them there may be a factor on gradients.
    """

    def call(inputs: Sequence[NDArray], values: Mapping[str, Any]) -> Any:
        options = dict(values)
        n = options.pop(count)
        rates = options.pop("learning_rates", None)
        if rates is not None:
            options["lrs"] = rates
        own = n * arrays
        return function(*(list(inputs[i:own:arrays]) for i in range(arrays)), *inputs[own:], **options)

    return call


_SYMBOLS = {
    "plus": lambda x, a: x + a,
    "minus": lambda x, a: x - a,
    "rminus": lambda x, a: a - x,
    "mul": lambda x, a: x * a,
    "div": lambda x, a: x / a,
    "rdiv": lambda x, a: a / x,
    "mod": lambda x, a: x % a,
    "rmod": lambda x, a: a % x,
    "power": lambda x, a: x**a,
    "rpower": lambda x, a: a**x,
    "maximum": nd.maximum,
    "minimum": nd.minimum,
    "hypot": nd.broadcast_hypot,
    "equal": lambda x, a: x == a,
    "not_equal": lambda x, a: x != a,
    "greater": lambda x, a: x > a,
    "greater_equal": lambda x, a: x >= a,
    "lesser": lambda x, a: x < a,
    "lesser_equal": lambda x, a: x <= a,
    "logical_and": nd.logical_and,
    "logical_or": nd.logical_or,
    "logical_xor": nd.logical_xor,
}

_DISTRIBUTIONS = (
    "uniform", "normal", "gamma", "exponential", "poisson", "negative_binomial", "generalized_negative_binomial"
)  # fmt: skip

_SPELLED: dict[str, Spelled] = {
    **{f"_{name}_scalar": _scalar(function) for name, function in _SYMBOLS.items()},
    **{f"_{name}": _binary(function) for name, function in _SYMBOLS.items() if name[0] != "r"},
    **{f"_{name}": _kept(_SYMBOLS[name]) for name in ("maximum", "minimum", "hypot")},
    "_scatter_plus_scalar": _scalar(lambda x, scalar: _of_stored(x, lambda values: values + scalar)),
    "_scatter_minus_scalar": _scalar(lambda x, scalar: _of_stored(x, lambda values: values - scalar)),
    "_scatter_elemwise_div": _binary(_stored_quotient),
    "_grad_add": _binary(_SYMBOLS["plus"]),
    "smooth_l1": lambda inputs, values: nd.smooth_l1(inputs[0], scalar=values["scalar"]),
    "_copy": lambda inputs, values: nd.identity(inputs[0]),
    "_copyto": lambda inputs, values: nd.identity(inputs[0]),
    "_onehot_encode": lambda inputs, values: nd.one_hot(inputs[0], inputs[1].shape[1], dtype=inputs[1].dtype),
    "_zeros_without_dtype": _zeros_without_dtype,
    "_identity_with_attr_like_rhs": lambda inputs, values: nd.identity(inputs[0]),
    "_zeros": _made(nd.zeros, "shape"),
    "_ones": _made(nd.ones, "shape"),
    "_full": _made(nd.full, "shape", "value"),
    "_arange": _arange,
    "Reshape": _reshape,
    "_linspace": _linspace,
    "_eye": _eye,
    "_contrib_arange_like": _arange_like,
    "_random_uniform": _drawn(nd.random.uniform, "low", "high"),
    "_random_normal": _drawn(nd.random.normal, "loc", "scale"),
    "_random_gamma": _drawn(nd.random.gamma, "alpha", "beta"),
    "_random_exponential": _drawn(lambda lam, **kwargs: nd.random.exponential(1 / lam, **kwargs), "lam"),
    "_random_poisson": _drawn(nd.random.poisson, "lam"),
    "_random_negative_binomial": _drawn(nd.random.negative_binomial, "k", "p"),
    "_random_generalized_negative_binomial": _drawn(nd.random.generalized_negative_binomial, "mu", "alpha"),
    "_random_randint": _drawn(nd.random.randint, "low", "high"),
    **{f"_random_{name}_like": _like(name) for name in _DISTRIBUTIONS},
    **{f"_sample_{name}": _sampled(getattr(nd, f"sample_{name}")) for name in (*_DISTRIBUTIONS, "multinomial")},
    "_shuffle": lambda inputs, values: nd.random.shuffle(inputs[0]),
    "_ravel_multi_index": lambda inputs, values: nd.ravel_multi_index(inputs[0], shape=values["shape"]),
    "_unravel_index": lambda inputs, values: nd.unravel_index(inputs[0], shape=values["shape"]),
    "_np_cumsum": lambda inputs, values: nd.cumsum(inputs[0], **values),
    "_rnn_param_concat": lambda inputs, values: nd.concat(*inputs, dim=values["dim"]),
    "_split_v2": _split,
    "_histogram": _histogram,
    "_sparse_retain": _binary(nd.sparse.retain),
    "_square_sum": _square_sum,
    "_contrib_SparseEmbedding": lambda inputs, values: nd.contrib.SparseEmbedding(
        *inputs, values["input_dim"], values["output_dim"]
    ),
    "_contrib_SyncBatchNorm": lambda inputs, values: nd.contrib.SyncBatchNorm(*inputs, **values),
    "_multi_adamw_update": _interleaved(nd.contrib.multi_adamw_update, 4, "num_weights"),
    "_multi_mp_adamw_update": _interleaved(nd.contrib.multi_mp_adamw_update, 5, "num_weights"),
    "_multi_lamb_update": _interleaved(nd.contrib.multi_lamb_update, 4, "num_tensors"),
    "_multi_mp_lamb_update": _interleaved(nd.contrib.multi_mp_lamb_update, 5, "num_tensors"),
}
