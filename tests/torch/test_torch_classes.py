"""PyTorch's optimizers as classes of ours: what they are, and what any of PyTorch's optimizers does."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import torch

import optgen.torch
from optgen.torch import features, stub
from optgen.torch.classes import by_source
from optgen.torch.torch_classes import CLASSES
from tests.torch.needs import needs_unions

if TYPE_CHECKING:
    from torch.testing._internal.common_optimizers import OptimizerInfo

ARGUMENTS = ("storage", "master", "weights", "seed", "capturable", "clip_norm", "fused", "in_backward", "donate_grads")
each_class = pytest.mark.parametrize("name", CLASSES)


@cache
def infos() -> dict[str, OptimizerInfo]:
    """PyTorch's database of optimizers, whose import takes two seconds."""
    from torch.testing._internal.common_optimizers import optim_db

    return {info.optim_cls.__name__: info for info in optim_db}


def ours(name: str) -> Any:
    return getattr(optgen.torch, name)


def configurations(name: str) -> Iterator[dict[str, Any]]:
    for config in infos()[name].optim_inputs_func("cpu"):
        yield copy.deepcopy(config.kwargs)


def give_gradient(p: torch.Tensor, grad: torch.Tensor, name: str) -> None:
    p.grad = grad.to_sparse() if infos()[name].only_supports_sparse_grads else grad


def shapes_for(name: str, *shapes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Shapes that an optimizer takes: for Muon, matrices in place of vectors."""
    return tuple((*shape, 1) if name == "Muon" and len(shape) == 1 else shape for shape in shapes)


def stepped(name: str, kwargs: dict[str, Any], dtype: torch.dtype = torch.float32) -> Any:
    """An optimizer after three steps."""
    generator = torch.Generator().manual_seed(0)
    params = [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes_for(name, (5, 3), (4,))]
    optimizer = ours(name)(params, **kwargs)
    for _ in range(3):
        for p in params:
            give_gradient(p, torch.randn(p.shape, dtype=dtype, generator=generator), name)
        optimizer.step()
    return optimizer


# ---------------------------------------------------------------- the classes


@each_class
def test_a_class_is_both_torchs_and_ours(name: str) -> None:
    cls, base = ours(name), getattr(torch.optim, name)
    assert issubclass(cls, base) and (cls.__name__, cls.__module__) == (name, "optgen.torch")
    signature, of_base = inspect.signature(cls), inspect.signature(base)
    own = [name for name in (*ARGUMENTS, *(["matmul"] * (name == "Muon"))) if name not in of_base.parameters]
    assert list(signature.parameters) == [*of_base.parameters, *own]
    for key, p in of_base.parameters.items():
        assert (p.kind, p.default) == (signature.parameters[key].kind, signature.parameters[key].default)
    assert (inspect.getdoc(base) or "") in cls.__doc__ and "wₜ" in cls.__doc__ and "clip_norm: " in cls.__doc__
    optimizer, theirs = cls([torch.zeros(3, 1)]), base([torch.zeros(3, 1)])
    assert optimizer.param_groups[0].keys() == theirs.param_groups[0].keys()
    assert repr(optimizer) == repr(theirs)
    assert by_source(cls.source) is optgen.torch.optimizer(cls.source) is cls
    assert type(pickle.loads(pickle.dumps(optimizer))) is cls


def test_names() -> None:
    assert optgen.torch.RMSProp is optgen.torch.RMSprop, "names of torch's, case ignored, are torch's"
    assert optgen.torch.optimizer("rmsprop").__name__ == "RMSProp"
    assert set(CLASSES) < set(dir(optgen.torch))
    assert optgen.torch.SOAP is optgen.torch.optimizer("soap") and optgen.torch.SOAP.__name__ == "SOAP"
    for name, hint in (("LBFGS", "torch.optim.LBFGS"), ("Adamm", "did you mean 'Adam'")):
        with pytest.raises(AttributeError, match=hint.replace(".", r"\.")):
            getattr(optgen.torch, name)


def test_the_name_muon_is_torchs_or_nobodys() -> None:
    """Without PyTorch's Muon, `optgen.torch.Muon` is not another optimizer of that name."""
    if features.HAS_MUON:
        assert issubclass(optgen.torch.Muon, torch.optim.Muon)
        assert optgen.torch.optimizer("muon") is not optgen.torch.Muon
    else:
        with pytest.raises(
            AttributeError, match=r"PyTorch has it from 2\.9 on.*use optgen\.torch\.optimizer\('muon'\)"
        ):
            optgen.torch.Muon  # noqa: B018
        assert "Muon" not in dir(optgen.torch)


def test_arguments_of_ours_are_in_groups_where_they_are_given() -> None:
    p, q = torch.zeros(16, 256, dtype=torch.bfloat16), torch.zeros(16, 256, dtype=torch.bfloat16)
    optimizer = optgen.torch.Adagrad(
        [{"params": [p]}, {"params": [q], "storage": {"sum": "int8_dynamic"}}], master=True
    )
    assert [("storage" in group, group["master"]) for group in optimizer.param_groups] == [(False, True), (True, True)]
    p.grad, q.grad = torch.ones_like(p), torch.ones_like(q)
    optimizer.step()
    assert optimizer.state[p]["sum"].dtype == torch.float32 and optimizer.state[q]["sum"].dtype == torch.uint8
    assert list(optimizer.state[q]) == ["step", "sum", "master", "sum.scale"]
    plain = torch.optim.Adagrad([{"params": [p]}, {"params": [q]}])
    optimizer.load_state_dict(plain.state_dict())
    assert optimizer.param_groups[1]["storage"] == {"sum": "int8_dynamic"}, "what torch's state dict does not say stays"


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"storage": "int4"}, ValueError, "cannot be stored as 'int4'"),
        ({"storage": {"momentum": "int8_dynamic"}}, TypeError, "no elementwise state 'momentum'; it has exp_avg"),
        ({"seed": -1}, ValueError, "from 0 to 2.64 - 1, not -1"),
        ({"clip_norm": 0}, ValueError, "clip_norm: a positive number"),
        ({"decay": 1}, TypeError, "unexpected keyword argument 'decay'"),
        ({"wd": 1}, TypeError, "unexpected keyword argument 'wd'; it is 'weight_decay' here"),
    ],
)
def test_arguments_of_ours_that_are_wrong(kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optgen.torch.Adam([torch.zeros(3)], **kwargs)


def test_groups_refuse_what_is_the_optimizers_and_keep_unknown_keys() -> None:
    for key in ("seed", "clip_norm", "in_backward", "donate_grads"):
        with pytest.raises(TypeError, match=f"Adam: '{key}' is of the whole optimizer; no group has it"):
            optgen.torch.Adam([{"params": [torch.zeros(3)], key: 1}])
    opt = optgen.torch.Adam([{"params": [torch.zeros(3)], "beta1": 0.5}])
    assert opt.param_groups[0]["beta1"] == 0.5


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Adam", {"betas": (22.0, 0.999)}),
        ("AdamW", {"betas": (22.0, 0.999), "weight_decay": -0.1}),
        ("NAdam", {"betas": (3.0, 0.999), "momentum_decay": -0.5}),
        ("SGD", {"momentum": -0.5}),
        ("SGD", {"momentum": float("inf")}),
        ("RMSprop", {"momentum": -0.5}),
        ("Rprop", {"etas": (1.5, 2.0)}),
        ("Adagrad", {"lr_decay": -0.1, "eps": -1e-12}),
    ],
)
def test_groups_may_have_values_that_constructors_refuse(name: str, values: dict[str, Any]) -> None:
    """As those of PyTorch, which checks no group later: CyclicLR comes to such values."""
    ends = []
    for module in (optgen.torch, torch.optim):
        p = torch.linspace(1, 2, 5, dtype=torch.float64)
        optimizer = getattr(module, name)([p], lr=0.01)
        for k in range(3):
            p.grad = torch.cos(p + k)
            optimizer.step()
            optimizer.param_groups[0].update(values)
        ends.append(p)
        for key, x in values.items():
            if isinstance(x, tuple) or x < 0:
                with pytest.raises(ValueError, match="nvalid"):
                    getattr(module, name)([p], **{key: x})
    torch.testing.assert_close(*ends, rtol=1e-9, atol=1e-9)


@each_class
def test_infinite_weights_without_decay_stay(name: str) -> None:
    """As PyTorch's: without a decay, no weight is multiplied by 0. A decay that comes later has other equations, with
    the states that there are."""
    if name in ("Adafactor", "Muon"):  # whose sums are of all elements
        return
    ends = []
    for module in (optgen.torch, torch.optim):
        p = torch.tensor([1.0, float("inf"), -float("inf"), 2.0], dtype=torch.float64)
        optimizer = getattr(module, name)([p], lr=0.01)
        for k in range(4):
            give_gradient(p, torch.tensor([1.0, -1.0, 2.0, k + 1.0], dtype=torch.float64), name)
            optimizer.step()
            if k == 1 and "weight_decay" in optimizer.defaults:
                optimizer.param_groups[0]["weight_decay"] = 0.125
        ends.append(p)
    torch.testing.assert_close(*ends, rtol=1e-9, atol=1e-9, equal_nan=True)


@each_class
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_write_states_in_place(name: str, dtype: torch.dtype) -> None:
    """Also where they are bound anew, as for a parameter that got its first gradient; but for counts in Python."""
    params = [torch.ones(5, 3, dtype=dtype), torch.ones(4, 1, dtype=dtype)]
    theirs = getattr(torch.optim, name)(params)
    for optimizer in (theirs, optgen.torch.replace(theirs)):
        for given in (params[:1], params):
            for p in given:
                give_gradient(p, torch.full_like(p, 0.5), name)
            before = {p: dict(kept) for p, kept in optimizer.state.items()}
            numbers = copy.deepcopy(list(before.values()))
            optimizer.step()
            for (p, kept), old in zip(before.items(), numbers, strict=True):
                for key, x in kept.items():
                    assert optimizer.state[p][key] is x or not torch.is_tensor(x), key
                    if key in ("step", "mu_product", "eta") and torch.is_tensor(x) and p.grad is not None:
                        assert x != old[key], key


def test_differentiable_is_refused_when_it_comes_later() -> None:
    optimizer = stepped("SGD", {})
    state_dict = torch.optim.SGD(optimizer.param_groups[0]["params"], differentiable=True).state_dict()
    optimizer.load_state_dict(state_dict)
    with pytest.raises(RuntimeError, match=r"^differentiable=True: "):
        optimizer.step()


def test_fused_is_refused_where_torch_refuses_it() -> None:
    messages = []
    for module in (optgen.torch, torch.optim):
        p = torch.zeros(3, dtype=torch.complex64)
        p.grad = torch.ones_like(p)
        with pytest.raises(RuntimeError, match=r"^`fused=True` requires all the params to be floating point") as error:
            module.Adam([p], fused=True).step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@needs_unions
def test_the_stub_is_fresh() -> None:
    assert stub.PATH.read_text() == stub.text(), "run python -m optgen.torch.stub"


# ---------------------------------------------------------------- what PyTorch's tests hold


@each_class
@pytest.mark.parametrize("contiguous", [True, False])
def test_the_loss_falls_or_rises(name: str, contiguous: bool) -> None:
    """With and without schedulers; for parameters with gaps without, which change no more than the rate."""
    info = infos()[name]
    plans: list[list[Callable[[Any], Any]]] = [[], *(list(plan) for plan in info.scheduler_inputs if contiguous)]
    for kwargs in configurations(name):
        for plan in plans:
            generator = torch.Generator().manual_seed(1)
            weight, bias, x = (torch.randn(shape, generator=generator) for shape in ((10, 5, 2), (10, 2), (5,)))
            w, b = (weight[..., 0].clone(), bias[:, 0].clone()) if contiguous else (weight[..., 0], bias[:, 0])
            b = b.view(shapes_for(name, (10,))[0])
            params = [w.requires_grad_(), b.requires_grad_()]
            optimizer = ours(name)(params, **copy.deepcopy(kwargs))
            schedulers = [make(optimizer) for make in plan]

            def loss(optimizer: Any = optimizer, params: Any = params, x: torch.Tensor = x) -> torch.Tensor:
                optimizer.zero_grad()
                value = (params[0].mv(x) + params[1].view(10)).pow(2).sum()
                value.backward()
                for p in params:
                    give_gradient(p, p.grad, name)
                return value

            first = loss().item()
            for _ in range(20):
                value = optimizer.step(loss)
                for scheduler in schedulers:
                    is_plateau = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
                    scheduler.step(value.item()) if is_plateau else scheduler.step()
            assert (loss().item() > first) == kwargs.get("maximize", False)


@each_class
def test_no_gradients_and_zero_gradients_move_nothing(name: str) -> None:
    for kwargs in configurations(name):
        p = torch.randn(5, 1)
        before = p.clone()
        optimizer = ours(name)([p], **kwargs)
        optimizer.step(lambda: torch.tensor([1]))
        assert torch.equal(p, before) and (name == "Adagrad" or not optimizer.state_dict()["state"])
        if kwargs.get("weight_decay", 0) or name in ("AdamW", "ASGD", "Muon"):
            continue
        p.grad = torch.zeros_like(p)
        if infos()[name].only_supports_sparse_grads:
            p.grad = torch.sparse_coo_tensor(torch.empty(1, 0), torch.empty(0, 1), (5, 1), check_invariants=True)
        optimizer.step()
        assert torch.equal(p, before)


@each_class
def test_states_copies_and_state_dicts(name: str) -> None:
    for kwargs in configurations(name):
        optimizer = stepped(name, kwargs)
        assert all(len(state) > 0 for state in optimizer.state.values())
        assert len(optimizer.state) == (0 if name == "SGD" and not kwargs.get("momentum") else 2)
        twin, again = copy.deepcopy(optimizer), stepped(name, kwargs)
        assert {k for k in vars(twin) if k[0] != "_"} == {k for k in vars(optimizer) if k[0] != "_"}
        again.load_state_dict(optimizer.state_dict())
        assert str(again.state_dict()) == str(optimizer.state_dict()) == str(twin.state_dict())
        before = str(optimizer.state_dict())
        for other in (twin, again):  # which share no state with the first one
            for p in other.param_groups[0]["params"]:
                give_gradient(p, torch.ones_like(p), name)
            other.step()
        assert str(again.state_dict()) == str(twin.state_dict())
        assert str(optimizer.state_dict()) == before


@each_class
def test_a_complex_parameter_is_a_pair_of_real_ones(name: str) -> None:
    if not infos()[name].supports_complex:
        return
    for kwargs in configurations(name):
        generator = torch.Generator().manual_seed(2)
        mixed = [torch.randn(shape, dtype=torch.complex64, generator=generator) for shape in ((4, 3), (5,))]
        mixed.append(torch.randn(3, 2, generator=generator))
        real = [torch.view_as_real(p).clone() if p.is_complex() else p.clone() for p in mixed]
        optimizers = [ours(name)(params, **copy.deepcopy(kwargs)) for params in (mixed, real)]
        for _ in range(3):
            for p, q in zip(mixed, real, strict=True):
                p.grad = torch.randn(p.shape, dtype=p.dtype, generator=generator)
                q.grad = torch.view_as_real(p.grad) if p.is_complex() else p.grad
            for optimizer in optimizers:
                optimizer.step()
        for p, q in zip(mixed, real, strict=True):
            assert torch.equal(torch.view_as_real(p) if p.is_complex() else p, q)
            for key, x in optimizers[0].state[p].items():
                assert not torch.is_tensor(x) or x.dim() == 0 or x.dtype == p.dtype, key


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
@pytest.mark.parametrize("unscale_before", [False, True])
@pytest.mark.parametrize("fused", [None, True])
def test_a_grad_scaler_changes_nothing_but_the_size_of_gradients(
    name: str, unscale_before: bool, fused: bool | None
) -> None:
    """Scales are powers of 2; the third step has an infinite gradient and is left out."""
    params, plain = [torch.randn(6, 5)], []
    plain = [p.clone() for p in params]
    scaled, unscaled = ours(name)(params, fused=fused), ours(name)(plain, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    for k in range(6):
        g = torch.randn(6, 5)
        params[0].grad, plain[0].grad = g * scaler.get_scale(), g
        if k == 2:
            params[0].grad[3, 3] = torch.inf
        scaler.scale(torch.zeros(()))
        if unscale_before:
            scaler.unscale_(scaled)
        scaler.step(scaled)
        scaler.update()
        if k != 2:
            unscaled.step()
        assert torch.equal(params[0], plain[0])
    assert str(scaled.state_dict()) == str(unscaled.state_dict())


def test_hooks_of_state_dicts_and_steps() -> None:
    optimizer, seen = stepped("Adam", {}), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append(d["more"]))
    optimizer.register_load_state_dict_post_hook(lambda o: o.param_groups[0].update(lr=0.25))
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert seen == ["pre", 1, "before", "after"] and optimizer.param_groups[0]["lr"] == 0.25


def test_rates_and_decays_of_groups() -> None:
    for cls in (optgen.torch.SGD, torch.optim.SGD):
        weight, bias = torch.ones(3), torch.ones(3)
        optimizer = cls([{"params": [weight], "weight_decay": 0.5, "lr": 0.1}, {"params": [bias]}], lr=0.25)
        for p in (weight, bias):
            p.grad = torch.full((3,), 2.0)
        optimizer.step()
        torch.testing.assert_close((weight, bias), (torch.full((3,), 0.75), torch.full((3,), 0.5)), rtol=0, atol=1e-7)


@each_class
def test_errors_and_equations_are_those_of_a_class_of_pytorch(name: str) -> None:
    cls = ours(name)
    with pytest.raises(ValueError, match=f"^{name}: states of float32 parameters cannot be stored as 'int7'"):
        cls([torch.ones(3, 1)], storage="int7")
    assert "The steps are kernels of optgen" in cls.__doc__ and "rescale_grad" not in cls.__doc__


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("RMSprop", {"weight_decay": 0.1}),
        ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
        ("AdamW", {}),
        ("SGD", {}),
    ],
)
def test_16_bits_are_not_further_from_the_truth_than_torchs(
    name: str, kwargs: dict[str, Any], dtype: torch.dtype
) -> None:
    """The furthest element after 100 steps is at most twice as far from the float64 run as PyTorch's furthest."""

    def weights(cls: Any, of: torch.dtype) -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        p = torch.randn(300, generator=generator).to(dtype).to(of)
        optimizer = cls([p], **kwargs)
        for _ in range(100):
            p.grad = torch.randn(300, generator=generator).to(dtype).to(of)
            optimizer.step()
        return p.double()

    base = getattr(torch.optim, name)
    truth = weights(base, torch.float64)
    own, torchs = ((weights(cls, dtype) - truth).abs().max() for cls in (ours(name), base))
    assert own <= 2 * torchs
