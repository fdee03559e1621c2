"""Parameters: first values, contexts, gradients, storage, names; dictionaries of them."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, init, nd
from runtime.gluon import Parameter, ParameterDict, nn


def made(shape: tuple[int, ...] = (2, 3), ctx: object = None, **kwargs: object) -> Parameter:
    p = Parameter("x_weight", shape=shape, **kwargs)
    p.initialize("ones", ctx=ctx)
    return p


def backward(p: Parameter, ctx: mx.Context, factor: float) -> None:
    with autograd.record():
        y = (p.data(ctx) * factor).sum()
    y.backward()


# ---------------------------------------------------------------- first values


def test_the_default_initializer_is_for_all_that_have_none() -> None:
    """As in MXNet, whatever the name ends in: layers say themselves that a bias starts at 0."""
    for name in ("x_weight", "x_bias", "x_gamma", "x_other"):
        p = Parameter(name, shape=(2,))
        p.initialize(default_init=init.Constant(5))
        assert p.data().asnumpy().tolist() == [5, 5]
    own = Parameter("x_bias", shape=(2,), init="zeros")
    own.initialize(default_init=init.Constant(5))
    assert own.data().asnumpy().tolist() == [0, 0]
    own.initialize("ones", force_reinit=True)
    assert own.data().asnumpy().tolist() == [1, 1]


def test_initialized_twice() -> None:
    p = made()
    buffer = p.data()
    with pytest.warns(UserWarning, match="'x_weight' has values already and keeps them"):
        p.initialize("zeros")
    assert p.data() is buffer and buffer.asnumpy().min() == 1


def test_initialization_follows_the_seed() -> None:
    def weights() -> list:
        mx.random.seed(3)
        p = Parameter("x_weight", shape=(3, 3))
        p.initialize(init.Xavier())
        return p.data().asnumpy().tolist()

    assert weights() == weights()


@pytest.mark.parametrize("shape", [(0, 2), (-1, 2), None])
def test_an_unknown_shape(shape: tuple[int, ...] | None) -> None:
    with pytest.raises(ValueError, match=r"'x_weight' cannot be initialized: its shape .* is not fully known"):
        Parameter("x_weight", shape=shape).initialize()
    p = Parameter("x_weight", shape=shape, allow_deferred_init=True)
    with pytest.raises(mx.MXNetError, match="'x_weight' has no values yet: call initialize"):
        p.data()
    p.initialize("ones", ctx=[mx.cpu(0), mx.cpu(1)])
    assert p.list_ctx() == [mx.cpu(0), mx.cpu(1)]
    for ask in (p.data, p.grad, p.list_data, p.list_grad):
        with pytest.raises(gluon.DeferredInitializationError, match=r"'x_weight'.*before the first forward pass"):
            ask()
    p.reset_ctx(mx.cpu(2))
    p.shape = (3, 2)
    p._finish_deferred_init()
    assert p.data(mx.cpu(2)).asnumpy().tolist() == [[1, 1]] * 3


def test_shapes_can_be_filled_in_and_not_changed() -> None:
    p = Parameter("x_weight", shape=(0, 4, -1))
    p.shape = (2, 4, 5)
    with pytest.raises(AssertionError, match=r"'x_weight' has shape \(2, 4, 5\), which cannot become \(2, 4\)"):
        p.shape = (2, 4)
    assert Parameter("x", shape=3).shape == (3,)


# ---------------------------------------------------------------- contexts


def test_several_contexts() -> None:
    one, two = mx.cpu(1), mx.cpu(2)
    p = made(ctx=[one, two])
    assert p.list_ctx() == [one, two]
    assert [x.context for x in p.list_data() + p.list_grad()] == [one, two] * 2
    assert p.data(mx.Context("cpu", 2)) is p.list_data()[1]
    assert p.data(mx.context.cpu_pinned(2)) is p.list_data()[1]
    with two:
        assert p.data() is p.list_data()[1]
    with mx.cpu(), pytest.raises(mx.MXNetError, match=r"'x_weight' lives in cpu\(1\), cpu\(2\), not in cpu\(0\)"):
        p.data()
    with pytest.raises(mx.MXNetError, match=r"lives in cpu\(1\), cpu\(2\), not in gpu\(1\)"):
        p.grad(mx.gpu(1))
    backward(p, two, 3)
    assert [g.asnumpy().max() for g in p.list_grad()] == [0, 3]
    p.zero_grad()
    assert p.grad(two).asnumpy().max() == 0
    p.list_data()[0][:] = 5
    p.reset_ctx([mx.cpu(3), one])
    assert [x.asnumpy().max() for x in p.list_data()] == [3, 3]  # the mean of 5 and 1
    p.set_data(np.full((2, 3), 7))
    assert [x.asnumpy().min() for x in p.list_data()] == [7, 7]
    backward(p, one, 2)
    assert p.grad(one).asnumpy().min() == 2
    p.reset_ctx([one, mx.cpu(1)])
    assert p.list_ctx() == [one]


@pytest.mark.parametrize("ctx", [[], "cpu", [1]])
def test_what_is_no_list_of_contexts(ctx: object) -> None:
    with pytest.raises(mx.MXNetError, match=r"[Cc]ontext"):
        made(ctx=ctx)


def test_a_missing_device() -> None:
    with pytest.raises(mx.MXNetError, match=r"there is no device gpu\(100\)"):
        made(ctx=mx.gpu(100))


# ---------------------------------------------------------------- gradients, types, values


def test_grad_req() -> None:
    p = made(grad_req="null")
    with pytest.raises(mx.MXNetError, match="'x_weight' has no gradient: its grad_req is 'null'"):
        p.grad()
    before = p._data
    p.grad_req = "add"
    assert p._data is not before  # how a trainer notices
    for total in (3, 6):
        backward(p, mx.current_context(), 3)
        assert p.grad().asnumpy().tolist() == [[total] * 3] * 2
    p.grad_req = "write"
    backward(p, mx.current_context(), 2)
    assert p.grad().asnumpy().max() == 2
    p.grad_req = "null"
    assert p._grad is None and p.data().grad is None
    with pytest.raises(AssertionError, match=r"grad_req of parameter 'x_weight' must be .* not 'maybe'"):
        p.grad_req = "maybe"
    assert Parameter("x", differentiable=False).grad_req == "null"


def test_cast() -> None:
    p = made()
    backward(p, mx.current_context(), 3)
    p.cast("float16")
    assert (p.dtype, p.data().dtype, p.grad().dtype) == (np.float16,) * 3
    assert p.grad().asnumpy().max() == 3
    backward(p, mx.current_context(), 2)
    assert p.grad().asnumpy().max() == 2
    p.dtype = "float64"
    assert p.data().dtype == np.float64
    assert repr(p) == "Parameter x_weight (shape=(2, 3), dtype=float64)"


def test_set_data() -> None:
    p = made()
    buffer = p.data()
    p.set_data(nd.array(np.arange(6).reshape(2, 3), dtype="int32"))
    assert p.data() is buffer and buffer.dtype == np.float32
    with pytest.raises(AssertionError, match=r"has shape \(2, 3\), and cannot be set to values of shape \(3, 2\)"):
        p.set_data(nd.ones((3, 2)))
    with pytest.raises(mx.MXNetError, match="has no values yet"):
        Parameter("y", shape=(2,)).set_data(nd.ones(2))
    with autograd.record():
        y = p.data() * p.data()
        with pytest.raises(mx.MXNetError, match="inside autograd"):
            p.set_data(nd.ones((2, 3)))
    y.backward()
    assert p.grad().asnumpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    late = Parameter("z", shape=(0, 2), allow_deferred_init=True)
    late.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    late.set_data(nd.ones((3, 2)))
    assert late.data(mx.cpu(1)).shape == (3, 2)


def test_values_for_one_parameter_initialized_or_not() -> None:
    """Libraries fill a network parameter by parameter with MXNet's private `_load_init`."""
    p = Parameter("x", shape=(0, 2), allow_deferred_init=True)
    p._load_init(nd.ones((3, 2)), ctx=[mx.cpu(0), mx.cpu(1)])
    assert p.shape == (3, 2) and p.list_ctx() == [mx.cpu(0), mx.cpu(1)]
    p._load_init(nd.zeros((3, 2)), None)
    assert p.data(mx.cpu(1)).asnumpy().tolist() == [[0, 0]] * 3
    with pytest.raises(AssertionError, match=r"the data: 'x' has shape \(2, 2\), but parameter 'x' has shape"):
        p._load_init(nd.ones((2, 2)), None)
    with pytest.raises(AssertionError, match="is to go to"):
        p._load_init(nd.ones((3, 2)), mx.cpu(0))
    half = nd.ones((3, 2), dtype="float16")
    with pytest.raises(AssertionError, match="has type float16"):
        p._load_init(half, None)
    p._load_init(half, None, cast_dtype=True)
    assert p.dtype == np.float32 and p.data(mx.cpu(0)).asnumpy().tolist() == [[1, 1]] * 3
    p._load_init(half, None, cast_dtype=True, dtype_source="saved")
    assert p.dtype == np.float16


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_gradients_of_their_own(duplicate: object) -> None:
    p = made(ctx=[mx.cpu(0), mx.cpu(1)], lr_mult=3)
    backward(p, mx.cpu(1), 5)
    q = duplicate(p)
    assert q.lr_mult == 3 and q.list_ctx() == p.list_ctx()
    assert q.grad(mx.cpu(1)).asnumpy().max() == 5
    backward(q, mx.cpu(1), 2)
    q.data(mx.cpu(1))[:] = 0
    assert (q.grad(mx.cpu(1)).asnumpy().max(), p.grad(mx.cpu(1)).asnumpy().max()) == (2, 5)
    assert p.data(mx.cpu(1)).asnumpy().min() == 1


# ---------------------------------------------------------------- row-sparse parameters


def test_wrong_contexts_leave_the_values_as_they_are() -> None:
    p = gluon.Parameter("p_weight", shape=(2,))
    p.initialize()
    with pytest.raises(mx.MXNetError, match="ctx is a Context"):
        p.initialize(ctx="cpu", force_reinit=True)
    assert p.data().shape == (2,)


def test_row_sparse_parameters_are_read_through_a_trainer() -> None:
    p = made((4, 2), ctx=[mx.cpu(1), mx.cpu(2)], stype="row_sparse", grad_stype="row_sparse")
    rows = nd.array([1, 3], ctx=mx.cpu(1))
    assert [x.stype for x in (*p._data, *p.list_grad())] == ["row_sparse"] * 4
    for ask in (p.data, p.list_data):
        with pytest.raises(mx.MXNetError, match=r"'x_weight' is stored as 'row_sparse': use (list_)?row_sparse_data"):
            ask()
    with pytest.raises(mx.MXNetError, match="'x_weight' come from a Trainer"):
        p.row_sparse_data(rows)
    with pytest.raises(mx.MXNetError, match=r"stored as 'default': use data\(\)"):
        made().row_sparse_data(rows)

    class Server:
        """Stands for a trainer."""

        def _row_sparse_pull(self, param: Parameter, out: object, row_id: nd.NDArray, full_idx: bool = False) -> None:
            asked.append((param, out, row_id.asnumpy().tolist(), full_idx))

    asked: list = []
    p._set_trainer(Server())
    assert p.row_sparse_data(rows) is p._data[0]
    assert p.list_row_sparse_data(rows) is p._data
    assert asked[0] == (p, p._data[0], [1, 3], False)
    assert p._reduce().shape == (4, 2) and asked[-1][2:] == ([0, 1, 2, 3], True)
    with pytest.raises(mx.MXNetError, match="'x_weight' belongs to another Trainer"):
        p._set_trainer(Server())


@pytest.mark.parametrize("what", ["stype", "grad_stype"])
def test_unknown_storage(what: str) -> None:
    with pytest.raises(AssertionError, match=rf"'x': {what} must be one of .*, not 'column_sparse'"):
        Parameter("x", **{what: "column_sparse"})


# ---------------------------------------------------------------- constants


def test_constants() -> None:
    params = ParameterDict("net_")
    c = params.get_constant("c", [[1, 2], [3, 4]])
    params.initialize("zeros")
    assert c.data().asnumpy().tolist() == [[1, 2], [3, 4]]
    assert params.get_constant("c") is params.get_constant("c", np.array([[1, 2], [3, 4]])) is c
    with pytest.warns(UserWarning, match="constant 'net_c' has no gradient"):
        c.grad_req = "write"
    assert c.grad_req == "null"
    assert repr(c) == "Constant net_c (shape=(2, 2), dtype=float32)"
    with pytest.raises(AssertionError, match="constant 'net_c' has another value"):
        params.get_constant("c", [[1, 2], [3, 5]])
    with pytest.raises(KeyError, match="no constant 'net_d'"):
        params.get_constant("d")
    params.get("w", shape=(1,))
    with pytest.raises(AssertionError, match="'net_w' is no constant"):
        params.get_constant("w", 1)


# ---------------------------------------------------------------- dictionaries


def test_get_makes_or_checks() -> None:
    shared = ParameterDict("a_")
    w = shared.get("weight", shape=(0, 3), init="zeros", lr_mult=2)
    params = ParameterDict("a_", shared)
    assert params.get("weight", shape=(2, -1), dtype="float32", init=None) is w
    assert (w.shape, list(params), "a_weight" in params) == ((2, 3), ["a_weight"], True)
    for key, value in (("shape", (2, 4)), ("shape", 2), ("dtype", "float16"), ("lr_mult", 1), ("init", "ones")):
        with pytest.raises(AssertionError, match=f"'a_weight' has {key} .*, and cannot be shared with {key}"):
            params.get("weight", **{key: value})
    assert repr(params) == "a_ (\n  Parameter a_weight (shape=(2, 3), dtype=float32)\n)"
    assert repr(ParameterDict()) == "(\n)"


def test_update() -> None:
    a, b = ParameterDict(), ParameterDict()
    a.get("x")
    b.get("y")
    b.get("x")
    with pytest.raises(AssertionError, match="two different parameters are called 'x'"):
        a.update(b)
    assert list(a) == ["x"]
    b._params["x"] = a["x"]
    a.update(b)
    assert list(a.keys()) == ["x", "y"]


def test_all_at_once() -> None:
    params = ParameterDict()
    for name in "ab":
        params.get(name, shape=(2,))
    params.initialize("ones", ctx=mx.cpu(1))
    params.get("c", shape=(2,)).initialize(ctx=mx.cpu(2))
    assert params.list_ctx() == [mx.cpu(1), mx.cpu(2)]
    params.reset_ctx(mx.cpu(3))
    assert params.list_ctx() == [mx.cpu(3)]
    backward(params["a"], mx.cpu(3), 2)
    params.zero_grad()
    assert params["a"].grad().asnumpy().max() == 0
    params.setattr("lr_mult", 3)
    params.setattr("grad_req", "null")
    assert [(p.lr_mult, p._grad) for p in params.values()] == [(3, None)] * 3


def test_files_by_name(tmp_path: Path) -> None:
    def dictionary(prefix: str, **kwargs: object) -> ParameterDict:
        params = ParameterDict(prefix)
        params.get("w", shape=(2, 0), allow_deferred_init=True)
        params.get("b", shape=(2,), **kwargs)
        return params

    a, path = dictionary("a_"), tmp_path / "params"
    a["a_w"].shape = (2, 3)
    a.initialize("ones", ctx=[mx.cpu(0), mx.cpu(1)])
    a["a_b"].list_data()[1][:] = 3
    a.save(path, strip_prefix="a_")
    assert sorted(nd.load(path)) == ["b", "w"]
    b = dictionary("b_")
    b.load(path, ctx=mx.cpu(2), restore_prefix="b_")
    assert b["b_b"].data(mx.cpu(2)).asnumpy().tolist() == [2, 2]  # the mean over contexts
    assert b["b_w"].shape == (2, 3)
    with pytest.raises(AssertionError, match=r"'b_w' is to go to \[cpu\(0\)\], but parameter 'b_w' is in \[cpu\(2\)\]"):
        b.load(path, ctx=mx.cpu(0), restore_prefix="b_")
    with pytest.raises(AssertionError, match="strip_prefix is 'b_', but parameter 'a_w'"):
        a.save(path, strip_prefix="b_")
    with pytest.raises(AssertionError, match="restore_prefix is 'a_', but parameter 'b_w'"):
        b.load(path, restore_prefix="a_")
    with pytest.raises(AssertionError, match=r"params' lacks 'b_w', 'b_b'; it has 'w', 'b'|lacks 'b_w', 'b_b'"):
        dictionary("b_").load(path)
    half = dictionary("h_", dtype="float16")
    with pytest.raises(AssertionError, match="'h_b' has type float32, but parameter 'h_b' has type float16"):
        half.load(path, restore_prefix="h_")
    half.load(path, restore_prefix="h_", cast_dtype=True)
    assert half["h_b"].data().dtype == np.float16
    half.load(path, restore_prefix="h_", cast_dtype=True, dtype_source="saved")
    assert half["h_b"].dtype == half["h_b"].data().dtype == np.float32
    half.load_dict({"arg:h_w": nd.zeros((2, 3)), "aux:more": nd.ones(1)}, allow_missing=True, ignore_extra=True)
    assert half["h_w"].data().asnumpy().max() == 0
    with pytest.raises(AssertionError, match="list of arrays without names"):
        half.load_dict([nd.zeros(1)])


def test_blocks_share_parameters() -> None:
    a = nn.Dense(3, in_units=2, prefix="a_")
    b = nn.Dense(3, in_units=2, prefix="b_", params=a.params)
    assert b.weight is a.weight
    with pytest.raises(mx.MXNetError, match=r"'a_weight' has shape \(3, 2\), and cannot be shared with shape \(4, 2\)"):
        nn.Dense(4, in_units=2, params=a.params)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a.initialize()
    assert b.weight.data() is a.weight.data()


@pytest.mark.cpu_only("where arrays of NumPy begin")
def test_weights_and_gradients_begin_with_pages_and_cache_lines() -> None:
    """Those that are large; a step over arrays that lie otherwise takes longer."""
    for shape, unit in (((64, 100), 64), ((256, 300), 4096)):
        param = Parameter("w", shape=shape)
        param.initialize(mx.init.Normal())
        assert param.data()._data.ctypes.data % unit == param.grad()._data.ctypes.data % unit == 0


class Halved(Parameter):
    """A parameter that MXNet's users wrote: it takes over another, and hands out other values."""

    def __init__(self, of: Parameter) -> None:
        super().__init__(of.name, of.grad_req, of._shape, of.dtype, init=of.init)
        self._deferred_init, self._data, self._grad = of._deferred_init, of._data, of._grad
        self._ctx_list, self._ctx_map, self._trainer = of._ctx_list, of._ctx_map, of._trainer

    def data(self, ctx: mx.Context | None = None) -> nd.NDArray:
        assert self._check_and_get(self._data, list) is self._data
        return self._check_and_get(self._data, ctx) / 2


def test_a_subclass_written_for_mxnet_takes_the_place_of_a_parameter() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(1, in_units=2, use_bias=False, weight_initializer="ones"))
    net.initialize()
    net[0].params._params[net[0].weight.name] = net[0]._reg_params["weight"] = Halved(net[0].weight)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    for wanted in (1, 0.5):
        with autograd.record():
            y = net(nd.ones((1, 2)))
        y.backward()
        trainer.step(1)
        assert y.asscalar() == wanted
