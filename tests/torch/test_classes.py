"""Classes made of specs: what they are called, take, say and are pickled as."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch
from optgen import specfiles
from optgen.torch import classes, optimizer

ROOT = Path(__file__).parents[2]
OF_TORCH = {name.lower() for name in dir(torch.optim)}
OWN = """optimizer Sign "signs alone"
cite "nobody"
param lr = 0.1
param beta = 0.5 in [0, 1) "decay"
state m = 0 "average"
update:
  m' = beta*m + (1 - beta)*g
  w' = w - lr*(sign(m') + wd*w)
"""


def weights() -> list[Parameter]:
    return [Parameter(torch.arange(12.0).reshape(4, 3)), Parameter(torch.ones(2, 5))]


def step(opt: torch.optim.Optimizer, times: int = 1) -> None:
    """Updates with gradients that only depend on the parameters."""
    for _ in range(times):
        for p in (p for group in opt.param_groups for p in group["params"]):
            p.grad = torch.cos(p.detach() * 3) + 0.1
            opt.state[p] |= {given.name: p.grad.abs() for given in opt.spec.inputs}
        for phase in opt.spec.phases or ("step",):
            getattr(opt, phase)(**dict.fromkeys(opt.spec.given, 0.5))


@pytest.mark.parametrize("name", specfiles.available())
def test_each_spec_is_a_class_that_trains_and_is_pickled(name: str) -> None:
    cls = optimizer(name)
    assert issubclass(cls, torch.optim.Optimizer) and cls is optimizer(name) is optimizer(optgen.load(name).spec)
    if cls.__name__.lower() not in OF_TORCH:
        assert cls is getattr(optgen.torch, cls.__name__)
    assert pickle.loads(pickle.dumps(cls)) is cls is copy.deepcopy(cls)
    params = weights()
    opt = cls(params, seed=3)
    assert all(opt.state[p]["step"] == 0 for p in params), "states stand from the beginning"
    step(opt, 2)
    copied = pickle.loads(pickle.dumps(opt))
    assert type(copied) is cls and copied.seed == 3
    step(opt)
    step(copied)
    for p, q in zip(params, copied.param_groups[0]["params"], strict=True):
        assert torch.equal(p, q) and p.isfinite().all()
        assert opt.state[p]["step"] == copied.state[q]["step"] == 3


def test_the_same_text_is_the_same_class(tmp_path: Path) -> None:
    path = tmp_path / "mine.opt"
    path.write_text(OWN)
    cls = optimizer(path)
    assert cls is optimizer(str(path)) is optimizer(optgen.parse(OWN))
    assert cls.__name__ == "Sign" and pickle.loads(pickle.dumps(cls)) is cls
    assert optimizer(ROOT / "specs" / "lion.opt") is optgen.torch.Lion
    params = weights()
    opt = cls(params, lr=0.5)
    step(opt, 2)
    assert repr(opt).startswith("Sign (\nParameter Group 0\n    beta: 0.5\n") and "lr: 0.5" in repr(opt)


class Derived(optgen.torch.Lion):  # type: ignore[name-defined, misc]
    """A subclass of a user's, found by its own name."""


def test_a_derived_class_is_pickled_by_its_own_name() -> None:
    copied = pickle.loads(pickle.dumps(Derived(weights())))
    assert type(copied).__qualname__ == "Derived" and isinstance(copied, optgen.torch.Lion)


def test_signature_and_docstring() -> None:
    cls = optgen.torch.Lion
    parameters = inspect.signature(cls).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional[:4] == ["params", "lr", "betas", "weight_decay"]
    assert parameters["betas"].default == (0.9, 0.99) and parameters["seed"].kind is inspect.Parameter.KEYWORD_ONLY
    doc = inspect.getdoc(cls) or ""
    assert "mₜ = β₂·mₜ₋₁ + (1 − β₂)·gₜ" in doc
    for name in parameters:
        assert f"\n    {name}: " in doc
    assert optgen.torch.Lion(weights(), 0.5, (0.1, 0.2), 0.3).defaults["betas"] == (0.1, 0.2)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"momentum": 0.9}, TypeError, "Lion: no equation reads an argument 'momentum'; it has lr, betas"),
        ({"wd": 0.1}, TypeError, "it is 'weight_decay' here"),
        ({"beta1": 0.1}, TypeError, "it is 'betas' here"),
        ({"weigth_decay": 0.1}, TypeError, "did you mean 'weight_decay'"),
        ({"lr": -1.0}, ValueError, "'lr' must not be negative"),
        ({"lr": "fast"}, TypeError, "'lr' must be a number, not 'fast'"),
        ({"lr": torch.ones(2)}, ValueError, r"lr: expected a number or a tensor of one element, not .*\(2,\)"),
        ({"lr": float("nan")}, ValueError, "'lr' must be a number, not NaN"),
        ({"betas": (0.9, 1.0)}, ValueError, r"'betas\[1\]' must be in \[0, 1\), not 1.0"),
        ({"betas": 0.9}, TypeError, "betas: expected 2 numbers, not 0.9"),
        ({"betas": (0.9,)}, ValueError, r"betas: expected 2 numbers \(beta1, beta2\), not 1"),
        ({"weight_decay": -0.1}, ValueError, "'weight_decay' must be in"),
        ({"maximize": "no"}, ValueError, "maximize: True or False, not 'no'"),
        ({"master": 2}, ValueError, "master: True or False, not 2"),
        ({"storage": "int7"}, ValueError, "cannot be stored as 'int7'; it can be float32"),
        ({"storage": {"v": "float16"}}, TypeError, "has no elementwise state 'v'; it has m"),
        ({"storage": 8}, TypeError, "storage: a name for all states, or a dict with one for each, not 8"),
        ({"seed": -1}, ValueError, "seed: a whole number from 0 to 2"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optgen.torch.Lion(weights(), **kwargs)


def test_unknown_names_are_named() -> None:
    with pytest.raises(AttributeError, match="no optimizer 'Lyon'; did you mean 'Lion'"):
        _ = optgen.torch.Lyon
    with pytest.raises(FileNotFoundError):
        optimizer("lyon")
    with pytest.raises(ValueError, match=r"this is the text of a spec: pass optgen.parse\(text\)"):
        optimizer(OWN)


def test_dir_has_each_class_once() -> None:
    names = dir(optgen.torch)
    assert {"Lion", "Prodigy", "RMSprop", "SpecOptimizer", "optimizer", "replace"} <= set(names)
    assert len({name.lower() for name in names}) == len(names)
    assert all(
        isinstance(getattr(optgen.torch, name), type) for name in set(names) - {"convert", "optimizer", "replace"}
    )
    assert optgen.torch.RMSProp is optgen.torch.RMSprop
    assert issubclass(optgen.torch.Lion, optgen.torch.SpecOptimizer)


def test_docstrings_have_each_argument_once() -> None:
    for name in ("Lion", "AdamP", "NorMuon"):
        given = getattr(optgen.torch, name)
        lines = [line.strip().partition(":")[0] for line in (given.__doc__ or "").partition("Args:")[2].splitlines()]
        assert sorted(filter(None, lines)) == sorted(set(inspect.signature(given).parameters) - {"self"})


def test_names_of_pytorchs_optimizers_are_known_in_any_case() -> None:
    assert [classes._source_of(own, "mine") for own in ("LbFgS", "ADAM", "Other")] == [None, "torch/adam", "mine"]


def test_docstrings_of_params_without_words() -> None:
    doc = optimizer(optgen.parse(OWN.replace(' "decay"', ""))).__doc__ or ""
    assert "\n    beta: in [0, 1)\n" in doc


def python(code: str) -> str:
    """What a new Python prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_optgen_imports_torch_only_when_asked_for() -> None:
    code = "import sys, optgen; optgen.load('lion'); print('torch' in sys.modules)"
    assert python(code) == "False\n"


@pytest.mark.parametrize(("found", "message"), [("2.3.1+cpu", "this is 2.3.1+cpu"), (None, "not installed")])
def test_torch_that_is_missing_or_too_old_names_the_extra(found: str | None, message: str) -> None:
    code = f"""
import importlib.metadata as metadata
def version(name):
    if {found!r} is None: raise metadata.PackageNotFoundError(name)
    return {found!r}
metadata.version = version
try:
    import optgen.torch
except ImportError as error:
    print(error)
"""
    said = python(code)
    assert message in said and "pip install 'torch" in said


def test_notebooks_show_equations_of_classes_and_of_optimizers() -> None:
    """IPython takes a method of a class for a class, if it is bound to it, and one of an object for an object."""
    method = optgen.torch.Adam._repr_mimebundle_
    assert isinstance(method, types.MethodType) and r"\text{if amsgrad}" in method()["text/latex"]
    net = torch.nn.Linear(3, 2)
    groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias], "amsgrad": False}]
    optimizer = optgen.torch.Adam(groups, lr=torch.tensor(0.25), amsgrad=False)
    shown = optimizer._repr_mimebundle_(include=None, exclude=None)
    assert "amsgrad" not in shown["text/latex"] and "rescale" not in shown["text/latex"]
    assert "<td>0.5, 0.25</td>" in shown["text/html"] and "<td>False</td>" in shown["text/html"]
    optimizer.param_groups[1]["amsgrad"] = True
    assert r"\text{if amsgrad}" in optimizer._repr_mimebundle_()["text/latex"]
    assert optgen.torch.SpecOptimizer._repr_mimebundle_() == {}  # of no spec


def test_a_name_of_another_library_is_told() -> None:
    with pytest.raises(AttributeError, match=r"a name of bitsandbytes, .*: write optgen\.load"):
        optgen.torch.AdamW8bit  # noqa: B018
    with pytest.raises(FileNotFoundError, match=r"a name of HeavyBall: write optgen\.load"):
        optgen.torch.optimizer("PaLMSOAP")
