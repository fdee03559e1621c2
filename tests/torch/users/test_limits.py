"""What other libraries cannot do with our optimizers is an error, or as docs/pytorch.md says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import optgen.torch
from tests.process import run
from tests.torch.users.test_snippets import ENVIRONMENT

pytestmark = pytest.mark.stress
X = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
DATA = torch.utils.data.TensorDataset(X, X[:, :1] * X[:, 1:2])
JOB = Path(__file__).parent / "zero.py"


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 96), nn.Tanh(), nn.Linear(96, 1))


def product(lightning: Any, make: Any) -> Any:
    class Product(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net, self.calls = network(), 0

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            self.calls += 1
            return nn.functional.mse_loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return make(self)

    return Product()


def fit(lightning: Any, make: Any, **options: Any) -> Any:
    quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    module = product(lightning, make)
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", **quiet, **options)
    trainer.fit(module, torch.utils.data.DataLoader(DATA, batch_size=8))
    return module


def test_lightning_clips_as_we_do_and_computes_each_phase() -> None:
    lightning = pytest.importorskip("lightning")
    theirs = fit(lightning, lambda net: optgen.torch.AdamW(net, lr=0.01), gradient_clip_val=0.01)
    ours = fit(lightning, lambda net: optgen.torch.AdamW(net, lr=0.01, clip_norm=0.01))
    assert all(map(torch.equal, theirs.parameters(), ours.parameters()))
    sam = optgen.torch.optimizer("adamw with sam")
    assert fit(lightning, lambda net: sam(net.parameters(), lr=0.01)).calls == 16
    with pytest.raises(RuntimeError, match="does not allow for gradient clipping"):
        fit(
            lightning,
            lambda net: optgen.torch.AdamW(net, lr=0.01, fused=True),
            precision="16-mixed",
            gradient_clip_val=1.0,
        )


def test_accelerate_gives_steps_a_closure_and_nothing_else() -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    net = network()
    alig = accelerator.prepare(optgen.torch.optimizer("alig")(net.parameters(), lr=0.1))
    sam = accelerator.prepare(optgen.torch.optimizer("adamw with sam")(net.parameters(), lr=0.1))
    calls = []

    def closure() -> torch.Tensor:
        loss = nn.functional.mse_loss(net(X), DATA.tensors[1])
        accelerator.backward(loss)
        calls.append(loss.item())
        return loss

    assert alig.step(closure) is None and sam.step(closure) is None and len(calls) == 3
    with pytest.raises(TypeError, match="reads 'loss'"):
        alig.step()
    with pytest.raises(RuntimeError, match="a step has phases"):
        sam.step()


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_makes_flat_tensors(stage: int, tmp_path: Path) -> None:
    pytest.importorskip("deepspeed")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [sys.executable, *torchrun, JOB, str(stage)]
    done = run(command, timeout=240, cwd=tmp_path, env=ENVIRONMENT, grace=10.0)
    assert done.returncode == 0, done.stderr
