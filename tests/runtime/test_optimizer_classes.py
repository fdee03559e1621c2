"""Optimizer classes: their signatures and documentation, how they are found, registered and copied, their errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
import runtime as mx
from optgen import specfiles
from runtime import autograd, gluon, nd, optimizer
from runtime.optimizer import stub
from runtime.optimizer.classes import OptimizerRegistry

HALVING = """\
optimizer Halving "Gradient descent at half the rate"
param lr = 0.25
param boost = 2 in [1, 4]
flag fast = false
update:
  w' = w - lr*boost*g if fast
  w' = w - lr/2*g otherwise
"""

MXNET = {
    "AdaDelta": "rho epsilon",
    "AdaGrad": "eps",
    "Adam": "learning_rate beta1 beta2 epsilon lazy_update",
    "Adamax": "learning_rate beta1 beta2",
    "DCASGD": "momentum lamda",
    "FTML": "beta1 beta2 epsilon",
    "Ftrl": "lamda1 learning_rate beta",
    "GroupAdaGrad": "eps",
    "LAMB": "learning_rate beta1 beta2 epsilon lower_bound upper_bound bias_correction",
    "LARS": "momentum lazy_update eta eps momentum_correction",
    "LBSGD": "momentum multi_precision warmup_strategy warmup_epochs batch_scale updates_per_epoch begin_epoch "
    "num_epochs",
    "NAG": "momentum",
    "Nadam": "learning_rate beta1 beta2 epsilon schedule_decay",
    "RMSProp": "learning_rate gamma1 gamma2 epsilon centered clip_weights",
    "SGD": "momentum lazy_update",
    "SGLD": "",
    "Signum": "learning_rate momentum wd_lh",
    "Test": "",
}
"""The positional arguments of MXNet 1.9.1's optimizers, in its order."""


# ---------------------------------------------------------------- signatures and documentation


@pytest.mark.parametrize("name", MXNET)
def test_positional_arguments_are_those_of_mxnet(name: str) -> None:
    cls = getattr(optimizer, name)
    parameters = inspect.signature(cls).parameters.values()
    positional = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    wanted = MXNET[name].split()
    assert positional[: len(wanted)] == wanted
    common = {"rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler"}
    assert common | {"begin_num_update", "multi_precision", "param_dict", "storage"} <= {p.name for p in parameters}
    for p in parameters:
        if p.name in wanted and p.name not in ("lazy_update", "multi_precision", "learning_rate"):
            assert getattr(cls(**{p.name: p.default}), p.name) == p.default


def test_documentation_has_equations_and_arguments() -> None:
    for words in ("Kingma & Ba", "m'     = beta1*m + (1 - beta1)*d", "beta2: decay of the second moment, in [0, 1)."):
        assert words in optimizer.Adam.__doc__


def test_the_stub_is_fresh() -> None:
    assert stub.PATH.read_text() == stub.text(), "run python -m runtime.optimizer.stub"


# ---------------------------------------------------------------- names, registration, copies


def test_names() -> None:
    assert "Adam" in dir(optimizer)
    assert optimizer.Adam is optimizer.Adam
    assert isinstance(optimizer.create("ADAM"), optimizer.Adam)
    assert isinstance(optimizer.create("ccsgd"), optimizer.SGD)
    assert isinstance(optimizer.Optimizer.create_optimizer("adam", beta1=0.8), optimizer.Optimizer.opt_registry["adam"])
    with pytest.raises(AttributeError, match="no attribute 'adam'"):
        optimizer.adam  # noqa: B018


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: optimizer.create("sgdd"), ValueError, "unknown optimizer 'sgdd'; did you mean 'sgd'?"),
        (
            lambda: optimizer.create("paged_adamw_8bit"),
            ValueError,
            "unknown optimizer 'paged_adamw_8bit'; a name of bitsandbytes, transformers: write optgen.load(\"torch/"
            'adamw", storage="int8_dynamic"); states are not paged',
        ),
        (lambda: optimizer.create("adamw_torch"), ValueError, "; mx.optimizer has only specs of no folder"),
        (
            lambda: optimizer.create("sgd", momentun=0.9),
            TypeError,
            "SGD has no argument 'momentun'; did you mean 'momentum'?",
        ),
        (lambda: optimizer.create("sgd", momentum=1), ValueError, "'momentum' must be in [0, 1), not 1"),
        (lambda: optimizer.create("sgd", wd=-1), ValueError, "'wd' must be in [0, inf), not -1"),
        (lambda: optimizer.create("sgd", momentum="0.9x"), TypeError, "'momentum' must be a number"),
        (lambda: optimizer.create("adam", amsgrad=2), ValueError, "'amsgrad' must be True or False, not 2"),
        (lambda: optimizer.AdaGrad(1e-7, 1e-3, 0), TypeError, "AdaGrad: too many positional arguments"),
        (lambda: optimizer.Adam(0.1, learning_rate=0.1), TypeError, "Adam: multiple values for argument"),
        (lambda: optimizer.RMSProp(gamma1=0.9, rho=0.8), TypeError, "'gamma1' is given twice, once as 'rho'"),
        (lambda: optimizer.create("adam", storage="int4"), ValueError, "cannot be stored as 'int4'"),
        (lambda: optimizer.create("adam", storage={"mm": "int8_linear"}), TypeError, "no elementwise state 'mm'"),
        (lambda: optimizer.create("adam", lr_scheduler=0.1), TypeError, "lr_scheduler must be a function"),
        (lambda: optimizer.create("adam", symbol=None), TypeError, "Adam has no argument 'symbol'"),
        (lambda: setattr(optimizer.create("adam"), "beta1", 1.5), ValueError, "'beta1' must be in [0, 1), not 1.5"),
        (lambda: optimizer.create("sgd", clip_gradient=-1), ValueError, "'clip_gradient' must be in [0, inf), not -1"),
    ],
)
def test_errors(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_a_flag_is_fixed_with_the_first_state() -> None:
    opt = optimizer.create("adam")
    opt.amsgrad = True
    assert opt.create_state(0, nd.ones(2)).names == ("m", "v", "v_max")
    with pytest.raises(ValueError, match="'amsgrad' is fixed"):
        opt.amsgrad = False


def test_states_are_laid_out_as_in_mxnet() -> None:
    weight, half = nd.ones((2, 3)), nd.ones((2, 3)).astype("float16")

    def state(name: str, of: nd.NDArray = weight, **arguments: object) -> Any:
        return optimizer.create(name, **arguments).create_state_multi_precision(0, of)

    assert state("sgd") is None
    assert state("sgd", momentum=0.9).shape == (2, 3)
    assert state("adagrad").shape == (2, 3)
    assert len(state("rmsprop")) == 1
    assert len(state("rmsprop", centered=True)) == 3
    momentum, master = state("sgd", half, momentum=0.9, multi_precision=True)
    assert (momentum.asnumpy() == 0).all()
    assert (master.asnumpy() == 1).all()
    master, (m, v) = state("adam", half, multi_precision=True)
    assert [x.dtype for x in (master, m, v)] == [np.float32] * 3
    assert (master.asnumpy() == 1).all()
    for copied in (copy.deepcopy(state("ftml")), pickle.loads(pickle.dumps(state("ftml")))):
        assert copied.names == ("d", "v", "z")
        assert copied["z"] is copied[2]
    with pytest.raises(TypeError, match="Adam: dict is no state that create_state made"):
        optimizer.Adam().update(0, weight, weight.copy(), {})


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb"])
def test_sparse_weights(name: str, stype: str) -> None:
    """They change as dense ones do, rows that were not stored included."""
    values, grad = np.array([[0, 0], [1, 2], [0, 3]], np.float32), nd.array([[1, 2], [0, 0], [3, -1]], dtype="float32")
    dense, sparse = nd.array(values, dtype="float32"), nd.array(values, dtype="float32").tostype(stype)
    for weight in (dense, sparse):
        update = optimizer.get_updater(optimizer.create(name, learning_rate=0.1))
        for _ in range(3):
            update(["a", "b"], [grad, grad], [weight, nd.ones((3, 2))])
    assert sparse.stype == stype
    np.testing.assert_array_equal(sparse.asnumpy(), dense.asnumpy())


def test_a_chain_is_pickled_with_its_arguments() -> None:
    made = optimizer.create("adam with lookahead(k=3), centralize", learning_rate=0.1, alpha=0.3)
    assert pickle.loads(pickle.dumps(made)).alpha == 0.3


def test_ccsgd_is_sgd() -> None:
    assert optimizer.ccSGD is optimizer.SGD
    assert isinstance(optimizer.create("ccSGD"), optimizer.SGD)


def test_register_spec_reports_all_errors() -> None:
    with pytest.raises(optgen.SpecErrors) as caught:
        optimizer.register_spec(HALVING.replace("lr*boost", "lr*bost").replace("lr/2", "lrr/2"))
    assert "unknown name 'bost'" in str(caught.value)
    assert "unknown name 'lrr'" in str(caught.value)
    with pytest.raises(FileNotFoundError):
        optimizer.register_spec("nowhere.opt")


NAMES_OF_ATTRIBUTES = (
    *("num_update", "idx2name", "lr_mult", "wd_mult", "create_state", "param_names", "aggregate_num", "pieces"),
    *("set_learning_rate", "has_master", "sets_base_lr"),
)


@pytest.mark.parametrize("name", NAMES_OF_ATTRIBUTES)
@pytest.mark.parametrize("kind", ["param", "flag"])
def test_params_and_flags_cannot_be_called_like_attributes_of_all_optimizers(
    kind: str, name: str, tmp_path: Path
) -> None:
    old = {"param": "boost", "flag": "fast"}[kind]
    path = tmp_path / "halving.opt"
    path.write_text(re.sub(rf"\b{old}\b", name, HALVING.replace("Halving", "Misnamed")))
    line = {"param": 3, "flag": 4}[kind]
    with pytest.raises(mx.base.ArgumentError, match=rf"halving.opt:{line}:\d+: the {kind} '{name}' .* another name"):
        optimizer.register_spec(path)
    assert "Misnamed" not in optimizer._registry


@pytest.mark.parametrize(
    ("header", "file"),
    [("AdamMini", "mine.opt"), ("Halving alias yogi", "mine.opt"), ("Halving", "schedulefree_sgd.opt")],
)
def test_a_spec_that_takes_the_name_of_a_shipped_one_warns(header: str, file: str, tmp_path: Path) -> None:
    registry = OptimizerRegistry()
    path = tmp_path / file
    path.write_text(HALVING.replace("Halving", header))
    with pytest.warns(UserWarning, match=rf"the name '\w+' now means \w+ of .*{file}, not the optimizer"):
        cls = registry.register_spec(path)
    assert registry.get(Path(file).stem) is cls


def test_the_warning_names_the_line_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "_registry", OptimizerRegistry())
    (tmp_path / "lion.opt").write_text(HALVING)
    with pytest.warns(UserWarning) as caught:
        optimizer.register_spec(tmp_path / "lion.opt")
    assert caught[0].filename == __file__


def test_other_specs_register_without_a_warning(tmp_path: Path) -> None:
    registry = OptimizerRegistry()
    (tmp_path / "lion.opt").write_text(specfiles.spec_path("lion").read_text())
    with warnings.catch_warnings(action="error"):
        for spec in (HALVING, HALVING, "lion", tmp_path / "lion.opt"):
            registry.register_spec(spec)
        assert registry.get("ccsgd") is registry.get("sgd")


def test_a_hyper_parameter_that_vanishes_is_named_at_the_line_of_the_caller() -> None:
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize()
    with autograd.record():
        loss = net(nd.ones((1, 2)))
    loss.backward()
    with pytest.warns(UserWarning, match="Adam: 'epsilon' is 1e-41") as caught:
        gluon.Trainer(net.collect_params(), "adam", {"epsilon": 1e-41}).step(1)
    assert {x.filename for x in caught} == {__file__}


def test_notebooks_show_equations_of_classes_and_of_optimizers() -> None:
    of_class = mx.optimizer.SGD._repr_mimebundle_
    assert isinstance(of_class, types.MethodType) and r"\text{if heavy}" in of_class()["text/latex"]
    optimizer = mx.optimizer.SGD(momentum=0.5)
    shown = optimizer._repr_mimebundle_(include=None, exclude=None)
    assert "heavy" not in shown["text/latex"] and r"\mathrm{mom}_t &=" in shown["text/latex"]
    optimizer.momentum = 0
    shown = optimizer._repr_mimebundle_()
    assert "mom" not in shown["text/latex"] and "<code>momentum</code>" in shown["text/html"]
