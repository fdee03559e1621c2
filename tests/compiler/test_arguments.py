"""Hyper-parameters: what may be given, when, and what the error says; and what a warm step costs Python."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import BoundStep
from optgen.backends import target

UNREAD = optgen.parse("""\
optimizer Plain "reads neither wd nor clip_gradient"
param lr = 0.1
param n : int = 5
update:
  w' = w - lr*n*grad
""")
ORDERED = optgen.parse("""\
optimizer Ordered "a flag over two parameters, and a requirement"
param lr = 1
param a  = 3
param b  = 1
param p  = none
flag down = a > b
flag has  = p set
require a < 10 or has "a is less than 10, or p is set"
update:
  w' = w - lr*g   if down
  w' = w + lr*g   otherwise
""")


def bound(rule: optgen.UpdateRule, n: int = 2) -> tuple[list[np.ndarray], BoundStep]:
    w = [np.zeros(3, rule.dtype) for _ in range(n)]
    return w, rule.bind(w, [np.ones(3, rule.dtype) for _ in range(n)], rule.init(w))


def load(spec: Any = "adam", **values: Any) -> Any:
    return optgen.load(spec, **values)


BAD_AT_LOAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown name": ({"bata1": 0.9}, TypeError, "no argument 'bata1'; did you mean 'beta1'"),
    "near learning_rate": ({"learning_rat": 1}, TypeError, "did you mean 'learning_rate'"),
    "nothing near": ({"zz": 1}, TypeError, "it has lr, beta1"),
    "interval": ({"beta1": 1.0}, ValueError, r"'beta1' must be in \[0, 1\), not 1.0"),
    "negative clip": ({"clip_gradient": -1}, ValueError, r"'clip_gradient' must be in"),
    "None": ({"lr": None}, ValueError, "'lr' must be a number, not None"),
    "NaN": ({"lr": math.nan}, ValueError, "'lr' must be a number, not NaN"),
    "text": ({"lr": "0.1"}, TypeError, "'lr' must be a number, not '0.1'"),
    "list": ({"lr": [0.1]}, TypeError, "'lr' must be a number"),
    "complex": ({"lr": 1j}, TypeError, "'lr' must be a number"),
    "too large": ({"lr": 10**400}, ValueError, "'lr' is too large"),
    "twice": ({"lr": 0.1, "learning_rate": 0.2}, TypeError, "'lr' and 'learning_rate' are one argument"),
    "flag value": ({"amsgrad": "yes"}, ValueError, "'amsgrad' must be True or False"),
    "no whole number": ({"spec": UNREAD, "n": 1.5}, ValueError, "'n' must be a whole number"),
    "infinite integer": ({"spec": UNREAD, "n": math.inf}, ValueError, "'n' must be a whole number"),
    "derived flag": ({"spec": "sgd", "heavy": True}, TypeError, "'heavy' follows from other arguments"),
    "unread wd": ({"spec": UNREAD, "wd": 0.1}, ValueError, "does not use 'wd'"),
    "unread clip": ({"spec": UNREAD, "clip_gradient": 0.1}, ValueError, "does not use 'clip_gradient'"),
    "require": ({"spec": ORDERED, "a": 11}, ValueError, "a is less than 10, or p is set"),
    "dtype": ({"dtype": "int8"}, ValueError, "dtype must be one of float32, float64, float16, bfloat16, not 'int8'"),
    "master": ({"master": True}, ValueError, "master weights are for float16 and bfloat16 parameters"),
    "storage": ({"storage": "bfloat"}, ValueError, "cannot be stored as 'bfloat'; did you mean 'bfloat16'"),
    "8-bit doubles": ({"dtype": "float64", "storage": "int8_linear"}, ValueError, "cannot be .*; it can be float64"),
    "state": ({"storage": {"v_mx": "float32"}}, TypeError, "no elementwise state 'v_mx'; did you mean 'v_max'"),
    "storage of one": ({"storage": {"v": "int4"}}, ValueError, "cannot be stored as 'int4'"),
}


@pytest.mark.parametrize("values, error, text", BAD_AT_LOAD.values(), ids=BAD_AT_LOAD)
def test_bad_at_load(values: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        load(**values)


def test_float16_needs_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    old = target.CpuTarget("x86_64-unknown-linux-gnu", "x86-64", "+sse2,-f16c")
    monkeypatch.setattr(target, "host", lambda: old)
    for values in ({"dtype": "float16"}, {"storage": {"m": "float16"}}):
        with pytest.raises(ValueError, match="float16 needs a CPU with the F16C instructions"):
            load(**values)


def test_spec_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError, match="did you mean 'adam'"):
        optgen.load("adamm")
    with pytest.raises(FileNotFoundError):
        optgen.load("no/such/file.opt")


@pytest.mark.parametrize("given, kind", [(None, "NoneType"), (b"adam", "bytes; decode it first"), (7, "int")])
def test_specs_that_are_no_text(given: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"^expected the text of a spec, not {kind}$"):
        optgen.parse(given)
    with pytest.raises(
        TypeError, match=rf"^expected the name of a spec, a path, or what parse\(\) returns, not {kind}$"
    ):
        optgen.load(given)


def test_arrays_are_no_flags() -> None:
    for array in (np.array([True, False]), np.ones((2, 2))):
        with pytest.raises(ValueError, match=r"^Adam: 'amsgrad' must be True or False, not array\("):
            optgen.load("adam", amsgrad=array)
    with pytest.raises(ValueError, match=r"^LBSGD: 'warmup_strategy' must be one of .*, not array\("):
        optgen.load("lbsgd", warmup_strategy=np.array(["linear", "sqrt"]))
    assert optgen.load("adam", amsgrad=np.bool_(True)).flags["amsgrad"] is True


def test_good_at_load() -> None:
    assert load("rmsprop", rho=0.5).values["gamma1"] == 0.5
    assert load("sgd", clip_gradient=0).values["clip_gradient"] is None
    assert load("sgd", learning_rate=np.float32(0.5)).values["lr"] == 0.5
    assert load("sgd", dtype=np.dtype("float64")).dtype == "float64"
    assert load("sgd", wd=0, rescale_grad=2).flags == {"heavy": False}
    assert load(UNREAD, wd=0.0, clip_gradient=None, rescale_grad=3.0).values["wd"] == 0
    assert load(ORDERED, a=11, p=1).flags == {"down": True, "has": True}


BAD_AT_STEP: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    **{k: BAD_AT_LOAD[k] for k in ("unknown name", "interval", "None", "NaN", "text", "complex", "too large")},
    "twice": ({"lr": 0.1, "learning_rate": 0.2}, TypeError, "'lr' is given twice, once as 'learning_rate'"),
    "flag": ({"amsgrad": True}, TypeError, "'amsgrad' chooses the code: give it when the rule is loaded"),
    "too few": ({"lr": [0.1]}, ValueError, "'lr' has 1 value for 2 parameters"),
    "too many": ({"lr": np.ones(3)}, ValueError, "'lr' has 3 values for 2 parameters"),
    "matrix": ({"lr": np.ones((2, 2))}, TypeError, "'lr' must be a number"),
    "one of several": ({"beta1": (0.5, 1.5)}, ValueError, "'beta1' must be in"),
    "NaN among several": ({"lr": [0.1, math.nan]}, ValueError, "not NaN"),
}


@pytest.mark.parametrize("values, error, text", BAD_AT_STEP.values(), ids=BAD_AT_STEP)
def test_bad_at_step_changes_nothing(values: dict[str, Any], error: type[Exception], text: str) -> None:
    w, step = bound(load("adam", lr=0.5))
    with pytest.raises(error, match=text):
        step(wd=3.0, **values)
    assert step.state.t.tolist() == [0, 0] and not w[0].any()
    v, fresh = bound(load("adam", lr=0.5))
    step()
    fresh()
    assert np.array_equal(w, v)


def test_unread_at_step() -> None:
    _, step = bound(load(UNREAD))
    step(wd=0.0, rescale_grad=0.5, clip_gradient=None)
    for name in ("wd", "clip_gradient"):
        for value in (0.1, [0.0, 0.1]):
            with pytest.raises(ValueError, match=f"does not use '{name}'"):
                step(**{name: value})


def test_values_stay_until_changed() -> None:
    w, step = bound(load("sgd", lr=1.0))
    step()
    step(lr=2.0)
    step()
    assert np.all(w[0] == -5)
    step(lr=[1.0, 10.0])
    step()
    assert np.all(w[0] == -7) and np.all(w[1] == -25)
    tenth = 0.1
    step(lr=tenth)
    step(learning_rate=4.0)
    before = w[0].copy()
    step(lr=tenth)  # the same object as two steps ago
    assert np.all(w[0] == before - np.float32(0.1))


def test_a_list_may_change_in_place() -> None:
    w, step = bound(load("sgd"))
    for rates in ([1.0, 2.0], np.array([1.0, 2.0])):
        w[0][:] = w[1][:] = 0
        step(lr=rates)
        rates[1] = 5.0
        step(lr=rates)
        assert np.all(w[0] == -2) and np.all(w[1] == -7)
    scalar = np.array(1.0)
    step(lr=scalar)
    assert np.all(w[0] == -3)


def test_derived_flags_are_fixed() -> None:
    _, step = bound(load("sgd", momentum=0.9))
    step(momentum=0.5)
    for value in (0, 0.0, [0.5, 0.0]):
        with pytest.raises(ValueError, match=r"momentum=0\.0 would change the flag 'heavy' from True to False"):
            step(momentum=value)
    _, step = bound(load(ORDERED))
    step(a=2.0)
    with pytest.raises(ValueError, match=r"b=2\.5 would change the flag 'down'"):
        step(b=2.5)  # a is 2 by now
    step(a=4.0, b=2.5)
    with pytest.raises(ValueError, match="p=1"):
        step(p=1.0)
    with pytest.raises(ValueError, match="a is less than 10"):
        step(a=12.0)


def test_a_warm_step_allocates_nothing() -> None:
    _, step = bound(load("adam"))
    rates = [0.1 + i / 1000 for i in range(1000)]

    def grown(*, named: bool) -> tuple[int, int]:
        """Bytes more after a thousand steps, and the most there were at any time."""
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for rate in rates:
            if named:
                step(lr=rate, wd=0.01)
            else:
                step()
        after, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return after - before, peak - before

    for named in (False, True):
        grown(named=named)
    left, peak = grown(named=False)
    assert left <= 64 and peak <= 256
    left, peak = grown(named=True)
    assert left <= 1024 and peak <= 8192


@pytest.mark.parametrize("condition", ["p > -1", "-p > -1", "2*p + 1 > -1", "a < p/2", "p - p == 0"])
def test_a_comparison_with_what_is_computed_from_an_unset_param_is_false(condition: str) -> None:
    text = f"optimizer X\nparam a = 1\nparam p = none\nflag f = {condition}\nupdate:\n"
    spec = optgen.parse(text + "  w' = w - a*g if f\n  w' = w otherwise\n")
    assert optgen.load(spec).flags["f"] is False
    assert optgen.load(spec, p=0.0).flags["f"] is (condition != "a < p/2")
