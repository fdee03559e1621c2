"""A step with products for which there is no memory changes nothing, whatever there is no room for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute import buffers
from tests.compiler.harness import same_bits
from tests.compiler.test_stages import FUNCTIONS, MUON, STATES

ROOTS = optgen.parse("""\
optimizer Roots
state L: rows x rows = 0
update:
  L' = L + g@g^T
  P  = inverse_root(L' + identity(rows), 4)
  w' = w - lr*P@g
""")
MIXED = optgen.parse("""\
optimizer Mixed "products of one matrix and factorizations of another"
flag tall = rows > cols
state m = 0
update:
  m' = m + g
  O  = orthonormal(m')   if tall
  O  = m'@m'^T@m'        otherwise
  w' = w - lr*O
""")


@pytest.mark.parametrize("spec", [MUON, STATES, FUNCTIONS, ROOTS, MIXED], ids=lambda spec: spec.name)
def test_a_step_is_made_whole_or_not_at_all(spec: optgen.Optimizer, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    shapes = [(140, 150), (5, 3), (4, 4)]
    weights, grads = ([rng.normal(size=s).astype(np.float32) for s in shapes] for _ in range(2))
    alike = [w.copy() for w in weights]
    step, other = (optgen.load(spec, lr=0.01).bind(own, grads) for own in (weights, alike))
    left = [0]

    def limited(function: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise MemoryError("no room for an array")
            return function(*args, **kwargs)

        return allocate

    failed = 0
    for _ in range(2):
        before = [*map(np.copy, weights), *(np.copy(x) for own in step.state.arrays.values() for x in own)]
        for room in range(1000):
            with monkeypatch.context() as patch:
                for module, name in (
                    (np, "empty"),
                    (np, "empty_like"),
                    (np, "zeros"),
                    (np, "full"),
                    (buffers, "aligned"),
                ):
                    patch.setattr(module, name, limited(getattr(module, name)))
                left[0] = room
                try:
                    step()
                    break
                except MemoryError:
                    failed += 1
            after = [*weights, *(x for own in step.state.arrays.values() for x in own)]
            assert all(map(same_bits, before, after)) and step.state.t.tolist() == other.state.t.tolist(), room
        other()
        assert all(map(same_bits, weights, alike)) and step.state.t.tolist() == other.state.t.tolist()
        assert all(
            same_bits(x, y)
            for name, own in step.state.arrays.items()
            for x, y in zip(own, other.state.arrays[name], strict=True)
        )
    assert failed > 10
