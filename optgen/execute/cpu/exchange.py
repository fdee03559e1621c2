"""The exchange of partial results between pieces of tensors, as native code calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from optgen.execute import buffers
from optgen.execute.piece import Exchange
from optgen.ir import BLOCK


def of_partials(exchange: Exchange, members: Sequence[int], whole_sizes: Sequence[int]) -> Callable[[int, int], None]:
    """What calls `exchange` for pieces of parameters whose whole tensors have these sizes."""
    blocks = sum(-(-size // BLOCK) for size in whole_sizes)
    return lambda partials, stride: exchange(list(members), buffers.float64_view(partials, (blocks, stride)))


class ExchangeCallback:
    """A C function that calls `exchange` with an address and a number.

    What `exchange` raises ends the step, and is raised again by `check`.
    """

    _type = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def __init__(self, exchange: Callable[[int, int], None]) -> None:
        self._error: BaseException | None = None

        def call(_peers: int, numbers: int, which: int) -> int:
            try:
                exchange(numbers, which)
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
