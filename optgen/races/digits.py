"""scikit-learn's handwritten digits, which its package brings along: 1,797 images of 8 by 8 pixels, ten classes."""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch

from optgen.extras import install

HELD_OUT = 500
"""Images that are never trained on: the same in each run, as the order of all is drawn once."""


class Digits(NamedTuple):
    """Images of (number, 1, 8, 8) with pixels from 0 to 1, and their classes."""

    images: torch.Tensor
    classes: torch.Tensor


@functools.cache
def digits() -> tuple[Digits, Digits]:
    """Those to train on, and those that are held out; ImportError that says what to install."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(f"the digits are scikit-learn's: {install('race')}") from error
    images, classes = load_digits(return_X_y=True)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    shaped = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8)[order] / 16
    numbers = torch.tensor(classes)[order]
    return Digits(shaped[HELD_OUT:], numbers[HELD_OUT:]), Digits(shaped[:HELD_OUT], numbers[:HELD_OUT])
