"""Laws of scale and sign: facts that are known, and every law that is proved beside what the interpreter does."""

from __future__ import annotations

from typing import Any

import pytest

from optgen import specfiles
from optgen.analysis import Statement, Verdict, analyze
from optgen.analysis.characters import ONE, Multiplied, Scaling, SignFlip
from optgen.analysis.scale import gradient_scale
from optgen.analysis.sign import gradient_sign
from optgen.analysis.symmetry import is_seen, symmetry
from optgen.analysis.trial import RandomRun
from optgen.analysis.weights import weight_scale
from tests.analysis.subjects import subject
from tests.sweeps import swept

WHAT = {
    "gradient scaled": Multiplied(Scaling(), gradient=ONE),
    "gradient flipped": Multiplied(SignFlip(), gradient=ONE),
    "weight scaled": Multiplied(Scaling(), weight=ONE),
    "both flipped": Multiplied(SignFlip(), gradient=ONE, weight=ONE),
}
SAMPLE = ("sgd", "adam", "lamb", "madgrad", "extra_adam", "sophia", "matrix/muon", "rprop")


@pytest.mark.parametrize("name", swept(specfiles.all_available(), SAMPLE))
def test_proved_laws_hold_in_runs(name: str) -> None:
    one = subject(name)
    for what in WHAT.values():
        law = symmetry(one, what)
        if law is not None and law.tried is None:
            assert is_seen(one, what, law, RandomRun(one, 5), 8), f"{name}: {law}"


FACTS: list[tuple[Any, str, dict[str, Any], str]] = [
    (gradient_scale, "sgd", {"momentum": 0.9}, "linear"),
    (gradient_scale, "sgd", {"wd": 0.1, "clip_gradient": 1.0}, "none"),
    (gradient_scale, "adam", {}, "limit-invariant"),
    (gradient_scale, "adam_atan2", {}, "invariant"),
    (gradient_scale, "lion", {"wd": 0.1}, "invariant"),
    (gradient_scale, "signum", {"momentum": 0}, "invariant"),
    (gradient_scale, "lars", {}, "invariant"),
    (gradient_scale, "matrix/muon", {}, "limit-invariant"),
    (gradient_scale, "madgrad", {}, "limit-degree 1/3"),
    (gradient_scale, "sophia", {}, "limit-invariant"),
    (gradient_sign, "adam", {}, "odd"),
    (gradient_sign, "adamw", {"wd": 0.1}, "odd-with-weights"),
    (gradient_sign, "sgld", {}, "none"),
    (weight_scale, "lamb", {}, "equivariant"),
    (weight_scale, "lars", {}, "equivariant"),
    (weight_scale, "adam", {}, "invariant"),
    (weight_scale, "adamw", {"wd": 0.1}, "none"),
]


@pytest.mark.parametrize(("question", "name", "values", "claim"), FACTS)
def test_known_facts_are_found(question: Any, name: str, values: dict[str, Any], claim: str) -> None:
    first: Statement = question(subject(name, **values))[0]
    assert first.claim == claim
    assert (first.verdict is Verdict.PROVED) == (claim != "none")


def test_a_law_without_a_rule_is_found_by_running_and_says_so() -> None:
    (found,) = gradient_sign(subject("ftml"))
    assert (found.claim, found.verdict) == ("odd", Verdict.RUN)
    assert found.text.endswith("found in 5 random runs of 20 updates, to 1e-09.")


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="Adam has no argument 'beta'"):
        analyze(subject("adam").spec, beta=0.9)
