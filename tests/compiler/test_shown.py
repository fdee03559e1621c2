"""Specs, rules, states and steps show themselves: a line in a terminal, equations or a table in a notebook."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles

SPEC = optgen.parse("""\
optimizer Heavy "momentum, or none"
param lr   = 0.1
param beta = 0.9
flag  heavy = false
state m = 0   if heavy
input h
update:
  m' = beta*m + h*g   if heavy
  w' = w - lr*m'      if heavy
  w' = w - lr*g       otherwise
""")


def tensors(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.ones(shape, np.float32) for shape in shapes]


def test_a_spec_is_a_line_of_what_it_declares() -> None:
    assert repr(SPEC) == "<optgen spec Heavy: params lr, beta; flags heavy; states m; inputs h>"
    assert repr(optgen.parse("optimizer Plain\nupdate:\n  w' = w - lr*g\n")) == "<optgen spec Plain>"


@pytest.mark.parametrize("name", specfiles.all_available())
def test_no_spec_shows_spans(name: str) -> None:
    spec = optgen.load(name).spec
    assert "Span" not in repr(spec) and "\n" not in repr(spec) and len(repr(spec)) < 400


def test_a_rule_is_a_line_and_in_a_notebook_its_equations_too() -> None:
    rule = optgen.load(SPEC, heavy=True)
    assert repr(rule) == "<optgen Heavy, float32, heavy=True>"
    line, blank, equations = rule._repr_markdown_().split("\n", 2)
    assert (line, blank) == (f"`{rule!r}`", "")
    assert equations == SPEC._repr_latex_() and r"w_t &= \begin{cases} w_{t-1} - \mathrm{lr} \, m_t" in equations


def test_a_state_is_a_line_and_in_a_notebook_a_table() -> None:
    state = optgen.load("adam", storage={"v": "int8_dynamic"}).init(tensors((256, 64), (64,)))
    assert repr(state) == "<optgen state: m (float32), v (uint8, float32); 2 parameters, t = 0>"
    assert state._repr_markdown_().splitlines() == [
        f"`{state!r}`",
        "",
        "| state | dtype | arrays | elements |",
        "|---|---|--:|--:|",
        "| `m` | float32 | 2 | 16,448 |",
        "| `v` | uint8, float32 | 2 | 16,448 |",
        "| `v.scale` | float32 | 1 | 64 |",
    ]
    state.t[1] = 5
    assert repr(state).endswith("; 2 parameters, t = 0 to 5>")


def test_states_of_few_arrays() -> None:
    assert repr(optgen.load("sgd").init(tensors((3,)))) == "<optgen state: no arrays; 1 parameter, t = 0>"
    assert repr(optgen.load("sgd").init([])) == "<optgen state: no arrays; 0 parameters, t = 0>"
    shared = optgen.load("prodigy").init(tensors((3,), (4,)))
    assert "| `d` | float64 | 1 | 1 |" in shared._repr_markdown_()


def test_a_state_of_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    state = optgen.State({"m": [torch.zeros(3)]}, np.zeros(1, np.int64))
    assert repr(state) == "<optgen state: m (float32); 1 parameter, t = 0>"


def test_a_step_is_a_line_and_in_a_notebook_the_equations_too() -> None:
    step = optgen.load("lion").bind(tensors((256, 64), (64,)), tensors((256, 64), (64,)))
    step()
    assert repr(step) == "<optgen step of Lion, float32: 16,448 elements in 2 tensors, t = 1>"
    assert step._repr_markdown_() == f"`{step!r}`\n\n{step.rule.spec._repr_latex_()}"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda f: f.__name__)
def test_a_step_says_what_to_copy_instead(duplicate: Callable[[Any], object]) -> None:
    params, grads = tensors((3,)), tensors((3,))
    step = optgen.load("lion").bind(params, grads)
    with pytest.raises(TypeError, match=r"^<optgen Lion, float32>: a step cannot be copied or pickled, .*rule\.bind\("):
        duplicate(step)
    # What it says works.
    again = step.rule.bind(copy.deepcopy(params), grads, copy.deepcopy(step.state))
    step(), again()
    assert again.state.t == step.state.t == 1


def test_a_rule_shows_the_values_that_were_chosen() -> None:
    assert repr(optgen.load("lion", lr=3, beta1=0.5)) == "<optgen Lion, float32, lr=3.0, beta1=0.5>"
    assert repr(optgen.load("lion", lr=0.0001)) == "<optgen Lion, float32>"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rule: pickle.loads(pickle.dumps(rule))])
def test_a_rule_that_was_bound_can_be_copied(copied: Callable[[optgen.UpdateRule], optgen.UpdateRule]) -> None:
    rule = optgen.load("lion", lr=0.5)
    weights = [tensors((3,)), tensors((3,))]
    rule.bind(weights[0], tensors((3,)))()
    other = copied(rule)
    other.bind(weights[1], tensors((3,)))()
    assert repr(other) == repr(rule)
    np.testing.assert_array_equal(weights[1][0], weights[0][0])
