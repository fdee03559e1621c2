"""The ceiling of a spec's own sweeps: it moves what the spec's kernels move, and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import optgen
from optgen import pipeline
from optgen.ir.cost import sweeps
from optgen.ir.verify import verify

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def own_ceiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, as the programs beside it find it."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    import own_ceiling

    yield own_ceiling
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["lamb", "lans", "adafactor", "mars", "adam"])
def test_the_same_sweeps(name: str, own_ceiling: Any) -> None:
    rule = optgen.load(name)
    kernel = pipeline.plan(pipeline.build(rule.spec, rule.variant((70, 130))))
    additions = own_ceiling.additions_only(kernel)
    verify(additions)
    assert sweeps(additions) == sweeps(kernel)


def test_a_step_changes_nothing(own_ceiling: Any) -> None:
    import workloads

    step = own_ceiling.bind(replace(workloads.OPTIMIZERS["lamb"]), [(70, 130), (5,)])
    step()
    assert not any(x.any() for arrays in step.state.arrays.values() for x in arrays)
