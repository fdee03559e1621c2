"""Parts of tensors that are bound and updated apart from the rest."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import Kernel
from optgen.ir import BLOCK

Exchange = Callable[[list[int], Array], None]
"""Given parameters, and the partial results of one sweep over them, fills in those of the pieces that are elsewhere.

The results are float64, one row for each block of BLOCK elements of each of these parameters' whole tensors, in order.
The rows of the own pieces are there.
"""


@dataclass(frozen=True)
class Piece:
    """That a one-dimensional array holds the elements from number `offset` on, in C order, of a tensor of `shape`."""

    offset: int
    shape: tuple[int, ...]


def check(piece: Piece, t: Tensor, kernel: Kernel) -> None:
    """ValueError where the array is no such piece, or where the kernel cannot update it apart from the others."""
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


def is_left_out(piece: Piece | None, t: Tensor, kernel: Kernel) -> bool:
    """Whether there is nothing to do for a piece: it is empty, and nothing depends on it that others have."""
    return piece is not None and not t.size and kernel.native.cut not in ("anywhere", "blocks")


class Share:
    """An exchange as native code calls it. What it raises ends the step, and is raised again by `check`."""

    _type = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def __init__(self, exchange: Exchange, members: Sequence[int], wholes: Sequence[int]) -> None:
        self._error: BaseException | None = None
        rows = sum(-(-size // BLOCK) for size in wholes)

        def call(_peers: int, partials: int, stride: int) -> int:
            try:
                exchange(list(members), buffers.doubles(partials, (rows, stride)))
            except BaseException as error:  # nothing may pass through native code
                self._error = error
                return 1
            return 0

        self._function = self._type(call)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value

    def check(self) -> None:
        """Raise what the last exchange raised."""
        error, self._error = self._error, None
        if error is not None:
            raise error
