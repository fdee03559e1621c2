"""Models that others wrap: DistributedDataParallel and FSDP1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.distributed.fsdp import FlatParameter

import optgen.torch
from tests.process import run

JOB = Path(__file__).parent / "jobs" / "wrapped.py"


def test_what_replicas_and_flat_shards_cannot_do_is_refused(tmp_path: Path) -> None:
    result = run([sys.executable, JOB, tmp_path], timeout=300, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "source",
    [
        "optimizer Sized\nupdate:\n  w' = w - lr*size*g\n",
        "optimizer Ranked\nflag matrix = rank >= 2\nupdate:\n  w' = w - lr*g  if matrix\n  w' = w  otherwise\n",
        "optimizer Normed\nupdate:\n  w' = w - lr*g/(1 + norm(g))\n",
        "optimizer Together\nupdate:\n  w' = w - lr*g/(1 + norm(g, over params))\n",
        "lamb with lookahead(k=2)",
    ],
)
def test_flat_parameters_are_for_specs_of_single_elements(source: str) -> None:
    flat = FlatParameter(torch.ones(12), requires_grad=True)
    cls = optgen.torch.optimizer(optgen.parse(source) if source.startswith("optimizer") else source)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0, of shape \(12,\): a flat parameter"):
        cls([flat])
    optgen.torch.optimizer("adam with lookahead(k=2)")([flat])
