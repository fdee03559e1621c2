"""Writes the state dicts of bitsandbytes and torchao that `test_foreign.py` loads, where both are installed:
`python tests/torch/data/make_foreign.py`. torchao's tensors are written as dicts of what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
SHAPES = ((17, 256), (64, 80), (11,))
"""Rows that are blocks, short rows, and too few elements for codes."""


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if hasattr(x, "codes"):
        return {
            "kind": type(x).__name__,
            **{key: getattr(x, key).clone() for key in ("codes", "scale", "qmap") if hasattr(x, key)},
        }
    return x.clone() if isinstance(x, torch.Tensor) else x


def numbers(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


def record(make: Any, **how: Any) -> dict[str, Any]:
    """A state dict after three steps, and the weights before and after the fourth one."""
    params = [torch.nn.Parameter(x) for x in numbers(9)]
    optimizer = make(params, **how)
    for step in range(4):
        for p, g in zip(params, numbers(step), strict=True):
            p.grad = g
        if step == 3:
            content = optimizer.state_dict()
            groups = [{key: float(x) if key == "lr" else x for key, x in g.items()} for g in content["param_groups"]]
            state = {k: plain(x) for k, x in content["state"].items()}
            before = [p.detach().clone() for p in params]
        optimizer.step()
    return {"state": state, "param_groups": groups, "before": before, "after": [p.detach() for p in params]}


def records() -> dict[str, dict[str, Any]]:
    import bitsandbytes
    from torchao import optim

    found = {
        "bitsandbytes-AdamW": record(bitsandbytes.optim.AdamW8bit, lr=1e-2),
        "bitsandbytes-Lion": record(bitsandbytes.optim.Lion8bit, lr=1e-2),
        "torchao-8": record(optim.AdamW8bit, lr=1e-2),
        "torchao-4": record(optim.AdamW4bit, lr=1e-2),
        "torchao-Fp8": record(optim.AdamWFp8, lr=1e-2),
    }
    return found


if __name__ == "__main__":
    for name, content in records().items():
        torch.save(content, HERE / f"{name}.pt")
