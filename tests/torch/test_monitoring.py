"""monitor(): numbers of each n-th step, which changes no bit of it and reads no memory more."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import optgen
import optgen.torch
from optgen import api, pipeline, specfiles
from optgen.diagnostics import SpecErrors
from optgen.torch.base import SpecOptimizer
from tests.torch.params import numbers, params_of

SHAPES = (64, 80), (130,), (3, 4), ()
CASES: dict[str, tuple[str, torch.dtype, dict[str, Any]]] = {
    "elementwise": ("adam", torch.float32, {}),
    "codes": ("adamw", torch.float32, {"storage": "int8_dynamic"}),
    "master": ("lion", torch.bfloat16, {"master": True, "storage": "bfloat16_stochastic"}),
    "two sweeps": ("lamb", torch.float32, {"clip_norm": 0.5, "donate_grads": True}),
    "matrices": ("muon_adamw", torch.float32, {}),
    "shared values": ("prodigy", torch.float32, {}),
    "draws": ("sgld", torch.float64, {"seed": 5}),
    "of PyTorch": ("torch/nadam", torch.float32, {}),
    "without counts": ("torch/sgd", torch.float32, {"momentum": 0.9}),
    "counts of Python": ("torch/adamax", torch.float32, {}),
    "phases": ("adamw with sam", torch.float32, {}),
    "rows": ("adafactor", torch.float32, {}),
}


def make(case: str) -> SpecOptimizer:
    name, dtype, options = CASES[case]
    params = [(f"net.{k}", torch.nn.Parameter(numbers(shape, k).to(dtype))) for k, shape in enumerate(SHAPES)]
    return optgen.torch.optimizer(name)([{"params": params[:2]}, {"params": params[2:]}], **options)


def give(opt: SpecOptimizer, seed: int, absent: int) -> None:
    for k, p in enumerate(params_of(opt)):
        p.grad = None if k == absent else numbers(p.shape, 100 * seed + k).to(p.dtype)


def step(opt: SpecOptimizer, seed: int, absent: int = -1) -> None:
    calls = iter(range(2))

    def closure() -> float:
        give(opt, 2 * seed + next(calls), absent)
        return 1.0

    if opt.spec.phases:
        opt.step(closure)
    else:
        closure()
        opt.step()


def contents(opt: SpecOptimizer) -> list[Any]:
    """All weights and states, to the bit."""

    def bits(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return x.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()

    return [(bits(p), {key: bits(x) for key, x in opt.state[p].items()}) for p in params_of(opt)]


FEW = ("elementwise", "two sweeps", "matrices", "codes")
"""The cases that each run has; the others are of `make stress`."""


@pytest.mark.parametrize("case", [pytest.param(x, marks=[] if x in FEW else [pytest.mark.stress]) for x in CASES])
def test_numbers_are_those_of_the_step_and_change_no_bit(case: str) -> None:
    """Beside an optimizer that is not monitored, of whose weights and gradients PyTorch computes the numbers."""
    opt, twin = make(case), make(case)
    told: list[tuple[int, Any]] = []
    opt.monitor("norm(grad)", "norm(w' - w)/norm(w)", every=2, to=lambda *found: told.append(found))
    clipped = CASES[case][2].get("clip_norm")
    for k, absent in enumerate((-1, 1, -1, 0)):
        before = [p.detach().double().clone() for p in params_of(twin)]
        masters = [twin.state[p].get("master", p).detach().double().clone() for p in params_of(twin)]
        step(opt, k, absent)
        step(twin, k, absent)
        assert contents(opt) == contents(twin)
        assert len(told) == (k + 1) // 2
        if k % 2 == 0:
            continue
        assert told[-1] == (k + 1, opt.monitored)
        assert opt.monitored.keys() == {f"net.{i}" for i in range(4) if i != absent}
        twin_grads = {i: numbers(p.shape, 100 * (2 * k + bool(opt.spec.phases)) + i) for i, p in enumerate(before)}
        for i, p in enumerate(params_of(twin)):
            if i == absent:
                continue
            found = opt.monitored[f"net.{i}"]
            grad = twin_grads[i].to(p.dtype).double() * (clipped / twin.grad_norm.double() if clipped else 1.0)
            torch.testing.assert_close(found["norm(grad)"], grad.norm().item(), rtol=1e-5, atol=0)
            moved = twin.state[p].get("master", p).detach().double() - masters[i]
            wanted = (moved.norm() / masters[i].norm()).item()
            if not opt.spec.phases:  # whose second phase starts elsewhere
                torch.testing.assert_close(found["norm(w' - w)/norm(w)"], wanted, rtol=1e-3, atol=1e-7)


SPECS = ("adam", "lamb", "torch/adamw", "adafactor", "prodigy", "sgld", "lars", "novograd")


@pytest.mark.parametrize(
    "name", [*SPECS, *(pytest.param(x, marks=pytest.mark.stress) for x in specfiles.all_available() if x not in SPECS)]
)
def test_no_sweep_and_no_byte_more(name: str) -> None:
    spec = pipeline.checked(api.read(name))
    if spec.has_stages or spec.phases or "grad" not in spec.reads:
        pytest.skip("its steps are no kernels of one gradient")
    found = pipeline.monitored(spec.source, ["norm(grad)", "norm(w' - w)/norm(w)", "max(abs(w'))"])
    plain, watched = (optgen.load(x).cost for x in (spec, found.spec))
    assert (plain.sweeps, plain.bytes) == (watched.sweeps, watched.bytes)


@settings(max_examples=5, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 4), st.sampled_from(["", "monitor", "end", "save", "copy"])), max_size=7),
    st.sampled_from(["shared values", "codes", "of PyTorch", "phases"]),
    st.integers(1, 3),
)
def test_at_any_time(plan: list[tuple[int, str]], case: str, every: int) -> None:
    """Monitored, or not any more, saved and copied: training goes on as without."""
    opt, twin = make(case), make(case)
    for k, (absent, action) in enumerate(plan):
        if action == "monitor":
            opt.monitor("norm(grad)", every=every)
        elif action == "end":
            opt.monitor()
        elif action == "save":
            opt.load_state_dict(opt.state_dict())
            twin.load_state_dict(twin.state_dict())
        elif action == "copy":
            opt = copy.deepcopy(opt)  # which nobody monitors
        step(opt, k, absent)
        step(twin, k, absent)
        assert contents(opt) == contents(twin)


@pytest.mark.parametrize("name", ["adam", "muon_adamw", "adamw with sam", "lamb"])
def test_u_is_the_update_where_the_spec_has_no_such_name(name: str) -> None:
    params = [torch.nn.Parameter(numbers((3, 4), k).clone()) for k in range(2)]
    opt = optgen.torch.optimizer(name)(params, lr=0.25)
    opt.monitor("rms(u)/rms(w)", "rms(w' - w)/rms(w)")
    for phase in opt.spec.phases or ("step",):
        for p in params:
            p.grad = torch.cos(p.detach())
        getattr(opt, phase)()
    for found in opt.monitored.values():
        update, moved = found.values()
        assert (update == moved) == (name != "lamb") and moved > 0


def test_names_with_guards_are_told_where_they_exist() -> None:
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    opt = optgen.torch.optimizer("adam")([{"params": params[:1]}, {"params": params[1:], "amsgrad": True}])
    opt.monitor("max(v_max')", "lr", "sum(m')")
    for p in params:
        p.grad = torch.ones(3)
    opt.step()
    assert list(opt.monitored["0.0"]) == ["lr", "sum(m')"]
    assert opt.monitored["1.0"]["max(v_max')"] == pytest.approx(0.001) == opt.state[params[1]]["v_max"].max()


def test_expressions_of_phases_and_of_local_names() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    opt = optgen.torch.optimizer("adamw with sam(rho=0.5)")([p])
    opt.monitor("norm(w' - start')", "norm(grad)")
    for phase in ("ascend", "descend"):
        p.grad = torch.tensor([3.0, 4.0]) * (1 if phase == "ascend" else 2)
        getattr(opt, phase)()
    assert opt.monitored == {"0.0": {"norm(w' - start')": pytest.approx(0.5), "norm(grad)": 10.0}}


class Writer:
    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []

    def add_scalar(self, tag: str, number: float, step: int) -> None:
        self.rows.append((tag, number, step))


def test_writers_and_counts_of_saved_states() -> None:
    writer, opt = Writer(), make("elementwise")
    opt.monitor("norm(grad)", every=2, to=writer)
    for k in range(3):
        step(opt, k)
    assert {row[2] for row in writer.rows} == {2} and writer.rows[0][0] == "norm(grad)/net.0"
    other = make("elementwise")
    other.monitor("norm(grad)", every=2, to=writer)
    other.load_state_dict(opt.state_dict())
    step(other, 3)
    assert {row[2] for row in writer.rows} == {2, 4}
    assert pickle.loads(pickle.dumps(opt)).monitored == {}
    assert all("monitored" not in key for p in params_of(opt) for key in opt.state[p])


def test_what_is_refused() -> None:
    opt = make("elementwise")
    for expressions, options, kind, message in (
        (["norm(q)"], {}, SpecErrors, r"unknown name 'q'\n --> monitor:1:6\n1 \| norm\(q\)\n  \|      \^"),
        (["lr", "g"], {}, SpecErrors, "this is per element, and what is monitored is one number of each parameter"),
        (["norm(g"], {}, SpecErrors, "is never closed"),
        (["norm(g, over params)"], {}, ValueError, "leave 'over params' out"),
        (["trace(g@g^T)"], {}, ValueError, "products of matrices"),
        (["lr\nw"], {}, TypeError, "each a line of text"),
        (["lr"], {"every": 0}, ValueError, "every: a whole number of steps from 1 on, not 0"),
        (["lr"], {"to": 3}, TypeError, "a writer with add_scalar, not 3"),
    ):
        with pytest.raises(kind, match=message):
            opt.monitor(*expressions, **options)
    rows = torch.nn.Parameter(torch.ones(4, 2))
    sparse = optgen.torch.SparseAdam([rows])
    sparse.monitor("norm(grad)", every=100)
    rows.grad = torch.sparse_coo_tensor([[1]], torch.ones(1, 2), (4, 2), check_invariants=True)
    with pytest.raises(ValueError, match=r"the gradient of parameter 0 of group 0.* is sparse"):
        sparse.step()
    sparse.monitor()
    sparse.step()
    with pytest.raises(ValueError, match="one by one, and there is no step to look at"):
        optgen.torch.Lion([torch.nn.Parameter(torch.ones(2))], in_backward=True).monitor("norm(g)")
    with pytest.raises(ValueError, match=r"SGDSNOO: monitor.* with outer steps"):
        optgen.torch.optimizer("sgd with snoo(k=3)")([torch.nn.Parameter(torch.ones(2))]).monitor("norm(g)")


@pytest.mark.parametrize("case", ["elementwise", "phases", "rounds"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_told_may_raise(case: str, error: type[BaseException]) -> None:
    """The step is whole then: another one follows, with the next number, and its bits are those of a twin."""
    opt, twin = (make("elementwise" if case == "rounds" else case) for _ in range(2))
    told: list[int] = []

    def raising(number: int, found: Any) -> None:
        told.append(number)
        raise error("full")

    opt.monitor("norm(grad)", to=raising)
    opt.accumulate = twin.accumulate = 2 if case == "rounds" else 1
    for k in range(4):
        before = len(told)
        try:
            step(opt, k)
        except error:
            assert len(told) == before + 1
        step(twin, k)
        assert contents(opt) == contents(twin) and opt.accumulated == twin.accumulated
        if len(told) > before:
            assert len(opt.monitored) == len(SHAPES)
            opt.state_dict()
    assert told == ([1, 2] if case == "rounds" else [1, 2, 3, 4])


def test_a_step_that_is_refused_leaves_everything() -> None:
    opt = make("elementwise")
    opt.monitor("norm(grad)")
    step(opt, 0)
    before, state, number = contents(opt), opt.state, opt.monitored
    opt.param_groups[0]["lr"] = "fast"
    with pytest.raises(TypeError, match="'lr'"):
        step(opt, 1)
    assert contents(opt) == before and opt.state is state and opt.monitored is number
    assert opt.spec is type(opt).spec
