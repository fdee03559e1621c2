"""Steps of several phases, the loss as an input, and drawn starts on a GPU: the bits of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from tests.compiler.harness import same_bits
from tests.cuda.emulation import GpuArray, emulated

RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("name", "given"), [("adam with sam(rho=0.1)", {}), ("extra_adam", {}), ("alig", {"loss": 0.3}), ("gravity", {})]
)
def test_a_gpu_comes_to_the_bits_of_a_cpu(name: str, given: dict[str, Any]) -> None:
    with emulated() as (gpu,):
        arrays = [[RNG.standard_normal(s).astype("float32") for s in ((300,), (4, 5))] for _ in range(2)]
        params, grads = ([GpuArray(x, gpu) for x in own] for own in arrays)
        host, of_host = arrays
        steps = [
            optgen.load(name, target="cuda").bind(params, grads),
            optgen.load(name).bind(host, of_host),
        ]
        for _ in range(2):
            for phase in steps[0].rule.spec.phases or ("__call__",):
                for step in steps:
                    getattr(step, phase)(**given)
                assert all(same_bits(a.get(), b) for a, b in zip(params, host, strict=True))
        assert steps[0].state.t.tolist() == steps[1].state.t.tolist() == [2, 2]
