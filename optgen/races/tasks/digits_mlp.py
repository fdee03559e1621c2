"""A multilayer perceptron on handwritten digits: 8 by 8 pixels, three layers, 17,000 weights."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from optgen.races.digits import digits

TITLE = "A perceptron of three layers on scikit-learn's digits"
LOSS = "held-out loss (nats per image)"
TARGET = 0.15

STEPS, BATCH, WIDTH = 300, 32, 96
LOOKS = 10
"""How often the held-out loss is computed."""


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    torch.manual_seed(seed)
    learnt, held_out = digits()
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)
    )
    optimizer = make_optimizer(net, STEPS)
    for step in range(1, STEPS + 1):
        chosen = torch.randint(len(learnt.images), (BATCH,))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(learnt.images[chosen]), learnt.classes[chosen])
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = F.cross_entropy(net(held_out.images), held_out.classes)
            report(step, loss.item())
