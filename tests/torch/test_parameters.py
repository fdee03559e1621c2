"""Parameters of every kind: their layouts and dtypes, their states, and their dense gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch.nn import Linear, Parameter
from torch.nn.utils import parametrizations

import optgen
import optgen.torch
from optgen.torch import optimizer
from tests.torch.params import numbers, params_of, step

LION = optgen.torch.Lion


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(0, -1).contiguous().transpose(0, -1)


def with_gaps(x: torch.Tensor) -> torch.Tensor:
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    return wide[..., ::2].copy_(x)


def within_a_larger_one(x: torch.Tensor) -> torch.Tensor:
    whole = torch.zeros(2 * x.numel(), dtype=x.dtype)
    return whole[3 : 3 + x.numel()].view(x.shape).copy_(x)


def channels_last(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "channels_last": channels_last,
    "transposed": transposed,
    "with_gaps": with_gaps,
    "within_a_larger_one": within_a_larger_one,
}


@pytest.mark.parametrize("storage", [None, "bfloat16", "int8_dynamic", "int4_dynamic"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elementwise_rules_do_not_see_the_layout(layout: str, storage: str | None) -> None:
    """The same numbers as for a contiguous parameter; states lie as the parameter does, without gaps."""
    x = numbers((4, 3, 10, 30))
    p, q = Parameter(LAYOUTS[layout](x)), Parameter(x.clone())
    opt, plain = (optimizer("adabelief")([w], lr=0.01, storage=storage) for w in (p, q))
    assert p.stride() == LAYOUTS[layout](x).stride()
    for k in range(3):
        step(opt, k)
        step(plain, k)
        # Blocks of codes are neighbours in memory.
        tolerance = 0.02 if storage == "int8_dynamic" else 0
        torch.testing.assert_close(p, q, rtol=0, atol=tolerance)
    m = opt.state[p]["m"]
    assert m.shape == p.shape or storage == "int4_dynamic"
    if layout in ("channels_last", "transposed"):
        assert m.stride() == p.stride() or storage in ("int8_dynamic", "int4_dynamic")
    again = optimizer("adabelief")([Parameter(q.detach().clone())], storage=storage)
    again.load_state_dict(opt.state_dict())
    there = params_of(again)[0]
    assert again.state[there]["m"].stride() == there.stride() or storage == "int4_dynamic"
    step(again, 3)
    step(opt, 3)
    torch.testing.assert_close(there, p, rtol=0, atol=0 if storage != "int8_dynamic" else 0.1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["adafactor", "came", "adammini", "sm3", "lamb", "novograd"])
def test_rules_with_rows_or_norms_take_the_logical_view(name: str, layout: str) -> None:
    x = numbers((4, 3, 5, 6))
    p, q = Parameter(LAYOUTS[layout](x)), Parameter(x.clone())
    opt, plain = (optimizer(name)([w], lr=0.01) for w in (p, q))
    for k in range(3):
        step(opt, k)
        step(plain, k)
    torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
    for key, x in plain.state[q].items():
        torch.testing.assert_close(opt.state[p][key], x, rtol=1e-4, atol=1e-6)


def test_several_dtypes_in_one_optimizer() -> None:
    kinds = [torch.float32, torch.bfloat16, torch.float64, torch.float16, torch.float32]
    params = [Parameter(numbers((3, 4)).to(dtype)) for dtype in kinds]
    opt = optimizer("adabelief")(params, lr=0.01)
    alone = [optimizer("adabelief")([Parameter(p.detach().clone())], lr=0.01) for p in params]
    for k in range(2):
        step(opt, k)
        for p, own in zip(params, alone, strict=True):
            (q,) = params_of(own)
            q.grad = p.grad
            own.step()
            assert torch.equal(p, q)
            assert opt.state[p]["m"].dtype == p.dtype


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(4, 3), (5,), (), (2, 3, 4)])
def test_complex_parameters_are_pairs_of_real_ones(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    p = Parameter(numbers(shape, dtype=dtype))
    q = Parameter(torch.view_as_real(p.detach()).clone())
    opt, plain = (optimizer("adabelief")([w], lr=0.01) for w in (p, q))
    for k in range(3):
        p.grad = numbers(shape, k, dtype)
        q.grad = torch.view_as_real(p.grad).clone()
        opt.step()
        plain.step()
        assert torch.equal(torch.view_as_real(p.detach()), q)
    assert opt.state[p]["m"].dtype == dtype and opt.state[p]["m"].shape == shape
    assert torch.equal(torch.view_as_real(opt.state[p]["m"]), plain.state[q]["m"])


def test_complex_parameters_in_other_orders_and_storages() -> None:
    x = numbers((4, 3, 5, 2), dtype=torch.complex64)
    for storage in (None, "bfloat16"):
        p, q = Parameter(channels_last(x)), Parameter(x.clone())
        opt, plain = (LION([w], lr=0.01, storage=storage) for w in (p, q))
        for k in range(3):
            for w in (p, q):
                w.grad = torch.empty_like(w).copy_(numbers(x.shape, k, torch.complex64)).detach()
            p.grad = p.grad.conj().resolve_conj().conj() if k == 1 else p.grad  # a view that has conjugates
            opt.step()
            plain.step()
            assert torch.equal(p, q)
        assert torch.equal(opt.state[p]["m"], plain.state[q]["m"])


def test_small_ones() -> None:
    params = [Parameter(numbers(shape)) for shape in ((), (0,), (3, 0), (1,), (1, 1), (0, 5))]
    for name in ("lion", "adafactor", "prodigy"):
        opt = optimizer(name)(copy.deepcopy(params), lr=0.1)
        before = params_of(opt)[0].item()
        for k in range(3):
            step(opt, k)
        assert params_of(opt)[0].item() != before


def test_gradients_that_come_and_go() -> None:
    """A parameter without a gradient keeps its weight, its states and its count."""
    params = [Parameter(numbers((3, 2), k)) for k in range(4)]
    opt = optimizer("adabelief")(params, lr=0.1)
    alone = [optimizer("adabelief")([Parameter(p.detach().clone())], lr=0.1) for p in params]
    present = [(0, 1), (2,), (), (0, 2, 3), (1,), (0, 1, 2, 3), (3,)]
    for k, members in enumerate(present):
        for i, (p, own) in enumerate(zip(params, alone, strict=True)):
            (q,) = params_of(own)
            p.grad = q.grad = numbers((3, 2), 10 * k + i) if i in members else None
            own.step()
        opt.step()
        for p, own in zip(params, alone, strict=True):
            (q,) = params_of(own)
            assert torch.equal(p, q)
            assert all(torch.equal(x, own.state[q][key]) for key, x in opt.state[p].items())


def test_sums_over_parameters_leave_those_without_gradients_out() -> None:
    params = [Parameter(numbers((3, 2), k)) for k in range(3)]
    opt = optimizer("prodigy")(params)
    other = optimizer("prodigy")([Parameter(p.detach().clone()) for p in params[:2]])
    for k in range(3):
        for p, q in zip(params, params_of(other), strict=False):
            p.grad = q.grad = numbers((3, 2), k) + 1
        opt.step()
        other.step()
    assert all(map(torch.equal, params[:2], params_of(other)))
    assert opt.state[params[2]]["step"] == 0
    for p in params:
        p.grad = None
    before = [p.detach().clone() for p in params]
    opt.step()
    assert all(map(torch.equal, before, params))


@pytest.mark.parametrize(
    "give",
    [
        lambda g: g.double(),
        lambda g: g.half(),
        lambda g: g.t().contiguous().t(),
        lambda g: g[:1].expand_as(g),
        lambda g: g.clone().requires_grad_(),
    ],
    ids=["float64", "float16", "transposed", "expanded", "with a graph"],
)
def test_gradients_of_another_dtype_or_layout(give: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Between ordinary ones: they are read as ordinary ones of the same numbers."""
    p, q = (Parameter(numbers((4, 6))) for _ in range(2))
    opt, plain = LION([p], lr=0.01), LION([q], lr=0.01)
    for k in range(4):
        g = numbers((4, 6), k).half().float()
        odd = give(g) if k % 2 else g
        if odd.dtype != p.dtype:
            if not hasattr(p, "grad_dtype"):
                pytest.skip("this PyTorch takes no gradients of another dtype")
            p.grad_dtype = None
        p.grad = odd
        q.grad = odd.detach().float().contiguous()
        opt.step()
        plain.step()
        assert torch.equal(p, q)


def test_integers_beside_numbers_are_left_alone() -> None:
    p, n = Parameter(torch.ones(3)), Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False)
    opt = LION([p, n], lr=0.5)
    p.grad = torch.ones(3)
    opt.step()
    assert (p == 0.5).all() and (n == 1).all() and n not in opt.state


def test_parametrized_and_tied_modules() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(parametrizations.weight_norm(Linear(4, 4)), Linear(4, 4), Linear(4, 4))
    model[2].weight = model[1].weight
    opt = LION(model.parameters(), lr=0.01)
    assert len(params_of(opt)) == 6
    losses = []
    for _ in range(20):
        opt.zero_grad()
        loss = model(torch.ones(2, 4)).square().sum()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and model[1].weight is model[2].weight


@pytest.mark.parametrize("name", ["lion", "adafactor", "prodigy", "nadam"])
def test_default_devices_and_dtypes_do_not_matter(name: str) -> None:
    """State stands where its parameter is, in the dtype that it has."""
    make = optimizer(name)
    plain = make([Parameter(numbers((20, 300)))], storage="int8_dynamic")
    with torch.device("meta"):
        p = Parameter(torch.empty((20, 300), device="cpu"))
        p.data.copy_(params_of(plain)[0].data)
        opt = make([p], storage="int8_dynamic")
        torch.set_default_dtype(torch.float64)
        try:
            for k in range(2):
                p.grad = plain.param_groups[0]["params"][0].grad = torch.cos(p.detach() + k)
                opt.step()
                plain.step()
        finally:
            torch.set_default_dtype(torch.float32)
    assert torch.equal(p, params_of(plain)[0])
    for key, x in plain.state[params_of(plain)[0]].items():
        assert torch.equal(opt.state[p][key], x) and opt.state[p][key].device.type == "cpu"


def test_states_that_are_wrong_are_named() -> None:
    p = Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    opt = LION([("w", p)], lr=0.1)
    opt.step()
    for key, wrong, message in (
        ("m", "x", r"parameter 'w': state\['m'\]: expected a tensor, not 'x'"),
        ("m", torch.ones(4), r"parameter 'w': state\['m'\]: shape \(4,\)"),
        ("step", torch.tensor(float("nan")), r"parameter 'w': state\['step'\] is tensor\(nan\), which is no number"),
    ):
        right = opt.state[p][key]
        opt.state[p][key] = wrong
        with pytest.raises((TypeError, ValueError), match=message):
            opt.step()
        opt.state[p][key] = right
    opt.step()
    assert opt.state[p]["step"] == 2 and torch.allclose(p, torch.tensor(0.8))


def test_the_shape_of_a_parameter_without_a_name_is_said_once() -> None:
    p = Parameter(torch.ones(3), requires_grad=False)  # so that its kernel is first asked for in a step
    opt = optgen.torch.optimizer("splus")([p])
    p.grad = torch.ones(3)
    with pytest.raises(ValueError, match=r"^parameter 0 of group 0, of shape \(3,\): SPlus: SPlus is for matrices"):
        opt.step()
