"""Contenders: what a line means, and who is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import optgen
from optgen.races import contender
from optgen.races.contender import CannotRaceError, read, swept


def made(line: str, rate: float = 0.1) -> torch.optim.Optimizer:
    return read(line).make(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)), rate, seed=5)


def test_arguments_are_those_of_the_spec_or_of_all_optimizers() -> None:
    group = made("adam(beta2=0.99, amsgrad=true, storage=bfloat16) with lookahead").param_groups[0]
    assert (group["lr"], group["betas"], group["amsgrad"]) == (0.1, (0.9, 0.99), True)
    assert (group["storage"], "k" in group) == ("bfloat16", True)
    assert made("adam").seed == 5  # type: ignore[attr-defined]


def test_a_spec_of_matrices_leaves_the_rest_to_adamw_at_a_rate_that_keeps_its_ratio() -> None:
    own = read("muon(momentum=0.9)")
    usual = own.lr_hint if own.lr_hint is not None else 0.001
    group = made("muon(momentum=0.9)", rate=3 * usual).param_groups[0]
    assert (own.name, own.spec) == ("muon(momentum=0.9)", "muon otherwise adamw")
    assert (group["lr"], group["momentum"]) == (3 * usual, 0.9)
    assert group["adamw_lr"] == pytest.approx(3 * 0.001)
    assert read("muon with ema").spec == "muon otherwise adamw with ema"


def test_a_sweep_makes_a_line_of_each_value() -> None:
    assert swept("adam", "beta2", [".9", ".99"]) == ["adam(beta2=.9)", "adam(beta2=.99)"]
    assert swept("adam(beta1=0.8, beta2=0.5) with ema", "beta2", [".9"]) == ["adam(beta1=0.8, beta2=.9) with ema"]
    assert swept("adam()", "beta2", [".9"]) == ["adam(beta2=.9)"]
    assert swept("adam with ema", "beta2", [".9"]) == ["adam(beta2=.9) with ema"]


def test_identity_is_what_is_computed_not_how_it_is_written(tmp_path: Path) -> None:
    plain = tmp_path / "mine.opt"
    text = "optimizer Mine \"mine\"\nparam beta = 0.9\nstate m = 0\nupdate:\n  m' = beta*m + g\n  w' = w - lr*m'\n"
    plain.write_text(text)
    first = read(str(plain)).identity
    plain.write_text(text.replace('"mine"', '"other words"').replace("update:", "# a comment\nupdate:"))
    assert read(str(plain)).identity == first
    assert read(f"{plain}(beta=0.9)").identity != first
    plain.write_text(text.replace("0.9", "0.8"))
    assert read(str(plain)).identity != first


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("adam(beta3=1)", "adam(beta3=1): did you mean 'beta"),
        ("alig(momentum=2)", "alig(momentum=2): ALIG: "),
        ("adam(lr=0.1)", "the race finds the rate itself; leave 'lr' out"),
        ("adam(learning_rate=0.1)", "the race finds the rate itself"),
        ("adam(beta2)", "'beta2' is not NAME=VALUE"),
        ("adam(beta2=.9, beta2=.8)", "'beta2' is given twice"),
        ("adam(beta2=fast)", "adam(beta2=fast): "),
        ("adam(beta2=.9,,)", "'' is not NAME=VALUE"),
    ],
)
def test_wrong_arguments_are_refused(line: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(line)
    assert message in str(caught.value)


def test_who_needs_more_than_gradients_cannot_race() -> None:
    with pytest.raises(CannotRaceError, match=r"^sophia needs 'h_hat' \(.*Hessian.*\) beside the gradient"):
        read("sophia")
    with pytest.raises(CannotRaceError, match="write it to a file"):
        read(optgen.load("muon").spec)
    with pytest.raises(FileNotFoundError, match="no spec named 'adamv'; did you mean 'adam"):
        read("adamv")
    assert not contender.read("cocob").has_rate


def test_rates_are_those_that_the_spec_takes() -> None:
    bounded = 'optimizer B "b"\nparam lr = 0.1 in [0, 1]\nupdate:\n  w\' = w - lr*g\n'
    assert [read(optgen.parse(bounded)).allows(x) for x in (0.1, 1.0, 1.01)] == [True, True, False]
    assert read("sgd").allows(1e30)
