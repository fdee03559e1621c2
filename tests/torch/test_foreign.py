"""State dicts of bitsandbytes and torchao go on here with the steps that they would have made there, and back.

`tests/torch/data/make_foreign.py` has written the files of version 0.50.2 of bitsandbytes and 0.18.0 of torchao."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import optgen.torch
from optgen.torch.foreign import as_bitsandbytes
from tests.torch.data.make_foreign import numbers, records

DATA = Path(__file__).parent / "data"
NAMES = ("bitsandbytes-AdamW", "bitsandbytes-Lion", "torchao-8", "torchao-4", "torchao-Fp8")


class OptimState8bit(torch.Tensor):
    """A stand-in for torchao's tensor: what it holds, under its name."""


class OptimState4bit(OptimState8bit):
    pass


class OptimStateFp8(OptimState8bit):
    pass


KINDS = {kind.__name__: kind for kind in (OptimState8bit, OptimState4bit, OptimStateFp8)}


def restored(x: Any) -> Any:
    """The tensors that `make_foreign.py` has written as dicts."""
    if not isinstance(x, dict):
        return x
    if "kind" not in x:
        return {key: restored(value) for key, value in x.items()}
    made = torch.empty(0).as_subclass(KINDS[x["kind"]])
    for key in ("codes", "scale", "qmap"):
        if key in x:
            setattr(made, key, x[key])
    return made


def record(name: str) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(DATA / f"{name}.pt", weights_only=True)
    return {**content, "state": restored(content["state"])}


def loaded(make: Any, content: dict[str, Any], **how: Any) -> torch.optim.Optimizer:
    params = [torch.nn.Parameter(x.clone()) for x in content["before"]]
    optimizer: torch.optim.Optimizer = make(params, lr=1.0, **how)
    optimizer.load_state_dict({key: content[key] for key in ("state", "param_groups")})
    return optimizer


def check_next_step(optimizer: torch.optim.Optimizer, content: dict[str, Any], *, encoded: bool = False) -> None:
    """`encoded`: where states have been encoded anew, it is near on average."""
    params = optimizer.param_groups[0]["params"]
    for p, g in zip(params, numbers(3), strict=True):
        p.grad = g
    optimizer.step()
    for p, x in zip(params, content["after"], strict=True):
        if encoded:
            assert (p - x).abs().mean() < 1e-3
        else:
            torch.testing.assert_close(p.detach(), x, rtol=1e-6, atol=2e-6)


def classes(name: str) -> list[Any]:
    return [optgen.torch.Lion] if "Lion" in name else [optgen.torch.AdamW, optgen.torch.optimizer("adamw")]


@pytest.mark.parametrize("storage", [None, "int8_dynamic", "int4_dynamic"])
@pytest.mark.parametrize("name", NAMES)
def test_the_next_step_is_theirs(name: str, storage: str | None) -> None:
    """Codes that mean the same here are kept; states in 4 bits that were others are encoded anew, and steps differ."""
    content = record(name)
    for make in classes(name):
        optimizer = loaded(make, content, storage=storage)
        large, _, small = optimizer.param_groups[0]["params"]
        m = next(key for key in optimizer.state[large] if key in ("m", "exp_avg"))
        assert optimizer.param_groups[0]["lr"] == pytest.approx(1e-2)
        assert int(optimizer.state[small]["step"]) == 3 and optimizer.state[small][m].dtype == torch.float32
        if storage == "int8_dynamic" and name in ("bitsandbytes-AdamW", "bitsandbytes-Lion", "torchao-8"):
            kept = content["state"][0]
            kept = kept.get("__bnb_optimizer_quant_state__", kept)
            codes = kept["state1"] if "state1" in kept else kept["exp_avg"].codes
            assert torch.equal(optimizer.state[large][m], codes.view(17, 256))
        if storage is None or (storage == "int8_dynamic" and not name.endswith(("-4", "-Fp8"))):
            check_next_step(optimizer, content)
        else:
            check_next_step(optimizer, content, encoded=True)
        if storage == "int8_dynamic":
            assert optimizer.state[large][m + ".scale"].shape == (17, 1)


@pytest.mark.parametrize("make", [optgen.torch.AdamW, optgen.torch.optimizer("adamw"), optgen.torch.Lion])
def test_what_is_given_back_is_what_came(make: Any) -> None:
    content = record("bitsandbytes-Lion" if make is optgen.torch.Lion else "bitsandbytes-AdamW")
    optimizer = loaded(make, content, storage="int8_dynamic")
    back = as_bitsandbytes(optimizer)  # type: ignore[arg-type]
    for number, kept in content["state"].items():
        ours, theirs = (x["__bnb_optimizer_quant_state__"] for x in (back["state"][number], kept))
        assert back["state"][number]["step"] == kept["step"] and ours.keys() == theirs.keys()
        for key, x in theirs.items():
            torch.testing.assert_close(ours[key], x, rtol=1e-6, atol=1e-7 if "qmap" in key else 0)
    assert back["param_groups"][0]["betas"] == content["param_groups"][0]["betas"]
    again = loaded(make, {**content, **back}, storage="int8_dynamic")
    check_next_step(again, content)


def test_older_files_of_bitsandbytes_and_sharded_parameters() -> None:
    """States beside the count, as before 0.49; of a parameter whose blocks are those of its rows."""
    content = record("bitsandbytes-AdamW")
    for kept in content["state"].values():
        kept.update(kept.pop("__bnb_optimizer_quant_state__"))
    check_next_step(loaded(optgen.torch.AdamW, content, storage="int8_dynamic"), content)


def test_what_is_refused() -> None:
    adamw, lion = record("bitsandbytes-AdamW"), record("bitsandbytes-Lion")
    with pytest.raises(ValueError, match=r"of another optimizer: it has a state 'exp_avg_sq', and Lion has m"):
        loaded(optgen.torch.Lion, adamw)
    with pytest.raises(ValueError, match="AdamW: the state dict is of another optimizer, or of one with other argum"):
        loaded(optgen.torch.AdamW, lion)
    with pytest.raises(
        ValueError, match="Adagrad: the state dict is of bitsandbytes or torchao, whose states have no m"
    ):
        loaded(optgen.torch.Adagrad, adamw)
    several = copy.deepcopy(adamw)
    inner = several["state"][0]["__bnb_optimizer_quant_state__"]
    inner["state1"] = torch.stack([inner["state1"]] * 2)
    with pytest.raises(ValueError, match="several states in it, as for AdEMAMix, which are not converted"):
        loaded(optgen.torch.AdamW, several)
    del adamw["state"][0]["__bnb_optimizer_quant_state__"]["absmax1"]
    with pytest.raises(
        ValueError, match="state1' of another library: codes without the scales of blocks, or their map"
    ):
        loaded(optgen.torch.AdamW, adamw)
    four = optgen.torch.AdamW([torch.nn.Parameter(torch.ones(64, 80))], storage="int4_dynamic")
    four.param_groups[0]["params"][0].grad = torch.ones(64, 80)
    four.step()
    with pytest.raises(ValueError, match="is in int4_dynamic, in blocks that restart"):
        as_bitsandbytes(four)  # type: ignore[arg-type]


@pytest.mark.stress
@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("bitsandbytes", "torchao"))), reason="needs bitsandbytes and torchao"
)
def test_the_files_are_those_of_the_libraries() -> None:
    """Those that are installed here, whose versions may be others."""
    for name, content in records().items():
        made = {**content, "state": restored(content["state"])}
        for make in classes(name):
            check_next_step(loaded(make, made), made)
