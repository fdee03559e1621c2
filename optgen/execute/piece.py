"""Pieces of tensors: bound and updated without the rest of the tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import LoadedKernel
from optgen.ir import BLOCK

Exchange = Callable[[list[int], Array], None]
"""A function of numbers of parameters, and of the partial results of one sweep over them: it fills in the results of
the pieces that other processes have.

The results are float64. They have one row for each block of BLOCK elements of the whole tensors, tensor by tensor. The
rows of the pieces of this process are there.
"""


@dataclass(frozen=True)
class Piece:
    """The place of a one-dimensional array in a tensor of `shape`: its elements in C order, from number `offset` on."""

    offset: int
    shape: tuple[int, ...]


def check(piece: Piece, t: Tensor, kernel: LoadedKernel) -> None:
    """ValueError if the array is no such piece, or if the kernel cannot update pieces."""
    size = int(np.prod(piece.shape, dtype=np.int64))
    end = piece.offset + t.size
    if len(t.shape) != 1 or not 0 <= piece.offset <= end <= size:
        raise ValueError(
            f"{t.name}: a piece is one-dimensional and within its tensor, but {t.shape} from element {piece.offset} of "
            f"{piece.shape} is not"
        )
    if t.size and kernel.native.cut not in ("anywhere", "blocks"):
        raise ValueError(f"{t.name}: {kernel.native.symbol} updates whole tensors only, which come in their own shape")
    if t.size and (piece.offset % BLOCK or (end % BLOCK and end != size)):
        raise ValueError(f"{t.name}: a tensor is cut at multiples of {BLOCK} elements, not at {piece.offset} and {end}")


def is_left_out(piece: Piece | None, t: Tensor, kernel: LoadedKernel) -> bool:
    """Whether a step leaves a piece out: it is empty, and its kernel updates whole tensors only, which others have."""
    return piece is not None and not t.size and kernel.native.cut not in ("anywhere", "blocks")
