"""What `noalias` promises of a call: bytes that one such parameter reaches, and that are written, nothing else reaches.

A pointer comes from a parameter if it was computed from it, loaded from where it was stored, or passed on. Accesses are
noted while the call runs, those of the functions that it calls among them, and compared when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.llvm.errors import LlvmError

if TYPE_CHECKING:
    from tests.llvm.values import Pointer

Fail = Callable[[str], Exception]


class Base:
    """A parameter of one call that is `noalias`, and has an owner then, or `readonly`."""

    __slots__ = ("name", "owner", "readonly")

    def __init__(self, owner: Exclusive | None, name: str, readonly: bool) -> None:
        self.owner, self.name, self.readonly = owner, name, readonly


class Exclusive:
    """The accesses of a call with `noalias` parameters, at this depth of calls."""

    def __init__(self, function: str, depth: int) -> None:
        self.function, self.depth = function, depth
        self._touched: dict[tuple[Base | None, bool], dict[tuple[int, int], Fail]] = {}

    def note(self, pointer: Pointer, nbytes: int, write: bool, fail: Fail) -> None:
        """Remember an access; `fail` is of the instruction."""
        base = None
        for found in pointer.bases:
            if found.owner is self:
                base = found
        self._touched.setdefault((base, write), {}).setdefault((pointer.address, nbytes), fail)

    def check(self) -> None:
        """LlvmError where bytes were reached in two ways, and written."""
        ranges = {key: _merged(touched) for key, touched in self._touched.items()}
        for (base, write), written in ranges.items():
            for (other, _), reached in ranges.items():
                if write and other is not base and (both := _common(written, reached)):
                    raise self._error(base, other, both)

    def _error(self, base: Base | None, other: Base | None, both: tuple[int, int]) -> LlvmError:
        first = self._first(both, (base, True))
        second = self._first(both, (other, False), (other, True))
        names = " and ".join(f"%{x.name}, which is noalias" if x else "another pointer" for x in (base, other))
        message = f"{both[1] - both[0]} bytes at 0x{both[0]:x} are written, and reached by {names} of {self.function}"
        error = first(f"{message}; the other access is {second('').args[0].removesuffix(': ')}")
        assert isinstance(error, LlvmError)
        return error

    def _first(self, both: tuple[int, int], *keys: tuple[Base | None, bool]) -> Fail:
        touched = (item for key in keys for item in self._touched.get(key, {}).items())
        return next(fail for (at, nbytes), fail in touched if at < both[1] and both[0] < at + nbytes)


def _merged(touched: dict[tuple[int, int], Fail]) -> list[tuple[int, int]]:
    """Begins and ends of the bytes, in order, none beside another."""
    found: list[tuple[int, int]] = []
    for at, nbytes in sorted(touched):
        if found and at <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], at + nbytes)
        else:
            found.append((at, at + nbytes))
    return found


def _common(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The first bytes that are in both."""
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low < high:
            return low, high
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return None
