"""Params with a value for each parameter: in sums over all of them, in starts, in `eval:`, and beside products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import optgen
from tests.compiler.harness import (
    Array,
    Shape,
    assert_same,
    copies,
    copy_state,
    interpret_eval,
    interpret_step,
    numbers,
    same_bits,
)
from tests.cuda.emulation import GpuArray, emulated

SHAPES = ((3,), (4, 70), (), (0, 2), (4099,))
ETAS = [0.25, 3.0, 1.0, 7.0, 1e-3]
OTHERS = [1.0, 0.0, 2.5, 1.0, 40.0]
JOINED = optgen.parse("""\
optimizer Joined "a rate for each parameter, in numbers on the host, of all parameters and of one"
param lr              = 0.1
param eta   per param = 2    in [0, inf)  "factor of the rate"  alias trust
param power per param = 0.5  in [0, 1]

state m         = 0
state k: host   = eta
state r: row    = eta*power
state n: shared = 0

update:
  m' = power*m + eta*g
  q  = sum(m'^2, over params)
  n' = n + mean(eta*lr, over params) + q/(1 + q)
  k' = 0.5*k + eta^power
  r' = max(m', per row) + r*power
  w' = w - lr*eta*m'/(1 + sqrt(q) + k') - 0.01*where(eta > 1, r', 0.5*r')*n'

eval:
  w' = w - eta*m - power*n
""")
STAGED = optgen.parse("""\
optimizer Staged "a product, and numbers of each parameter before and after it, in a call and of turns"
param eta per param = 1
param n: int        = 2 in [0, inf)
param p: int        = 1 in [1, inf)

state L: rows x rows = 0

update:
  a  = eta*g
  b  = a@a^T@g
  repeat n:
    b' = eta*b + a@a^T@b
  end
  L' = L + inverse_root(a@a^T + identity(rows), 1 + eta)   every p
  w' = w - lr*eta*b' - L'@a                                every p
  w' = w - lr*eta*b'                                       otherwise
""")
HOW: dict[str, dict[str, Any]] = {
    "float32": {},
    "float64": {"dtype": "float64"},
    "codes": {"storage": "int8_dynamic"},
    "master": {"dtype": "bfloat16", "master": True},
}


def tensors(dtype: str = "float32", shapes: Sequence[Shape] = SHAPES) -> tuple[list[Array], list[Array]]:
    rng = np.random.default_rng(4)
    w, g = ([numbers(rng, s, dtype, special=False) for s in shapes] for _ in range(2))
    return w, g


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_the_bits_of_the_interpreter(how: dict[str, Any]) -> None:
    rule = optgen.load(JOINED, eta=ETAS, **how)
    params, grads = tensors(how.get("dtype", "float32"))
    step = rule.bind(params, grads)
    expected, state = copies(params), copy_state(step.state)
    own: dict[str, Any] = {**rule.values, "eta": ETAS}
    for new in ({}, {"trust": np.array(OTHERS), "lr": [0.1, 0.2, 0.1, 0.1, 0.3]}, {"power": [0.5, 1, 0, 0.25, 0.75]}):
        step(**new)
        own |= {"eta" if name == "trust" else name: [float(v) for v in x] for name, x in new.items()}
        interpret_step(rule, expected, grads, state, own)
        assert_same("per param", params, step.state, expected, state)
    assert all(map(same_bits, step.evaluate(), interpret_eval(rule, expected, state, values=own)))
    step(eta=3)
    interpret_step(rule, expected, grads, state, own | {"eta": 3.0})
    assert_same("a number again", params, step.state, expected, state)


@pytest.mark.parametrize("capturable", [False, True])
def test_a_gpu_comes_to_the_bits_of_a_cpu(capturable: bool) -> None:
    with emulated() as (gpu,):
        arrays = tensors(shapes=[*SHAPES[:-1], (131,)])  # an emulated GPU is slow with thousands of rows
        params, grads = ([GpuArray(x, gpu) for x in own] for own in arrays)
        host, of_host = arrays
        steps = [
            optgen.load(JOINED, eta=ETAS, target="cuda").bind(params, grads, capturable=capturable),
            optgen.load(JOINED, eta=ETAS).bind(host, of_host),
        ]
        for new in ({}, {"eta": OTHERS}):
            for step in steps:
                step(**new)
            assert all(same_bits(a.get(), b) for a, b in zip(params, host, strict=True))


def test_a_rule_evaluates_with_the_list_it_was_loaded_with() -> None:
    params, grads = tensors()
    rule = optgen.load(JOINED, eta=ETAS)
    step = rule.bind(params, grads)
    step()
    assert all(map(same_bits, rule.evaluate(params, step.state), step.evaluate()))
    with pytest.raises(ValueError, match=r"'eta' has 5 values for 4 parameters"):
        rule.evaluate(params[:4], step.state)


def test_products() -> None:
    """Together, in one run for those of one shape, as each alone."""
    rng = np.random.default_rng(0)
    w, g = ([rng.standard_normal((5, 7)).astype("float32") for _ in range(3)] for _ in range(2))
    alone = copies(w)
    each: dict[str, list[float]] = {"eta": [1, 0, 3], "n": [0, 3, 1], "p": [1, 2, 2], "lr": [0.1, 0.2, 0.1]}
    step = optgen.load(STAGED, matmul="deterministic").bind(w, g)
    for _ in range(3):
        step(**each)
    for i, (x, y, together) in enumerate(zip(alone, g, w, strict=True)):
        step = optgen.load(STAGED, matmul="deterministic").bind([x], [y])
        for _ in range(3):
            step(**{name: values[i] for name, values in each.items()})
        assert same_bits(x, together)


def test_what_is_refused() -> None:
    params, grads = tensors()
    with pytest.raises(ValueError, match=r"Joined: 'eta' must be in \[0, inf\), not -1"):
        optgen.load(JOINED, eta=[1, -1])
    with pytest.raises(TypeError, match=r"Joined: 'eta' must be a number, not 'x'"):
        optgen.load(JOINED, eta=[1, "x"])
    with pytest.raises(TypeError, match=r"Adam: 'beta1' must be a number, not \[0.9, 0.8\]"):
        optgen.load("adam", beta1=[0.9, 0.8])
    rule = optgen.load(JOINED, eta=[1, 2])
    assert repr(rule) == "<optgen Joined, float32, eta=[1.0, 2.0]>"
    with pytest.raises(ValueError, match=r"Joined: 'eta' has 2 values for 5 parameters"):
        rule.bind(params, grads)
    step = optgen.load(JOINED).bind(params, grads)
    with pytest.raises(ValueError, match=r"Joined: 'eta' has 1 value for 5 parameters"):
        step(eta=[1])
    with pytest.raises(ValueError, match=r"'rescale_grad' must be one number for them all"):
        step(rescale_grad=ETAS)
