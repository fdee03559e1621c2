"""The perceptron of digits_mlp with weights of bfloat16, where small updates are lost to rounding.

A weight has 8 bits: it stays where it is if an update moves it by less than 1/512 of itself. Race a spec with
weights="kahan" or weights="stochastic", which lose nothing, beside the same one without. The network computes in
float32, of weights that are cast, as products of bfloat16 take long on CPUs.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from optgen.races.digits import digits

TITLE = "A perceptron with weights of bfloat16 on scikit-learn's digits"
LOSS = "held-out loss (nats per image)"
TARGET = 0.15

STEPS, BATCH, WIDTH = 400, 32, 96
LOOKS = 10
"""How often the held-out loss is computed."""


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    torch.manual_seed(seed)
    learnt, held_out = digits()
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)
    ).to(torch.bfloat16)
    optimizer = make_optimizer(net, STEPS)

    def loss_of(images: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        weights = {name: p.float() for name, p in net.named_parameters()}
        return F.cross_entropy(functional_call(net, weights, (images,)), classes)

    for step in range(1, STEPS + 1):
        chosen = torch.randint(len(learnt.images), (BATCH,))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = loss_of(learnt.images[chosen], learnt.classes[chosen])
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = loss_of(held_out.images, held_out.classes)
            report(step, loss.item())
