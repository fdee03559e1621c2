"""A GPT that learns a text of 300 kB character by character: two layers of attention, 110,000 weights.

Its loss is far from its end after 520 steps, so that what is measured is how far an optimizer comes.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from optgen.races.text import stories

TITLE = "A character-level GPT of two layers on generated stories"
LOSS = "held-out loss (nats per character)"
TARGET = 1.8

STEPS, BATCH, LENGTH = 520, 8, 48
WIDTH, HEADS, LAYERS = 64, 4, 2
LOOKS = 10
"""How often the held-out loss is computed."""


class GPTBlock(nn.Module):
    """Attention to the characters before, and a hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.read, self.merge = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.hidden = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.out = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.read(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.merge(seen.transpose(1, 2).flatten(-2))
        return x + self.out(F.relu(self.hidden(self.norm2(x))))


class GPT(nn.Module):
    """Scores of the next character at each place of (batch, length) characters."""

    def __init__(self, alphabet: int) -> None:
        super().__init__()
        self.characters, self.places = nn.Embedding(alphabet, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(GPTBlock() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, alphabet, bias=False)
        for weight in self.parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.characters(x) + self.places.weight)))


def pieces(text: torch.Tensor, number: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Random pieces of a text, and the character after each of theirs."""
    starts = torch.randint(len(text) - LENGTH, (number, 1), generator=generator)
    at = starts + torch.arange(LENGTH)
    return text[at], text[at + 1]


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    torch.manual_seed(seed)
    text = stories()
    alphabet = {c: k for k, c in enumerate(sorted(set(text)))}
    numbers = torch.tensor([alphabet[c] for c in text])
    cut = len(numbers) * 9 // 10
    learnt, held_out = numbers[:cut], pieces(numbers[cut:], 96, torch.Generator().manual_seed(0))
    net, order = GPT(len(alphabet)), torch.Generator().manual_seed(seed)
    optimizer = make_optimizer(net, STEPS)
    for step in range(1, STEPS + 1):
        x, target = pieces(learnt, BATCH, order)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x).flatten(0, 1), target.flatten())
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = F.cross_entropy(net(held_out[0]).flatten(0, 1), held_out[1].flatten())
            report(step, loss.item())
