"""Specs, rules, states and steps show themselves: a line in a terminal, equations or a table in a notebook."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from html import escape
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import optgen
from optgen import specfiles

MATHML = "{http://www.w3.org/1998/Math/MathML}"
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
    rule = optgen.load(SPEC, heavy=True, lr=0.25)
    assert repr(rule) == "<optgen Heavy, float32, lr=0.25, heavy=True>"
    shown = rule._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/latex"] == (
        "$$\n\\begin{aligned}\n  m_t &= \\beta \\, m_{t-1} + h_t \\, g_t \\\\\n"
        "  w_t &= w_{t-1} - \\mathrm{lr} \\, m_t\n\\end{aligned}\n$$"
    )
    tree = ElementTree.fromstring(shown["text/html"])
    rows = [["".join(cell.itertext()) for cell in row] for row in tree.iterfind("table/tr")]
    assert rows == [
        ["", "argument", "value", ""],
        ["", "lr", "0.25", "learning rate"],
        ["β", "beta", "0.9", ""],
        ["", "heavy", "True", ""],
    ]
    assert tree.findtext("p/code") == repr(rule) and len(list(tree.iter(f"{MATHML}mtable"))) == 1


def test_a_spec_shows_the_cases_of_all_its_flags_in_a_notebook() -> None:
    shown = SPEC._repr_mimebundle_()
    assert r"w_t &= \begin{cases} w_{t-1} - \mathrm{lr} \, m_t & \text{if heavy}" in shown["text/latex"]
    assert "<b>Heavy</b>: momentum, or none" in shown["text/html"] and "<td>False, True</td>" in shown["text/html"]


def test_what_differs_between_parameters_is_listed_and_what_follows_from_values_is_known() -> None:
    spec = optgen.parse("""\
optimizer Each
param mu per param = 0.9
param nu = 0.5
flag both = nu > 0 and nu < 1
update:
  w' = w - mu*nu*g   if both
  w' = w - g         otherwise
""")
    shown = optgen.load(spec, mu=[0.1, 0.2, 0.1], clip_gradient=3)._repr_mimebundle_()
    assert "<td>0.1, 0.2</td>" in shown["text/html"] and "cases" not in shown["text/latex"]
    assert r"g_t &= \operatorname{clip}(\mathrm{grad}_t, \pm \mathrm{clip\_gradient})" in shown["text/latex"]


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
    shown, of_rule = step._repr_mimebundle_(), step.rule._repr_mimebundle_()
    assert escape(repr(step)) in shown["text/html"] and shown["text/latex"] == of_rule["text/latex"]


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
