"""The table by use: for each kind of training the optimizer to begin with, its first rate, and who says so.

A row is what its source recommends or used, no measurement of this project. What states take is computed. To add a use,
add a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MATRIX = (4096, 4096)
"""The shape of the float32 parameter whose states are counted, a matrix of a large language model."""


@dataclass(frozen=True)
class UseCase:
    """One row: `spec` is the name of a spec or of a chain, `rate` the first learning rate, `arguments` are others than
    the defaults; `source` says who recommends it for that use, and at which rate."""

    use: str
    spec: str
    rate: float
    why: str
    source: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = MATRIX

    @property
    def call(self) -> str:
        """`optgen.load("torch/adam", lr=0.0002, beta1=0.5)`."""
        given = {"lr": self.rate, **self.arguments}
        return f'optgen.load("{self.spec}", {", ".join(f"{name}={_written(x)}" for name, x in given.items())})'

    def state_bytes(self) -> float:
        """Bytes of states for each element of a float32 parameter of this `shape`."""
        from optgen.api import load
        from optgen.execute.planned import PlannedParam, planned

        rule = load(self.spec, lr=self.rate, **self.arguments)
        row = planned(rule, PlannedParam("w", self.shape, "float32", "cpu"), self.shape, {})
        return row.state_bytes / row.elements


def _written(x: float | bool | str) -> str:
    return f'"{x}"' if isinstance(x, str) else f"{x:g}" if isinstance(x, float) else str(x)


USES = (
    UseCase(
        "pretraining a language model",
        "muon_adamw",
        0.02,
        "matrices by Muon, embeddings and the head by AdamW",
        "Liu et al. 2025, arXiv:2502.16982; rate: https://github.com/KellerJordan/Muon",
    ),
    UseCase(
        "pretraining a language model, as most did",
        "torch/adamw",
        0.0006,
        "the baseline of nearly all papers",
        "Brown et al. 2020, arXiv:2005.14165, table 2.1 and appendix B: 125M parameters",
        {"beta2": 0.95, "weight_decay": 0.1},
    ),
    UseCase(
        "fine-tuning a whole language model",
        "torch/adamw",
        2e-5,
        "rates far below those of pretraining",
        "Devlin et al. 2019, arXiv:1810.04805, appendix A.3: 2e-5 to 5e-5",
    ),
    UseCase(
        "LoRA and QLoRA",
        "torch/adamw",
        0.0002,
        "few weights are trained, at a larger rate",
        "Dettmers et al. 2023, arXiv:2305.14314, appendix B: 7B and 13B parameters",
        {"storage": "int8_dynamic"},
    ),
    UseCase(
        "a CNN from scratch",
        "torch/sgd",
        0.1,
        "the rate is for batches of 256, and proportional to them",
        "He et al. 2016, arXiv:1512.03385, section 3.4; Goyal et al. 2017, arXiv:1706.02677",
        {"momentum": 0.9, "nesterov": True},
    ),
    UseCase(
        "a vision transformer",
        "torch/adamw",
        0.0005,
        "the rate is for batches of 512, and proportional to them",
        "Touvron et al. 2021, arXiv:2012.12877, table 9",
        {"weight_decay": 0.05},
    ),
    UseCase(
        "a diffusion model",
        "torch/adam with ema",
        0.0002,
        "pictures are made by averaged weights",
        "Ho et al. 2020, arXiv:2006.11239, appendix B",
        {"decay": 0.9999},
    ),
    UseCase(
        "a GAN",
        "torch/adam",
        0.0002,
        "a smaller momentum keeps both networks from swinging",
        "Radford et al. 2016, arXiv:1511.06434, section 4",
        {"beta1": 0.5},
    ),
    UseCase(
        "reinforcement learning (PPO)",
        "torch/adam",
        0.0003,
        "no weight decay, as targets move",
        "Schulman et al. 2017, arXiv:1707.06347, table 3",
    ),
    UseCase(
        "a physics-informed network",
        "soap_adamw",
        0.003,
        "curvature reconciles the terms of the loss",
        "Wang et al. 2025, arXiv:2502.00604; rate: https://github.com/nikhilvyas/SOAP",
    ),
    UseCase(
        "a recommender with large embeddings",
        "groupadagrad",
        0.01,
        "one number for each row, and rows without a gradient are not touched",
        "Mudigere et al. 2022, arXiv:2104.05158; rate: the default of torch.optim.Adagrad",
        shape=(1_000_000, 64),
    ),
    UseCase(
        "a few GB of memory",
        "torch/adamw",
        0.001,
        "both moments in 8 bits, at AdamW's rate",
        "Dettmers et al. 2022, arXiv:2110.02861",
        {"storage": "int8_dynamic"},
    ),
    UseCase(
        "as little memory as can be",
        "adafactor",
        0.01,
        "rows and columns of the second moment, no first one, and a rate that falls by itself",
        "Shazeer & Stern 2018, arXiv:1804.04235, section 9",
    ),
    UseCase(
        "large batches",
        "muon_adamw",
        0.02,
        "loses less of what samples teach than AdamW does where batches are very large",
        "Essential AI 2025, arXiv:2505.02222, abstract; rate: https://github.com/KellerJordan/Muon",
    ),
    UseCase(
        "no tuning of a rate",
        "prodigy",
        1.0,
        "finds the rate; lr is a factor on it, for a schedule",
        "Mishchenko & Defazio 2024, arXiv:2306.06101; https://github.com/konstmish/prodigy",
    ),
    UseCase(
        "no schedule, or an end that is not known",
        "schedulefree_adamw",
        0.0025,
        "evaluates averaged weights, within optimizer.evaluating()",
        "Defazio et al. 2024, arXiv:2405.15682; https://github.com/facebookresearch/schedule_free",
    ),
)
