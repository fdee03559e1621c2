"""Blocks of codes run on over short rows of a parameter that is here as a whole, so that few bits are few."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch
from optgen.execute import storage
from optgen.torch.rules import blocks_by_row

CASES = {
    "embedding": lambda: torch.randn(5000, 128),
    "convolution": lambda: torch.randn(512, 16, 3, 3),
    "channels_last": lambda: torch.randn(512, 16, 3, 3).to(memory_format=torch.channels_last),
    "adapter": lambda: torch.randn(4096, 16),
    "vector": lambda: torch.randn(100_001),
    "complex": lambda: torch.randn(600, 32, dtype=torch.complex64),
}
adam = optgen.torch.optimizer("adam")
lamb = optgen.torch.optimizer("lamb")


def step(optimizer: torch.optim.Optimizer, seed: int) -> None:
    torch.manual_seed(seed)
    for p in optimizer.param_groups[0]["params"]:
        p.grad = torch.randn_like(p)
    optimizer.step()


@pytest.mark.parametrize(("bits", "most"), [("int8_dynamic", 2.1), ("int4_dynamic", 1.1)])
@pytest.mark.parametrize("case", CASES)
def test_two_states_in_codes_take_few_bytes(case: str, bits: str, most: float) -> None:
    torch.manual_seed(0)
    p, small = Parameter(CASES[case]()), Parameter(torch.randn(63, 65))
    optimizer = adam([p, small], storage=bits)
    step(optimizer, 1)
    states = [x for key, x in optimizer.state[p].items() if key != "step"]
    assert sum(x.nbytes for x in states) <= most * (2 if p.is_complex() else 1) * p.numel()
    assert optimizer.state[small]["m"].dtype == torch.float32, "less than 4096 elements"


@pytest.mark.parametrize("spec", ["adam", "lamb", "prodigy"])
def test_short_rows_have_the_bits_of_a_rule_and_long_ones_those_by_row(spec: str) -> None:
    """Beside each other in one step, also where values depend on several rows, or on all parameters."""
    torch.manual_seed(0)
    given = [torch.randn(300, 20), torch.randn(20, 300), torch.randn(5000)]
    ours = [Parameter(x.clone()) for x in given]
    optimizer = optgen.torch.optimizer(spec)(ours, storage="int8_dynamic")
    rule = optgen.load(spec, storage="int8_dynamic", blocks_by_row="long")
    bound = rule.bind(given, [torch.zeros_like(x) for x in given])
    for seed in (1, 2):
        step(optimizer, seed)
        bound.rebind([p.grad for p in ours])
        bound()
    scales = bound.state.arrays["v.scale"]
    assert [tuple(x.shape) for x in scales] == [(24,), (20, 2), (20,)]
    assert all(torch.equal(p, q) for p, q in zip(ours, given, strict=True))
    for p, x in zip(ours, scales, strict=True):
        assert torch.equal(optimizer.state[p]["v.scale"], torch.as_tensor(x))


@pytest.mark.parametrize("make", [adam, lamb])
@pytest.mark.parametrize("bits", ["int8_dynamic", "int8_linear", "int4_dynamic"])
def test_either_form_is_loaded(make: Any, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What shards have saved, with blocks in each row, goes on with its bits where a kernel can update rows one by one;
    otherwise, the numbers that its codes stand for are encoded."""
    torch.manual_seed(0)
    weight = torch.randn(150, 33)
    with monkeypatch.context() as patch:
        patch.setattr("optgen.torch.rules.blocks_by_row", lambda p, by_row=False: True)
        patch.setattr("optgen.torch.binding.blocks_by_row", lambda p, by_row=False: True)
        patch.setattr("optgen.torch.loading.blocks_by_row", lambda p, by_row=False: True)
        sharded = make([Parameter(weight.clone())], storage=bits)
        step(sharded, 1)
        saved = sharded.state_dict()
        expected = {key: x.clone() for key, x in saved["state"][0].items()}
    whole, numbers = (make([Parameter(weight.clone())], storage=x) for x in (bits, None))
    for optimizer in (whole, numbers):
        optimizer.load_state_dict(saved)
    kept, floats = (x.state_dict()["state"][0] for x in (whole, numbers))
    assert blocks_by_row(next(iter(whole.state))) == "long" and expected["m.scale"].shape == (150, 1)
    if make is adam:
        assert all(torch.equal(kept[key], x) for key, x in expected.items())
    else:
        buffer = optgen.load("lamb", storage=bits).kernel((150, 33)).states["m"]
        codes, scales = storage.encode(floats["m"].numpy(), buffer, by_row=False)
        assert torch.equal(kept["m"], torch.from_numpy(codes))
        assert torch.equal(kept["m.scale"], torch.from_numpy(scales))
    for seed in (2, 3):
        step(whole, seed)


@pytest.mark.parametrize("shape", [(400, 32), (3000, 3), (6000,)])
def test_sparse_gradients_find_blocks_in_rows(shape: tuple[int, ...]) -> None:
    """Codes of rows that are updated alone are encoded anew, those of very short ones decoded; dense gradients may come
    again."""
    torch.manual_seed(0)
    p, q = (Parameter(torch.ones(shape)) for _ in range(2))
    ours, floats = adam([p], storage="int8_linear"), adam([q])
    for k in range(6):
        torch.manual_seed(k)
        p.grad = torch.randn(shape)
        if k in (2, 3):
            p.grad = torch.sparse_coo_tensor(torch.tensor([[1, 7]]), p.grad[:2], shape, check_invariants=False)
        q.grad = p.grad.clone()
        ours.step()
        floats.step()
        assert ours.state[p]["m"].dtype == (torch.float32 if k in (2, 3) and shape[-1] != 32 else torch.uint8)
    torch.testing.assert_close(p, q, rtol=0, atol=2e-3)
    assert not torch.equal(p, torch.ones(shape))
