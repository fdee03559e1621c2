"""Flat tensors in place of a network's parameters, as DeepSpeed's ZeRO puts them into groups."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from tests.torch.params import numbers

SHAPES = (96, 8), (96,), (40, 96)


def flatten(optimizer: torch.optim.Optimizer) -> None:
    """Put one tensor with all elements in place of the parameters, and give it a gradient."""
    (group,) = optimizer.param_groups
    flat = torch.cat([p.detach().flatten() for p in group["params"]]).requires_grad_()
    flat.grad = numbers(flat.shape, 1)
    group["params"] = [flat]


def whole(spec: str, **options: Any) -> Any:
    return optgen.torch.optimizer(spec)([Parameter(numbers(shape)) for shape in SHAPES], **options)


@pytest.mark.parametrize("spec", ["adam", "torch/adamw", "schedulefree_adamw"])
def test_elementwise_specs_update_a_flat_tensor_as_its_pieces(spec: str) -> None:
    flat, pieces = whole(spec, lr=0.01), whole(spec, lr=0.01)
    flatten(flat)
    (p,) = flat.param_groups[0]["params"]
    for piece, grad in zip(pieces.param_groups[0]["params"], p.grad.split([768, 96, 3840]), strict=True):
        piece.grad = grad.view(piece.shape)
    for _ in range(2):
        flat.step()
        pieces.step()
    assert torch.equal(p, torch.cat([x.detach().flatten() for x in pieces.param_groups[0]["params"]]))


@pytest.mark.parametrize("spec", ["muon_adamw", "lamb", "torch/adafactor", "prodigy"])
def test_specs_that_read_shapes_or_sums_refuse_it(spec: str) -> None:
    optimizer = whole(spec)
    flatten(optimizer)
    (p,) = optimizer.param_groups[0]["params"]
    before = p.detach().clone()
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"parameter 0 of group 0, of shape \(4704,\): a flat tensor of 4704 elements in"
        ):
            optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
    assert torch.equal(p, before)


def test_what_is_about_all_gradients_or_the_module_is_refused() -> None:
    for option in ({"clip_norm": 1.0}, {"skip_nonfinite": True}):
        optimizer = whole("adam", **option)
        flatten(optimizer)
        with pytest.raises(ValueError, match=f"{next(iter(option))}=.* of whose gradient each process has a part"):
            optimizer.step()
    optimizer = whole("adam with ema")
    flatten(optimizer)
    optimizer.step()
    with pytest.raises(ValueError, match="which eval"):
        optimizer.eval()
    with pytest.raises(ValueError, match=r"clip_norm=1\.0 with a flat tensor of"):
        optimizer.clip_norm = 1.0
    assert optimizer.clip_norm is None


def test_parameters_of_the_same_shapes_and_copies_are_as_ever() -> None:
    optimizer = whole("lamb", clip_norm=1.0)
    group = optimizer.param_groups[0]
    group["params"] = [Parameter(p.detach().clone()) for p in group["params"]]
    for each in (optimizer, copy.deepcopy(optimizer)):
        for p in each.param_groups[0]["params"]:
            p.grad = numbers(p.shape, 1)
        each.step()
