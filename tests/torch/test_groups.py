"""Parameter groups: values changed at any time, options of a group, groups added, and what is refused when."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer

MOMENTUM = optgen.parse("""optimizer Ball "momentum where it is asked for, and none for matrices if flat"
param lr = 0.1
param momentum = 0 in [0, 1) "decay"
param flat = 0 "ranks above this have no momentum"
flag moves = momentum > 0 and rank > flat
state m = 0 if moves "velocity"
update:
  m' = momentum*m + g if moves
  w' = w - lr*m' if moves
  w' = w - lr*g otherwise
""")


def weights(dtype: torch.dtype = torch.float32, shapes: Any = ((4, 3), (5,))) -> list[Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def step(*optimizers: torch.optim.Optimizer, seed: int = 0) -> None:
    """A step of each, with the same gradients."""
    for opt in optimizers:
        generator = torch.Generator().manual_seed(seed)
        for p in (p for group in opt.param_groups for p in group["params"]):
            p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)
        opt.step()


def assert_same(a: torch.optim.Optimizer, b: torch.optim.Optimizer) -> None:
    for ours, theirs in zip(a.param_groups, b.param_groups, strict=True):
        for p, q in zip(ours["params"], theirs["params"], strict=True):
            assert torch.equal(p, q)
            assert a.state[p].keys() == b.state[q].keys()
            assert all(torch.equal(x, b.state[q][key]) for key, x in a.state[p].items())


MIXED: dict[str, tuple[Any, str]] = {
    "dtypes": (lambda p: p.double(), "not torch.float32 on cpu, torch.float64 on cpu"),
    "sparse": (lambda p: p, "not torch.float32 on cpu, torch.float32 on cpu with sparse gradients"),
}


@pytest.mark.parametrize("name", ["prodigy", "dadaptadam"])
@pytest.mark.parametrize("what", MIXED)
def test_sums_over_parameters_refuse_other_dtypes_and_layouts_in_one_group(name: str, what: str) -> None:
    """One kernel takes all of them, so that the sums are over all."""
    make, message = MIXED[what]
    a, b = (p.detach() for p in weights(shapes=((4, 3), (4, 3))))
    params = [Parameter(a), Parameter(make(b))]
    opt = optimizer(name)(params)
    for p in params:
        p.grad = torch.ones_like(p)
    if what == "sparse":
        params[1].grad = torch.eye(4, 3).to_sparse(1)
    before = copy.deepcopy(params)
    with pytest.raises(ValueError, match=f"shares values between all parameters, which must have one dtype.*{message}"):
        opt.step()
    assert all(torch.equal(p, q) for p, q in zip(params, before, strict=True))


def lion(**kwargs: Any) -> SpecOptimizer:
    return optgen.torch.Lion(weights(), **{"lr": 0.1, **kwargs})  # type: ignore[no-any-return]


@pytest.mark.parametrize("tensors", [False, True])
def test_values_change_between_steps(tensors: bool) -> None:
    """Each step uses the values that the groups have then, as if it had been made with them."""
    opt = lion()
    for k in range(4):
        lr, beta, decay = 0.1 / (k + 1), 0.8 + 0.01 * k, 0.1 * k
        fresh = lion(lr=lr, betas=(beta, 0.99), weight_decay=decay)
        fresh.load_state_dict({**opt.state_dict(), "param_groups": fresh.state_dict()["param_groups"]})
        for p, q in zip(fresh.param_groups[0]["params"], opt.param_groups[0]["params"], strict=True):
            p.data.copy_(q)
        group = opt.param_groups[0]
        if tensors and k:
            group["lr"].fill_(lr)  # the same object
            group["betas"][0].fill_(beta)
        elif tensors:
            group["lr"], group["betas"] = torch.tensor(lr, dtype=torch.float64), [torch.tensor(beta).double(), 0.99]
        else:
            group["lr"], group["betas"] = lr, [beta, 0.99] if k % 2 else (beta, 0.99)
        group["weight_decay"] = decay
        step(opt, fresh, seed=k)
        assert_same(opt, fresh)


def test_a_list_that_changes_in_place_is_seen() -> None:
    opt, other = lion(betas=[0.9, 0.99]), lion()
    step(opt, other)
    opt.param_groups[0]["betas"][0] = 0.5
    other.param_groups[0]["betas"] = (0.5, 0.99)
    step(opt, other, seed=1)
    assert_same(opt, other)


def test_a_flag_that_flips_makes_other_kernels_and_keeps_states() -> None:
    """Momentum goes on from where it was; a flag that depends on the rank flips for some parameters only."""
    cls = optimizer(MOMENTUM)
    opt = cls(weights(), lr=0.1, momentum=0.5)
    expected = [p.detach().double() for p in weights()]
    velocity = [torch.zeros_like(p) for p in expected]
    for k, (momentum, flat) in enumerate([(0.5, 0), (0, 0), (0.9, 0), (0.9, 1), (0.9, 0)]):
        opt.param_groups[0].update(momentum=momentum, flat=flat)
        step(opt, seed=k)
        for i, p in enumerate(opt.param_groups[0]["params"]):
            g = p.grad.double()
            if momentum > 0 and p.dim() > flat:
                velocity[i] = momentum * velocity[i] + g
                g = velocity[i]
            expected[i] -= 0.1 * g
            torch.testing.assert_close(p.double(), expected[i], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(opt.state[p]["m"].double(), velocity[i], rtol=1e-5, atol=1e-6)
            assert opt.state[p]["step"] == k + 1


@pytest.mark.parametrize("name", ["lion", "adamw", "sgd", "lamb", "prodigy"])
def test_maximize_is_a_step_with_negated_gradients(name: str) -> None:
    cls = optimizer(name)
    up, down = cls(weights(), maximize=True), cls(weights())
    for k in range(3):
        for opt, sign in ((up, 1), (down, -1)):
            generator = torch.Generator().manual_seed(k)
            for p in opt.param_groups[0]["params"]:
                p.grad = sign * torch.randn(p.shape, generator=generator)
        up.step()
        down.step()
        assert_same(up, down)
    for opt in (up, down):
        opt.param_groups[0]["maximize"] = False
    step(up, down)
    assert_same(up, down)


def test_storage_and_master_are_a_groups_own_and_change_later() -> None:
    shapes = ((16, 300), (16, 300))
    params = weights(torch.bfloat16, shapes)
    opt = optgen.torch.Lion(
        [{"params": params[:1], "storage": "int8_dynamic"}, {"params": params[1:], "master": True}], lr=1e-3
    )
    first, second = (opt.state[p] for p in params)
    assert first["m"].dtype == torch.uint8 and first["m.scale"].shape == (16, 2) and "master" not in first
    assert second["m"].dtype == torch.float32 and second["master"].dtype == torch.float32
    for k in range(2):
        step(opt, seed=k)
    codes, scales = first["m"].clone(), first["m.scale"].clone()
    opt.param_groups[0]["storage"] = {"m": "bfloat16"}
    step(opt, seed=2)
    assert first["m"].dtype == torch.bfloat16 and "m.scale" not in first and first["step"] == 3
    opt.param_groups[0]["storage"] = "int8_dynamic"
    opt.param_groups[1]["master"] = False
    step(opt, seed=3)
    assert first["m"].dtype == torch.uint8 and "master" not in second
    assert (first["m"] != codes).any() and not torch.equal(first["m.scale"], scales)
    opt.param_groups[1]["master"] = True
    step(opt, seed=4)
    assert torch.equal(second["master"].bfloat16(), params[1])


def test_the_numbers_that_codes_stand_for_are_kept_when_the_storage_changes() -> None:
    params = weights(shapes=((16, 300),))
    opt = optgen.torch.Lion(params, lr=1e-3, storage="int8_dynamic")
    step(opt)
    rule, kept = optgen.load("lion", storage="int8_dynamic", blocks_by_row=True), opt.state[params[0]]
    from optgen.execute import storage

    numbers = storage.decode(kept["m"].numpy(), kept["m.scale"].numpy(), rule.kernel((16, 300)).states["m"], (16, 300))
    opt.param_groups[0].update(storage=None, betas=(0.9, 0.0))
    twin = copy.deepcopy(opt)
    params[0].grad = torch.zeros(16, 300)
    opt.param_groups[0]["betas"] = (0.9, 1 - 2**-24)
    opt.step()
    assert torch.allclose(kept["m"], torch.from_numpy(numbers), rtol=1e-6, atol=0)
    assert twin.state[twin.param_groups[0]["params"][0]]["m"].dtype == torch.uint8


def test_groups_are_added_at_any_time() -> None:
    params = weights(shapes=((3,), (4,), (5,)))
    opt = optgen.torch.Lion(params[:1], lr=0.1)
    step(opt)
    opt.add_param_group({"params": params[1], "lr": 0.2, "comment": "mine"})
    opt.add_param_group({"params": (p for p in params[2:])})
    assert [group["lr"] for group in opt.param_groups] == [0.1, 0.2, 0.1]
    before = [p.detach().clone() for p in params]
    step(opt, seed=1)
    assert [int(opt.state[p]["step"]) for p in params] == [2, 1, 1]
    assert torch.allclose((params[1] - before[1]).abs(), torch.tensor(0.2))
    assert opt.param_groups[1]["comment"] == "mine" == opt.state_dict()["param_groups"][1]["comment"]


@pytest.mark.parametrize(
    ("group", "error", "message"),
    [
        ({"lr": -1.0}, ValueError, "'lr' must not be negative"),
        ({"betas": (0.9, 2.0)}, ValueError, r"'betas\[1\]' must be in"),
        ({"storage": "int7"}, ValueError, "cannot be stored as 'int7'"),
        ({"storage": {"q": "float16"}}, TypeError, "no elementwise state 'q'"),
        ({"maximize": 3}, ValueError, "maximize: True or False"),
        ({"clip_norm": 1.0}, TypeError, "Lion: 'clip_norm' is of the whole optimizer"),
        ({"wd": 0.1}, TypeError, "Lion: a group has no 'wd'; it is 'weight_decay' here"),
        ({"beta1": 0.5}, TypeError, "it is 'betas' here"),
    ],
)
def test_a_group_that_is_refused_leaves_the_optimizer_as_it_was(
    group: dict[str, Any], error: type[Exception], message: str
) -> None:
    opt, other = lion(), lion()
    with pytest.raises(error, match=message):
        opt.add_param_group({"params": [Parameter(torch.ones(3)), Parameter(torch.ones(16, 300))], **group})
    assert len(opt.param_groups) == 1 and len(opt.state) == 2
    step(opt, other)
    assert_same(opt, other)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("betas", (1.0, 0.9), r"'betas\[0\]' must be in"),
        ("lr", "fast", "'lr' must be a number"),
        ("weight_decay", -1.0, "'weight_decay' must be in"),
        ("storage", "int7", "cannot be stored as 'int7'"),
        ("maximize", None, "maximize: True or False"),
    ],
)
def test_a_wrong_value_is_refused_by_the_step_before_it_changes_anything(key: str, value: Any, message: str) -> None:
    def made() -> SpecOptimizer:
        params = weights()
        groups = [{"params": [p]} for p in params]
        return optgen.torch.Lion(groups, lr=0.1)  # type: ignore[no-any-return]

    opt, other = made(), made()
    step(opt, other)
    right, last = opt.param_groups[1][key], copy.deepcopy(opt)
    opt.param_groups[1][key] = value
    opt.param_groups[0]["lr"] = other.param_groups[0]["lr"] = 0.3  # not forgotten by the step that is refused
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match=message):
            step(opt, seed=1)
        assert_same(opt, last)
    opt.param_groups[1][key] = right
    step(opt, other, seed=1)
    assert_same(opt, other)


def test_groups_of_a_spec_that_sums_over_all_parameters() -> None:
    """Rates differ between groups, and change; other values must be the same, and one state is shared by all."""
    cls = optimizer("prodigy")
    params = weights()
    opt = cls([{"params": params[:1], "lr": 1.0}, {"params": params[1:], "lr": 0.5}])
    reference = [p.detach().clone() for p in weights()]
    grads = [torch.zeros_like(p) for p in reference]
    bound = optgen.load("prodigy").bind(reference, grads)
    for k in range(4):
        step(opt, seed=k)
        for grad, p in zip(grads, params, strict=True):
            grad.copy_(p.grad)  # type: ignore[arg-type]
        bound(lr=[1.0 - 0.1 * k, 0.5])
        opt.param_groups[0]["lr"] = 1.0 - 0.1 * (k + 1)
        assert all(map(torch.equal, params, reference))
    assert opt.state[params[0]]["d"] is opt.state[params[1]]["d"]
    opt.param_groups[0]["betas"] = (0.5, 0.99)
    with pytest.raises(
        ValueError, match="Prodigy shares values between all parameters, so 'betas' must be the same in all groups"
    ):
        step(opt)


@pytest.mark.parametrize("joins", [True, False])
def test_params_per_parameter_are_values_of_groups(joins: bool) -> None:
    spec = optgen.parse(f"""\
optimizer Rates
param eta per param = 1 in [0, inf)
update:
  q  = {"sum(eta*g^2, over params)" if joins else "eta"}
  w' = w - lr*eta*g/(1 + q)
""")
    params = weights()
    opt = optgen.torch.optimizer(spec)([{"params": params[:1], "eta": 2.0}, {"params": params[1:]}], lr=0.1)
    reference = [p.detach().clone() for p in weights()]
    grads = [torch.zeros_like(p) for p in reference]
    bound = optgen.load(spec, lr=0.1, eta=[2, *[1] * (len(params) - 1)]).bind(reference, grads)
    for k in range(2):
        opt.param_groups[0]["eta"], opt.param_groups[1]["eta"] = 2.0 - k, 1.0 + k
        step(opt, seed=k)
        for grad, p in zip(grads, params, strict=True):
            grad.copy_(p.grad)  # type: ignore[arg-type]
        bound(eta=[2 - k, *[1 + k] * (len(params) - 1)])
        assert all(map(torch.equal, params, reference))
    with pytest.raises(TypeError, match="Rates: 'eta' must be a number; parameters with another one are another group"):
        optgen.torch.optimizer(spec)(weights(), eta=[1.0, 2.0])


def test_named_parameters_name_what_is_wrong() -> None:
    model = torch.nn.Linear(3, 2)
    opt = optgen.torch.Lion(model.named_parameters(), lr=0.1)
    assert opt.param_groups[0]["param_names"] == ["weight", "bias"]
    step(opt)
    opt.state[model.bias]["m"] = torch.zeros(7)
    with pytest.raises(ValueError, match=r"parameter 'bias': state\['m'\]: shape \(7,\), but its parameter has \(2,\)"):
        step(opt)
    unnamed = optgen.torch.Lion([{"params": [model.weight]}, {"params": [model.bias]}])
    unnamed.state[model.bias]["m"] = torch.zeros(7)
    with pytest.raises(ValueError, match=r"parameter 0 of group 1, of shape \(2,\): state\['m'\]: shape \(7,\)"):
        step(unnamed)
    with pytest.raises(ValueError, match=r"parameter 'bias': GroupAdaGrad: GroupAdaGrad updates matrices"):
        optgen.torch.GroupAdaGrad(model.named_parameters())


def test_parameters_are_refused_as_torch_refuses_them() -> None:
    p = Parameter(torch.ones(2))
    cls = optgen.torch.Lion
    with pytest.raises(ValueError, match="empty parameter list"):
        cls([])
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        cls(p)
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        cls([3])
    with pytest.raises(ValueError, match="non-leaf"):
        cls([p * 2])
    with pytest.raises(ValueError, match="more than one parameter group"):
        cls([{"params": [p]}, {"params": [p]}])
    with (
        pytest.warns(UserWarning, match="duplicate parameters"),
        pytest.warns(UserWarning, match="Lion: .* stands twice"),
    ):
        opt = cls([p, p])
    p.grad = torch.ones(2)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0, of shape .* stands twice"):
        opt.step()


def beside_integers(start: float) -> tuple[Parameter, Parameter]:
    """A parameter of one number, and a frozen one of an integer 1."""
    frozen = Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False)
    return Parameter(torch.full((1,), start)), frozen


def test_a_change_beside_what_is_refused_holds_in_the_next_step() -> None:
    w, frozen = beside_integers(0.0)
    opt = optgen.torch.Lion([w, frozen], lr=1.0)
    w.grad = torch.ones(1)
    opt.step()
    opt.param_groups[0]["lr"] = 10.0
    frozen.grad = torch.ones_like(frozen)
    with pytest.raises(ValueError, match="int64"):
        opt.step()
    frozen.grad = None
    opt.step()
    assert w.tolist() == [-11.0]


def test_groups_that_differ_where_they_must_not_are_refused_each_time() -> None:
    params = [torch.nn.Parameter(torch.full((1,), 0.0)), torch.nn.Parameter(torch.full((1,), 0.0))]
    opt = optgen.torch.Prodigy([{"params": [p]} for p in params])
    for p in params:
        p.grad = torch.ones(1)
    opt.step()
    opt.param_groups[0]["d_coef"] = 2.0
    for _ in range(2):
        with pytest.raises(ValueError, match="'d_coef' must be the same in all groups"):
            opt.step()


def test_frozen_integers_are_taken_as_torch_takes_them() -> None:
    w, frozen = beside_integers(1.0)
    opt = optgen.torch.SGD([w, frozen], lr=0.5)
    w.grad = torch.ones(1)
    opt.step()
    assert (w.item(), frozen.item()) == (0.5, 1)
    frozen.grad = torch.ones_like(frozen)
    with pytest.raises(
        ValueError, match=r"parameter 1 of group 0, of shape \(1,\): of torch.int64; optgen updates float32"
    ):
        opt.step()


@pytest.mark.parametrize("name", ["Lion", "AdamW"])
def test_dtypes_without_kernels_are_refused_by_parameter(name: str) -> None:
    p = Parameter(torch.ones(3).to(torch.float8_e4m3fn))
    with pytest.raises(ValueError, match=r"parameter 'w': of torch.float8_e4m3fn; optgen updates float32"):
        getattr(optgen.torch, name)([("w", p)])


def test_batches_of_matrices_have_blocks_in_their_rows() -> None:
    text = """optimizer Batched
axes last two
state m = 0
state r: row = 0
update:
  m' = 0.9*m + g
  r' = 0.9*r + mean(g^2, per row)
  w' = w - lr*m'/(sqrt(r') + 1e-8)
"""
    param = weights(shapes=((3, 16, 256),))[0]
    opt = optgen.torch.optimizer(optgen.parse(text))([param], lr=0.01, storage="int8_dynamic")
    step(opt)
    shapes = {key: tuple(x.shape) for key, x in opt.state[param].items()}
    assert shapes == {"step": (), "m": (3, 16, 256), "m.scale": (48, 1), "r": (3, 16, 1)}
    twin = copy.deepcopy(opt)
    twin.load_state_dict(opt.state_dict())
    for each in (opt, twin):
        step(each, seed=1)
    assert torch.equal(param, twin.param_groups[0]["params"][0])


def test_heads_are_blocks_of_the_parameters_of_a_group() -> None:
    q, v = (torch.nn.Parameter(torch.randn(6, 4)) for _ in range(2))
    before = q.detach().clone()
    opt = optgen.torch.AdamMini([{"params": [q], "heads": True}, {"params": [v]}], lr=0.1, head_dim=3, weight_decay=0)
    q.grad, v.grad = torch.randn(6, 4), torch.randn(6, 4)
    opt.step()
    heads = q.grad.double().square().view(2, 12).mean(1)
    expected = before - 0.1 * q.grad / (heads.sqrt().repeat_interleave(3)[:, None] + 1e-8)
    torch.testing.assert_close(q.detach(), expected.float(), rtol=1e-5, atol=1e-6)
    state = opt.state_dict()["state"]
    assert state[0]["v_head"].shape == (2,) and "v_row" in state[1] and "v_head" not in state[1]
    again = optgen.torch.AdamMini([{"params": [q], "heads": True}, {"params": [v]}], lr=0.1, head_dim=3)
    again.load_state_dict(opt.state_dict())
    torch.testing.assert_close(again.state[q]["v_head"], state[0]["v_head"], rtol=0, atol=0)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0, of shape \(6, 4\): .* 6 rows are no blocks of 4"):
        optgen.torch.AdamMini([{"params": [q], "heads": True}], head_dim=4).step()


@pytest.mark.parametrize("name", ["adamw", "torch/adamw", "torch/rprop", "lamb", "muon"])
def test_groups_are_updated_as_if_each_had_an_optimizer(name: str) -> None:
    """Those that differ in rates alone are bound together; but not Rprop's, whose states begin with the rate."""
    cls, rates = optimizer(name), (0.1, 0.02, 0.1)
    shapes = ((4, 3), (5, 2), (6, 2))
    params, others = weights(shapes=shapes), weights(shapes=shapes)
    together = cls([{"params": [p], "lr": lr} for p, lr in zip(params, rates, strict=True)])
    alone = [cls([p], lr=lr) for p, lr in zip(others, rates, strict=True)]
    for k in range(4):
        for i, p in enumerate(params):
            lr = rates[i] / (1 + k * i)
            together.param_groups[i]["lr"] = alone[i].param_groups[0]["lr"] = lr
            p.grad = others[i].grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(10 * k + i))
        together.step()
        for opt in alone:
            opt.step()
        for i, (p, q) in enumerate(zip(params, others, strict=True)):
            assert torch.equal(p, q)
            assert all(torch.equal(x, alone[i].state[q][key]) for key, x in together.state[p].items())


def test_groups_that_come_to_differ_in_more_than_rates_are_bound_apart() -> None:
    opt = optgen.torch.Lion([{"params": [p]} for p in weights()], lr=0.1)
    others = [optgen.torch.Lion([p], lr=0.1) for p in weights()]
    changes: list[dict[str, Any]] = [{}, {"betas": (0.5, 0.9)}, {"lr": 0.2}, {"maximize": True}, {"betas": (0.9, 0.99)}]
    for k, change in enumerate(changes):
        for group in (opt.param_groups[1], others[1].param_groups[0]):
            group.update(change)
        for i, group in enumerate(opt.param_groups):
            (p,), (q,) = group["params"], others[i].param_groups[0]["params"]
            p.grad = q.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(10 * k + i))
        for one in (opt, *others):
            one.step()
        for i, group in enumerate(opt.param_groups):
            assert torch.equal(group["params"][0], others[i].param_groups[0]["params"][0])


def test_a_parameter_that_goes_to_another_group_has_its_values_at_once() -> None:
    """Whether the list of all parameters is another one then or not."""
    a, b, c = weights(shapes=((2,), (2,), (2,)))
    opt = optimizer("sgd")([{"params": [a, b], "lr": 0.5}, {"params": [c], "lr": 0.25}])
    first, second = opt.param_groups

    def changes() -> list[float]:
        before = [p.detach().clone() for p in (a, b, c)]
        for p in (a, b, c):
            p.grad = torch.ones_like(p)
        opt.step()
        return [(x - p.detach()).mean().item() for x, p in zip(before, (a, b, c), strict=True)]

    assert changes() == pytest.approx([0.5, 0.5, 0.25])
    second["params"].insert(0, first["params"].pop())
    assert changes() == pytest.approx([0.5, 0.25, 0.25])
    first["params"] += second["params"]
    second["params"] = []
    assert changes() == pytest.approx([0.5, 0.5, 0.5])


def test_dicts_of_groups_can_be_given_to_an_optimizer_of_pytorch_then() -> None:
    groups = [{"params": weights()}]
    optimizer("lion")(groups, lr=0.1)
    theirs = torch.optim.AdamW(groups, lr=0.1)
    assert "optgen_spec" not in optgen.torch.replace(theirs).param_groups[0]
    refused = {"params": weights(), "lr": "fast"}
    with pytest.raises((TypeError, ValueError)):
        optimizer("lion")(weights(), lr=0.1).add_param_group(refused)
    assert "optgen_spec" not in refused
