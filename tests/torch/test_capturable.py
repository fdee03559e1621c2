"""capturable without a GPU: what it means on the CPU, and what of it is no matter of a device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from optgen.torch import optimizer
from optgen.torch.forms import GpuScalars, shown
from optgen.torch.hooks import GpuScaler, can_stay
from optgen.torch.torch_classes import CLASSES
from optgen.torch.values import GroupValues

SHAPES = ((3, 4), (5,))


class OnGpu(torch.Tensor):
    """A number that says that it is on a GPU, and counts how often it is read."""

    is_cuda = True  # type: ignore[assignment]
    reads = 0

    def item(self) -> Any:
        self.reads += 1
        return super().item()


def on_gpu(value: float) -> OnGpu:
    return torch.tensor(value).as_subclass(OnGpu)


def weights() -> list[Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def run(opt: torch.optim.Optimizer, params: list[Parameter]) -> None:
    for k in range(3):
        for p in params:
            p.grad = torch.cos(p.detach() * (k + 1))
        opt.step()


@pytest.mark.parametrize("name", ["lion", "nadam", "torch/sgd", "torch/adam", "torch/nadam", "torch/asgd"])
def test_it_changes_nothing_on_the_cpu(name: str) -> None:
    plain, own = weights(), weights()
    before, after = optimizer(name)(plain), optimizer(name)(own, capturable=True)
    run(before, plain)
    run(after, own)
    for p, q in zip(plain, own, strict=True):
        assert torch.equal(p, q)
        assert all(x.device.type == "cpu" and torch.equal(x, before.state[p][key]) for key, x in after.state[q].items())
    assert after.param_groups[0]["capturable"] is True
    again = optimizer(name)(weights(), capturable=True)
    again.load_state_dict(before.state_dict())
    assert "capturable" in again.param_groups[0]


def test_every_class_takes_it_once() -> None:
    for name in (*CLASSES, "Lion"):
        opt = getattr(optgen.torch, name)([torch.zeros(3, 1)], capturable=True)
        assert opt.param_groups[0]["capturable"] is True
    assert "capturable" not in optgen.torch.SGD([torch.zeros(3)]).param_groups[0]
    with pytest.raises(ValueError, match="'capturable' is an argument of every PyTorch optimizer"):
        optimizer(
            optgen.parse("optimizer X\nparam lr = 0.1\nparam capturable = 1\nupdate:\n  w' = w - lr*g*capturable\n")
        )


@pytest.mark.parametrize("name", ["torch/adam", "lion"])
def test_tensors_on_a_gpu_are_read_once_and_handed_on(name: str) -> None:
    cls = optimizer(name)
    opt = cls([torch.zeros(3)], capturable=True)
    group, rate, beta = opt.param_groups[0], on_gpu(0.25), on_gpu(0.5)
    group |= {"lr": rate, "betas": (beta, 0.75)}
    values = GroupValues(opt.spec, opt.spelling, group)
    assert (values.arguments.values["lr"], values.arguments.values["beta1"]) == (0.25, 0.5)
    assert values.on_gpu.tensors == {"lr": rate, "beta1": beta}
    rate.fill_(0.125)  # as a scheduler does
    assert values.look() and values.changed == {}
    group["betas"] = (beta, 0.5)
    assert values.look() and values.changed == {"beta2": 0.5}
    assert (rate.reads, beta.reads) == (1, 1)
    other = group["lr"] = on_gpu(0.25)
    assert values.look() and values.changed["lr"] is other  # of the same number as before, but it may change
    group["lr"] = 0.25
    assert values.look() and values.changed == {"lr": 0.25} and values.look() and values.changed == {}
    group["capturable"], group["lr"] = False, rate
    assert not values.look() and values.arguments.values["lr"] == 0.125


def test_what_chooses_code_is_read_by_the_host() -> None:
    opt = optgen.torch.SGD([torch.zeros(3)], capturable=True)
    group = opt.param_groups[0]
    group["momentum"] = momentum = on_gpu(0.0)
    values = GroupValues(opt.spec, opt.spelling, group)
    assert values.on_gpu.tensors == {}
    momentum.fill_(0.5)
    assert not values.look() and values.arguments.values["momentum"] == 0.5


def test_what_cannot_read_a_tensor_on_a_gpu_says_so() -> None:
    p = Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    opt = optgen.torch.Adam([("layer.weight", p)], capturable=True)
    opt.param_groups[0]["lr"] = on_gpu(0.1)
    with pytest.raises(ValueError, match=r"^lr: a tensor on a GPU, which parameter 'layer.weight' on the CPU cannot"):
        opt.step()
    params = weights()
    several = optgen.torch.Prodigy([{"params": [q]} for q in params], capturable=True)
    run(several, params)
    several.param_groups[1]["lr"] = on_gpu(0.5)
    before = [q.detach().clone() for q in params]
    with pytest.raises(
        ValueError, match=r"^Prodigy shares values between all parameters, so with several groups 'lr' must be a nu"
    ):
        several.step()
    assert all(map(torch.equal, params, before))


def test_shown_counts_are_the_counts() -> None:
    kept: list[dict[str, Any]] = [{"step": torch.tensor(3.0), "m": 1}, {"step": torch.tensor(4.0)}]
    counts = shown("step", torch.tensor([3, 4]), kept)
    counts += 1  # as a replay does
    assert [k["step"].item() for k in kept] == [4, 5] and kept[0]["step"].dtype == torch.int64
    kept[1]["step"].fill_(9)
    again = shown("step", torch.tensor([4, 9]), kept)
    assert again.data_ptr() == counts.data_ptr() and counts.tolist() == [4, 9]
    loaded = [{"step": torch.tensor(7)}, {"step": torch.tensor(8)}]  # each with memory of its own
    there = loaded[0]["step"]
    shown("step", torch.tensor([7, 8]), loaded).add_(1)
    assert loaded[0]["step"] is there and [k["step"].item() for k in loaded] == [8, 9]


def test_numbers_are_copied_to_and_fro() -> None:
    kept: list[dict[str, Any]] = [{}, {}]
    values = torch.tensor([0.1, 0.25], dtype=torch.float64)
    numbers = GpuScalars("mu", values, kept, torch.float32)
    assert kept[0]["mu"].item() == torch.tensor(0.1).item() and kept[0]["mu"].dtype == torch.float32
    kept[1]["mu"].fill_(0.75)
    numbers.read()
    values *= 2
    numbers.write()
    assert kept[1]["mu"].item() == 1.5 and values[1].item() == 1.5


def test_a_scaler_has_addresses_that_stay() -> None:
    own = GpuScaler()
    scale, found_inf = own.on(torch.device("cpu"))
    assert (scale.item(), found_inf.item()) == (1, 0) and scale.dtype == found_inf.dtype == torch.float32
    own.write(torch.tensor([512.0]), torch.tensor(1.0))
    assert (scale.item(), found_inf.item()) == (512, 1) and own.on(torch.device("cpu"))[0] is scale
    own.write(None, None)
    assert (scale.item(), found_inf.item()) == (1, 0)


def test_what_the_host_must_know_of_a_scaler() -> None:
    p = Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    empty = Parameter(torch.ones(3))
    assert not can_stay(torch.tensor(0.0), [{"params": []}])
    assert can_stay(on_gpu(0.0), [{"params": [empty]}])
    assert not can_stay(on_gpu(0.0), [{"params": [empty]}, {"params": [p]}])
