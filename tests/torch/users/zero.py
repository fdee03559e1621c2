"""What optimizers do with the flat tensors of a stage of DeepSpeed's ZeRO: `torchrun --nproc-per-node 2 zero.py STAGE`.

Elementwise ones come near those of torch.optim. The others, and options that are about whole gradients, are refused.
"""

from __future__ import annotations

import sys
from typing import Any

import deepspeed
import deepspeed.ops
import pytest
import torch

import optgen.torch

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "zero_optimization": {"stage": int(sys.argv[1])},
    "zero_allow_untested_optimizer": True,
}


def trained(make: Any, **options: Any) -> tuple[Any, torch.Tensor]:
    """An engine after three steps, and the weights of its module."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 96), torch.nn.Tanh(), torch.nn.Linear(96, 96), torch.nn.Linear(96, 1))
    engine = deepspeed.initialize(model=net, optimizer=make(net.parameters(), lr=1e-2, **options), config=CONFIG)[0]
    for x in torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(engine.global_rank)):
        engine.backward(engine(x).square().mean())
        engine.step()
    params = list(engine.module.parameters())
    with deepspeed.zero.GatheredParameters(params, enabled=CONFIG["zero_optimization"] == {"stage": 3}):
        return engine, torch.cat([p.detach().flatten().clone() for p in params])


deepspeed.ops.__compatible_ops__.clear()  # or it would compile collectives in shared memory, for minutes
deepspeed.init_distributed("gloo")
_, theirs = trained(torch.optim.AdamW)
_, ours = trained(optgen.torch.AdamW)
torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)
for spec in ("muon_adamw", "lamb", "torch/adafactor", "prodigy"):
    with pytest.raises(ValueError, match=r"flat tensor of \d+ elements .* does not update each element for itself"):
        trained(optgen.torch.optimizer(spec))
for option in ({"clip_norm": 1.0}, {"skip_nonfinite": True}):
    with pytest.raises(ValueError, match="of whose gradient each process has a part"):
        trained(optgen.torch.AdamW, **option)
torch.distributed.destroy_process_group()
