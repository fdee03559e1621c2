"""eval() and train(): parameters hold the weights to evaluate with, and then those of training, to the bit."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import optgen
import optgen.torch
from optgen import api, specfiles
from optgen.torch.base import SpecOptimizer
from optgen.torch.checksums import checksum
from tests.torch.params import numbers, params_of, step

Tensor = torch.Tensor
Formula = Callable[[Tensor, dict[str, Tensor], dict[str, Any]], Tensor]


def behind(beta: str) -> Formula:
    """The average x of schedule-free methods, of w = (1 - beta)*z + beta*x."""

    def formula(w: Tensor, s: dict[str, Tensor], group: dict[str, Any]) -> Tensor:
        b = group["betas"][0] if beta == "beta1" else group[beta]
        return (w - (1 - b) * s["z"]) / b

    return formula


EVALUATED: dict[str, Formula] = {
    "adam with ema": lambda w, s, group: s["average"],
    "adam with schedule_free": behind("momentum"),
    "asgd": lambda w, s, group: s["ax"],
    "ivon": lambda w, s, group: s["center"],
    "matrix/splus": lambda w, s, group: s["average"] / (1 - group["ema_rate"] ** s["step"].double()),
    "optax/schedule_free_adamw": behind("b1"),
    "optax/schedule_free_sgd": behind("b1"),
    "schedulefree_adamw": behind("beta1"),
    "schedulefree_radam": behind("beta1"),
    "schedulefree_sgd": behind("beta"),
    "torch/asgd": lambda w, s, group: s["ax"],
}
"""What specs evaluate with, by hand."""
OTHERS = {
    "adam with ema": (torch.bfloat16, torch.complex64, torch.float64),
    "ivon": (torch.bfloat16,),
    "torch/asgd": (torch.bfloat16, torch.complex64),
}
"""The dtypes beside float32 that are tried."""
VALUES: dict[str, dict[str, Any]] = {
    "torch/asgd": {"t0": 0.0},
    "asgd": {"t0": 0.0},
    "schedulefree_radam": {"betas": (0.9, 0.9)},
}


def make(name: str, dtype: torch.dtype = torch.float32, **options: Any) -> SpecOptimizer:
    """An optimizer after six steps, of whose parameters one has no gradient; three lie otherwise than in C order."""
    shapes = ((4, 3), (2, 5), (6, 2)) if name == "matrix/splus" else ((4, 3), (5,), (2, 3, 4, 5), (3, 4), (3, 7), ())
    params = [torch.nn.Parameter(numbers(shape, k).to(dtype)) for k, shape in enumerate(shapes)]
    if name != "matrix/splus":
        params[2].data = params[2].data.to(memory_format=torch.channels_last)
        params[3].data = params[3].data.t()
        params[4].data = params[4].data[:, ::2]
    opt = optgen.torch.optimizer(name)(params, **{"lr": 0.05, **VALUES.get(name, {}), **options})
    for k in range(6):
        step_without_one(opt, k)
    return opt


def step_without_one(opt: SpecOptimizer, k: int) -> None:
    """A step in which the second parameter has no gradient."""
    params = params_of(opt)
    for i, p in enumerate(params):
        p.grad = None if i == 1 else torch.empty_like(p).copy_(numbers(p.shape, 10 * k + i)).detach()
    opt.step()


def contents(opt: SpecOptimizer) -> list[Tensor]:
    return [p.detach().clone() for p in params_of(opt)]


def same_bits(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_every_spec_with_an_eval_section_is_here() -> None:
    specs = [name for name in specfiles.all_available() if "\neval:" in api.read(name).text]
    assert sorted(specs) == sorted(name for name in EVALUATED if " with " not in name)


@pytest.mark.parametrize("name", EVALUATED)
def test_weights_are_those_of_the_section_and_come_back(name: str) -> None:
    for dtype in (torch.float32, *OTHERS.get(name, ())):
        opt = make(name, dtype, master=dtype == torch.bfloat16)
        before, group, expected = contents(opt), opt.param_groups[0], []
        for k, w in enumerate(params_of(opt)):
            kept = opt.state[w]
            weight = kept.get("master", w).detach().clone()
            expected.append(weight if k == 1 else EVALUATED[name](weight, kept, group))  # that one was never updated
        with opt.evaluating():
            found = contents(opt)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b.to(dtype), rtol=1e-2 if dtype == torch.bfloat16 else 2e-5, atol=2e-5)
        assert same_bits(contents(opt), before)
        assert found[1].equal(before[1])
        assert any(not a.equal(b) for a, b in zip(found, before, strict=True))


def test_specs_without_a_section_have_one_mode() -> None:
    opt = make("adam")
    before = contents(opt)
    opt.eval()
    assert same_bits(contents(opt), before)
    step_without_one(opt, 3)


OPERATIONS = "step", "eval", "train", "evaluating", "state_dict", "pickle", "deepcopy", "reload"


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), max_size=8), st.sampled_from(["schedulefree_adamw", "adamw with ema"]))
def test_training_is_the_same_with_and_without_evaluation(operations: list[str], name: str) -> None:
    """An optimizer that is evaluated, saved, copied and loaded at any time, beside one that makes the steps alone."""
    opt, twin = make(name), make(name)
    for k, operation in enumerate(operations):
        if operation == "step":
            opt.train()
            step_without_one(opt, k)
            step_without_one(twin, k)
        elif operation == "evaluating":
            was = opt.training_weights
            with opt.evaluating(), opt.evaluating():
                assert opt.training_weights is not None
            assert opt.training_weights is was
        elif operation in ("eval", "train"):
            getattr(opt, operation)()
        elif operation == "pickle":
            opt = pickle.loads(pickle.dumps(opt))
        elif operation == "deepcopy":
            opt = copy.deepcopy(opt)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                saved, other = opt.state_dict(), twin.state_dict()
            assert str(saved["state"]) == str(other["state"])
            if operation == "reload":
                opt.load_state_dict(saved)
                assert opt.training_weights is None
    opt.train()
    assert same_bits(contents(opt), contents(twin))
    step_without_one(opt, 99)
    step_without_one(twin, 99)
    assert same_bits(contents(opt), contents(twin))


def test_an_optimizer_that_was_only_loaded_evaluates() -> None:
    first = make("adam with ema", storage="int8_dynamic")
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    params = [torch.nn.Parameter(p.detach().clone()) for p in params_of(first)]
    second = optgen.torch.optimizer("adam with ema")(params, lr=0.05, storage="int8_dynamic")
    second.load_state_dict(torch.load(file, weights_only=True))
    first.eval()
    second.eval()
    assert same_bits(contents(first), contents(second))


def test_what_is_refused_in_evaluation() -> None:
    opt = make("adam with ema")
    opt.eval()
    before = contents(opt)
    with pytest.raises(RuntimeError, match=r"a step after eval\(\).*call train\(\)"):
        step(opt)
    with pytest.warns(UserWarning, match="save the model after train"):
        opt.state_dict()
    assert same_bits(contents(opt), before)
    phased = optgen.torch.optimizer("adam with ema, sam")([torch.nn.Parameter(torch.ones(3))])
    params_of(phased)[0].grad = torch.ones(3)
    phased.ascend()
    with pytest.raises(RuntimeError, match="the phase 'descend' is due; evaluate between steps"):
        phased.eval()
    p = torch.nn.Parameter(torch.ones(3))
    within = optgen.torch.optimizer("adam with ema")([p], in_backward=True)
    p.square().sum().backward()
    within.eval()
    with pytest.raises(RuntimeError, match=r"a step after eval\(\)"):
        p.square().sum().backward()
    within.train()
    p.grad = None
    p.square().sum().backward()
    assert within.state[p]["step"] == 2


@pytest.mark.parametrize("is_pickled", [False, True])
def test_parameters_that_change_in_evaluation(is_pickled: bool) -> None:
    """What was moved comes back where it is now; what was written stays, through `.data` too, and so does what was
    added."""
    opt = make("adam with ema", torch.float32)
    before, params = contents(opt), params_of(opt)
    opt.eval()
    params[0].data = params[0].data.double()
    with torch.no_grad():
        params[2].fill_(7.0)
    params[3].data = params[3].data.clone()
    params[4].data[1, 2] *= -1
    params[5].data = torch.tensor(2.0)
    written = params[4].detach().clone()
    opt.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    opt = pickle.loads(pickle.dumps(opt)) if is_pickled else opt
    params = params_of(opt)
    opt.train()
    assert params[0].dtype == torch.float64 and params[0].float().equal(before[0])
    assert (params[2] == 7).all() and params[3].equal(before[3])
    assert params[4].equal(written) and params[5] == 2
    step(opt)
    opt.eval()
    params[3].untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match=r"parameter 3 of group 0.* has no memory"):
        opt.train()
    assert opt.training_weights is not None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.integers(1, 3 * 300_000), st.integers(0, 2**31), st.booleans())
def test_checksums_tell_bits_and_places(kind: int, size: int, seed: int, moves: bool) -> None:
    dtype = (torch.float32, torch.bfloat16, torch.float64, torch.complex64, torch.uint8, torch.float16)[kind]
    x = (100 * torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)
    y, k = x.clone(), seed % size
    assert checksum(x) == checksum(y) == checksum(torch.stack([y, y], 1)[:, 1])
    if moves:
        y = y.roll(k)
    else:
        y.view(torch.uint8)[k] ^= 1 << seed % 8
    assert (checksum(x) == checksum(y)) == all(map(torch.equal, (x.view(torch.uint8),), (y.view(torch.uint8),)))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_modes_change_where_autograd_does_not_look(mode: Any) -> None:
    for name in ("adam with ema", "schedulefree_adamw"):
        opt = make(name)
        before = contents(opt)
        with mode():
            opt.eval()
        assert not same_bits(contents(opt), before)
        with mode():
            opt.train()
        assert same_bits(contents(opt), before)
        with mode(), opt.evaluating():
            assert not same_bits(contents(opt), before)
        params_of(opt)[0].square().sum().backward()
        opt.step()
        with mode():
            opt.eval()
        with torch.no_grad():
            params_of(opt)[0].fill_(7.0)
        opt.train()
        assert (params_of(opt)[0] == 7).all()


def test_a_model_that_is_loaded_in_evaluation_goes_on_from_what_was_loaded() -> None:
    net = torch.nn.Linear(3, 2)
    opt = optgen.torch.optimizer("schedulefree_sgd")(net.parameters(), lr=0.1)
    step(opt)
    saved = copy.deepcopy((net.state_dict(), opt.state_dict()))
    step(opt)
    opt.eval()
    net.load_state_dict(saved[0])
    opt.load_state_dict(saved[1])
    assert same_bits(contents(opt), list(saved[0].values()))


def test_sums_in_eval_sections() -> None:
    text = """
optimizer Mean
state a = w
update:
  w' = w - lr*g
  a' = w'
eval:
  w' = a - mean(a, SCOPE)
"""
    rows = optgen.torch.optimizer(optgen.parse(text.replace("SCOPE", "per row")))
    p = torch.nn.Parameter(numbers((2, 3, 4, 5)).to(memory_format=torch.channels_last))
    opt = rows([p])
    step(opt)
    w = p.detach().clone()
    with opt.evaluating():
        torch.testing.assert_close(p.detach(), w - w.flatten(1).mean(1)[:, None, None, None])
    of_all = optgen.torch.optimizer(optgen.parse(text.replace("SCOPE", "over params")))
    params = [torch.nn.Parameter(numbers(4, k)) for k in range(2)]
    both = of_all(params)
    step(both)
    ws = contents(both)
    with both.evaluating():
        torch.testing.assert_close(params[1].detach(), ws[1] - torch.cat(ws).mean())
    apart = of_all([{"params": params[:1]}, {"params": params[1:]}])
    step(apart)
    with pytest.raises(ValueError, match="a sum over all parameters"):
        apart.eval()
    assert apart.training_weights is None
