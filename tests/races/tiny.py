"""A task of milliseconds: a line through points, with noise, by gradients of batches."""

import torch
from torch import nn

TITLE = "A line through noisy points"
LOSS = "held-out loss (squared error)"
TARGET = 0.5
STEPS = 20


def train(make_optimizer, seed, report):
    torch.manual_seed(seed)
    x, net = torch.randn(64, 4), nn.Linear(4, 2)
    y = x @ torch.tensor([[1.0, 0.0], [0.0, -1.0], [2.0, 1.0], [0.5, 0.5]]) + 0.1 * torch.randn(64, 2)
    optimizer = make_optimizer(net, STEPS)
    for step in range(1, STEPS + 1):
        batch = torch.randint(48, (8,))

        def closure(batch=batch):
            optimizer.zero_grad()
            loss = (net(x[batch]) - y[batch]).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % 4 == 0:
            with optimizer.evaluating(), torch.no_grad():
                report(step, (net(x[48:]) - y[48:]).square().mean())
