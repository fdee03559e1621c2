"""A small convolutional network on handwritten digits that are moved by up to a pixel: 10,000 weights."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from optgen.races.digits import digits

TITLE = "A small CNN on scikit-learn's digits, moved at random"
LOSS = "held-out loss (nats per image)"
TARGET = 0.15

STEPS, BATCH, CHANNELS = 200, 32, 16
LOOKS = 10
"""How often the held-out loss is computed."""


def moved(images: torch.Tensor) -> torch.Tensor:
    """All images moved by the same draw of -1, 0 or 1 pixels in both directions, zeros beyond the edges."""
    down, right = torch.randint(3, (2,)).tolist()
    return F.pad(images, (1, 1, 1, 1))[:, :, down : down + 8, right : right + 8]


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    torch.manual_seed(seed)
    learnt, held_out = digits()
    net = nn.Sequential(
        nn.Conv2d(1, CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(CHANNELS, 2 * CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * CHANNELS * 16, 10),
    )
    optimizer = make_optimizer(net, STEPS)
    for step in range(1, STEPS + 1):
        chosen = torch.randint(len(learnt.images), (BATCH,))
        images = moved(learnt.images[chosen])

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images), learnt.classes[chosen])
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = F.cross_entropy(net(held_out.images), held_out.classes)
            report(step, loss.item())
