"""Constants of products of matrices: what is one task of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optgen.tune.case import Case

if TYPE_CHECKING:
    from optgen.linalg import How


def task_edge() -> list[Case]:
    """Products of square matrices, of a wide one, and of float32."""
    return [_own(256, 256, 256), _own(1024, 1024, 1024), _own(256, 2048, 256), _own(512, 512, 512, "deterministic")]


def panels() -> list[Case]:
    """Products in which packing takes much of the time."""
    return [_own(128, 128, 2048), _own(256, 256, 256), _own(1024, 1024, 128)]


def flops() -> list[Case]:
    """Products of about the work from which threads share them."""
    return [_product(n, n, n, "native") for n in (64, 96, 128, 160)]


def _own(m: int, n: int, k: int, how: How = "bfloat16") -> Case:
    """A product by code of our own, on any CPU."""
    return _product(m, n, k, how)


def _product(m: int, n: int, k: int, how: How) -> Case:
    from optgen import linalg

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
    out = np.empty((m, n), np.float32)
    return Case(lambda: linalg.product(a, b, out, how=how))
