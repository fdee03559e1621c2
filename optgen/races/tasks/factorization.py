"""Matrix factorization of ratings, with sparse gradients: a step has rows of few users and few items, as recommenders.

400 users rate 300 items: the product of their true factors of 4 numbers, and noise of deviation 0.2. Few items have
most ratings, as item k is rated as often as 1/(k + 5). A rating that is held out is predicted by two rows, with a bias
each. `nn.Embedding(sparse=True)` makes gradients that hold the rows of a batch alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

TITLE = "Matrix factorization of ratings, with sparse gradients"
LOSS = "held-out squared error of a rating"
TARGET = 0.5

STEPS, BATCH, USERS, ITEMS, RANK = 400, 128, 400, 300, 4
RATINGS, HELD_OUT, NOISE = 12_000, 2_000, 0.2
LOOKS = 10
"""How often the held-out error is computed."""


class RatingFactors(nn.Module):
    """Predicted ratings: products of the rows of users and items."""

    def __init__(self) -> None:
        super().__init__()
        self.users = nn.Embedding(USERS, RANK + 2, sparse=True)
        self.items = nn.Embedding(ITEMS, RANK + 2, sparse=True)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        return (self.users(user) * self.items(item)).sum(-1)


def ratings(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Users, items and ratings of mean 0 and deviation 1, of as many as are trained on and held out."""
    users, items = (torch.randn(n, RANK, generator=generator) for n in (USERS, ITEMS))
    number = RATINGS + HELD_OUT
    user = torch.randint(USERS, (number,), generator=generator)
    item = torch.multinomial(1 / (torch.arange(ITEMS) + 5.0), number, replacement=True, generator=generator)
    rating = (users[user] * items[item]).sum(-1) * RANK**-0.5
    return user, item, rating + NOISE * torch.randn(number, generator=generator)


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    torch.manual_seed(seed)
    user, item, rating = ratings(torch.Generator().manual_seed(0))
    net = RatingFactors()
    optimizer = make_optimizer(net, STEPS)
    for step in range(1, STEPS + 1):
        chosen = torch.randint(RATINGS, (BATCH,))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = (net(user[chosen], item[chosen]) - rating[chosen]).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = (net(user[RATINGS:], item[RATINGS:]) - rating[RATINGS:]).square().mean()
            report(step, loss.item())
