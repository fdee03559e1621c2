"""Accesses of 16 bytes to streams of which a group is less, by warps all of whose groups exist and are aligned.

Of four elements of 16 or 8 bits, a group is 8 or 4 bytes, so a thread reads or writes 2 or 4 groups at once. It has 4
groups of 2 bytes, of codes of 4 bits, in an access of 8 bytes. If a thread's groups are neighbours, they are its own.
If its group k is in stripe k of LANES elements, as the order of sums and the blocks of codes want it, 2 or 4
neighbouring threads access one of their stripes each, and then trade groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.element_body import streams
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.launches import coded, groups_in_flight, groups_per_access
from optgen.backends.llvm import integer
from optgen.backends.llvm_types import I32, raw_type, vector
from optgen.ir import LANES, Buffer, Kernel, Phase
from optgen.ir.storage import Storage
from optgen.ir.storage.packing import CODES_PER_BYTE

WORD_BYTES, WORD_BITS = 4, 32
"""What a shuffle moves."""
Groups = list[list[Any]]
"""The words of each group."""


def neighbouring_groups(kernel: Kernel, phase: Phase, gpu: GpuTarget) -> int:
    """How many groups of a thread are side by side: as many as an access of the narrowest stream has, if neither sums
    nor blocks of codes depend on which thread has which elements."""
    if coded(kernel, phase) or any(isinstance(i.op, ir.Reduce) for i in phase.instrs):
        return 1
    return max((groups_at_once(kernel, phase, buffer, gpu) for buffer in streams(kernel, phase)), default=1)


def groups_at_once(kernel: Kernel, phase: Phase, buffer: Buffer, gpu: GpuTarget) -> int:
    """How many groups of a stream go in one access, if that is a word at least."""
    count = min(groups_per_access(phase, buffer.format, gpu), groups_in_flight(kernel, phase, gpu))
    return count if count * gpu.group * buffer.format.bits >= WORD_BITS else 1


def group_type(storage: Storage, group: int) -> Any:
    """The LLVM type of `group` elements as they are stored."""
    return vector(raw_type(storage), group // CODES_PER_BYTE if storage.is_packed else group)


class WideAccess:
    """Accesses to `count` groups of a thread at once, which are neighbours or in as many stripes."""

    def __init__(self, f: LaunchFunction, count: int, storage: Storage, *, neighbours: bool) -> None:
        self.f, self.b, self.count, self.neighbours = f, f.b, count, neighbours
        self.type = group_type(storage, f.gpu.group)
        self.group_bits = f.gpu.group * storage.bits
        self.words = count * self.group_bits // WORD_BITS

    def start(self, e: Any) -> Any:
        """The first element of this thread's access, if its first group begins at element e."""
        if self.neighbours:
            return e
        b = self.b
        which = b.and_(self.f.lane(), integer(self.count - 1))
        return b.add(e, b.mul(which, integer(LANES - self.f.gpu.group)))

    def load(self, place: Any) -> Any:
        """A load from the address of `start`; it is apart from `groups`, so that no load waits for another one."""
        return self.b.load(place, typ=ll.VectorType(I32, self.words), align=WORD_BYTES * self.words)

    def groups(self, load: Any) -> list[Any]:
        """The groups that were loaded, as vectors."""
        b = self.b
        words = [b.extract_element(load, I32(k)) for k in range(self.words)]
        if self.group_bits < WORD_BITS:
            behind = range(self.group_bits, WORD_BITS, self.group_bits)
            parts = [part for word in words for part in (word, *(b.lshr(word, I32(bits)) for bits in behind))]
            groups = [b.trunc(part, ll.IntType(self.group_bits)) for (part,) in self._traded([[x] for x in parts])]
            return [b.bitcast(group, self.type) for group in groups]
        each = self.group_bits // WORD_BITS
        groups = self._traded([words[k : k + each] for k in range(0, self.words, each)])
        return [b.bitcast(self._joined(group), self.type) for group in groups]

    def store(self, groups: Sequence[Any], place: Any) -> None:
        """Write these groups to the address of `start`."""
        words = self._parts_joined(groups) if self.group_bits < WORD_BITS else self._words(groups)
        self.b.store(self._joined(words), place, align=WORD_BYTES * self.words)

    def _words(self, groups: Sequence[Any]) -> list[Any]:
        b, each = self.b, self.group_bits // WORD_BITS
        packed = [b.bitcast(group, ll.VectorType(I32, each)) for group in groups]
        words = self._traded([[b.extract_element(x, I32(k)) for k in range(each)] for x in packed])
        return [word for group in words for word in group]

    def _parts_joined(self, groups: Sequence[Any]) -> list[Any]:
        """Words of several groups each. A group is traded in a word of its own."""
        b, each = self.b, WORD_BITS // self.group_bits
        alone = [[b.zext(b.bitcast(group, ll.IntType(self.group_bits)), I32)] for group in groups]
        parts = [part for (part,) in self._traded(alone)]
        words = parts[::each]
        for k in range(1, each):
            bits = I32(k * self.group_bits)
            words = [b.or_(word, b.shl(part, bits)) for word, part in zip(words, parts[k::each], strict=True)]
        return words

    def _joined(self, words: Sequence[Any]) -> Any:
        found = ll.Constant(ll.VectorType(I32, len(words)), ll.Undefined)
        for k, word in enumerate(words):
            found = self.b.insert_element(found, word, I32(k))
        return found

    def _traded(self, groups: Groups) -> Groups:
        """Group k of thread q becomes group q of thread k, among `count` neighbouring threads; twice, nothing moves.

        For each bit of the two numbers, a thread keeps the groups in whose number the bit is as in its own, and trades
        each of the others.
        """
        if self.neighbours:
            return groups
        b, found = self.b, list(groups)
        for bit in (1, 2):
            if bit == self.count:
                break
            is_set = b.icmp_signed("!=", b.and_(self.f.lane(), integer(bit)), integer(0))
            for k in (k for k in range(self.count) if not k & bit):
                found[k], found[k | bit] = self._exchanged(found[k], found[k | bit], is_set, bit)
        return found

    def _exchanged(self, low: list[Any], high: list[Any], is_set: Any, bit: int) -> tuple[list[Any], list[Any]]:
        b = self.b
        given = [b.select(is_set, x, y) for x, y in zip(low, high, strict=True)]
        got = [self.f.shuffle_xor(word, bit) for word in given]
        return (
            [b.select(is_set, x, y) for x, y in zip(got, low, strict=True)],
            [b.select(is_set, y, x) for x, y in zip(got, high, strict=True)],
        )
