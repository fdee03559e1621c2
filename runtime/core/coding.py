"""Quantized states as arrays: codes in blocks, with a scale for each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from optgen import UpdateRule


@dataclass(frozen=True)
class Coding:
    """How numbers became codes in blocks: one of optgen's storages, and whether the codes have no sign."""

    storage: str
    nonnegative: bool

    @classmethod
    def of(cls, rule: UpdateRule, state: str, shape: tuple[int, ...]) -> Coding:
        """That of a state of a parameter of this shape."""
        buffer = rule.kernel(shape).states[state]
        return cls(buffer.storage, buffer.nonnegative)

    def part(self, codes: Any, scales: Any, begin: int, end: int) -> tuple[Any, Any]:
        """The codes and scales of elements [begin, end), where `begin` is the first of a block, of those of a whole
        weight in one row."""
        from optgen.ir.storage.packing import CODES_PER_BYTE

        found = self._buffer().format
        each = CODES_PER_BYTE if found.is_packed else 1
        own, of_scales = (slice(begin // n, -(-end // n)) for n in (each, found.block))
        return codes[own], scales[of_scales]

    def encode(self, values: np.ndarray, by_row: bool) -> tuple[np.ndarray, np.ndarray]:
        """Codes and scales of numbers; `by_row`: the blocks restart at every row."""
        from optgen.execute import storage

        return storage.encode(values, self._buffer(), by_row)

    def decode(self, codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The float32 numbers of a state of a weight of this shape."""
        from optgen.execute import storage

        return storage.decode(codes, scales, self._buffer(), shape)

    def check(self, codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...]) -> None:
        """ValueError for arrays that were not made so of a weight of this shape."""
        from optgen.execute import storage
        from optgen.ir.storage import STORAGES

        found = STORAGES.get(self.storage)
        if found is None or found.block is None:
            raise ValueError(f"'{self.storage[:60]}' is no storage in blocks of codes")
        b = self._buffer()
        shapes = [[storage.shape_of(x, shape, by_row) for x in (b, b.scales)] for by_row in (False, True)]
        dtypes = codes.dtype, scales.dtype
        if dtypes != (found.array_dtype, np.float32) or [codes.shape, scales.shape] not in shapes:
            raise ValueError(
                f"codes are {found.array_dtype}, and scales float32, one for each block of them: not {codes.dtype} of "
                f"{codes.shape} and {scales.dtype} of {scales.shape}"
            )

    def _buffer(self) -> Any:
        from optgen.ir import Buffer

        return Buffer("", True, storage=self.storage, nonnegative=self.nonnegative)
