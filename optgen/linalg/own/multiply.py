"""Products from panels: the call."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optgen.backends import target
from optgen.linalg.matrices import Addend, Matrices, ProductShape
from optgen.linalg.own.tasks import ENTRIES, FIELDS, GROUP, TASK_EDGE, module_text
from optgen.linalg.own.tile import OperandType, Tile, tile_for
from optgen.loops import code
from optgen.loops.kernel import runner
from optgen.objectcode import link

_PACKED_A, _PACKED_B = FIELDS.index("packed_a"), FIELDS.index("packed_b")


class OwnProduct(NamedTuple):
    """Compiled code for one tile. Functions run all their tasks, given the address of FIELDS and the work; `addresses`
    are those of ENTRIES."""

    tile: Tile
    pack: Callable[[int, int], None]
    multiply: Callable[[int, int], None]
    finish: Callable[[int, int], None]
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class PanelUse:
    """The panels that a product packs its operands into: `nbytes` of memory, and where those of a begin in it."""

    fields: array.array[int]
    nbytes: int
    offset_of_a: int

    def place(self, address: int) -> None:
        """Have the panels at an address: a multiple of 64."""
        self.fields[_PACKED_A], self.fields[_PACKED_B] = address + self.offset_of_a, address


def multiply(
    own: OwnProduct, a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, trans_a: bool, trans_b: bool,
    symmetric: bool, addend: Addend | None = None,
) -> None:  # fmt: skip
    """c = op(a) op(b), and what follows, of matrices that are checked, as `optgen.linalg.product` has it."""
    if c.size == 0 or shape.k == 0:
        c.fill(0)
        if addend is not None:
            finish(own, c, shape, addend)
        return
    panels, works = prepare(own, a, b, c, shape, trans_a, trans_b, symmetric, addend)
    memory = np.empty(panels.nbytes + 64, np.uint8)
    panels.place(memory.ctypes.data + 63 & ~63)
    own.pack(panels.fields.buffer_info()[0], works[0])
    own.multiply(panels.fields.buffer_info()[0], works[1])


def prepare(
    own: OwnProduct, a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, trans_a: bool, trans_b: bool,
    symmetric: bool, addend: Addend | None,
) -> tuple[PanelUse, tuple[int, int]]:  # fmt: skip
    """What `pack` and `multiply` read, of matrices with elements, and the work of both."""
    batch, m, n, k = shape
    tile = own.tile
    # op(b) is the transpose of op(a), and has the same panels.
    shared = trans_a != trans_b and a.shape == b.shape and a.ctypes.data == b.ctypes.data
    panels_b = -(-(-(-n // tile.columns) * tile.columns) // tile.width)
    panels_a = panels_b if shared else -(-m // tile.width)
    groups_a, groups_b = 0 if shared else -(-panels_a // GROUP), -(-panels_b // GROUP)
    bytes_each = batch * -(-k // tile.group) * tile.width * tile.word_bytes
    along, across = -(-m // TASK_EDGE), -(-n // TASK_EDGE)
    counts = batch * (groups_a + groups_b), batch * (along * (along + 1) // 2 if symmetric else along * across), 0
    addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data, _address(addend), 0, 0
    numbers = m, n, k, int(trans_a), int(trans_b), int(symmetric), panels_a, panels_b, groups_a, groups_b
    fields = array.array("q", [*counts, *addresses, *numbers, *_factors(addend, c)])
    offset = 0 if shared else bytes_each * panels_b
    panels = PanelUse(fields, bytes_each * (panels_b if shared else panels_a + panels_b), offset)
    return panels, (batch * k * (n if shared else m + n), shape.work)


def finish(own: OwnProduct, c: Matrices, shape: ProductShape, addend: Addend) -> None:
    """What follows a product that is in c."""
    own.finish(finishing(c, shape, addend).buffer_info()[0], c.size)


def finishing(c: Matrices, shape: ProductShape, addend: Addend) -> array.array[int]:
    """What `finish` reads."""
    batch, m, n, k = shape
    numbers = m, n, k, 0, 0, 0, 0, 0, 0, 0
    counts, addresses = (0, 0, batch * -(-m // TASK_EDGE)), (0, 0, c.ctypes.data, _address(addend), 0, 0)
    return array.array("q", [*counts, *addresses, *numbers, *_factors(addend, c)])


def set_factors(fields: array.array[int], addend: Addend) -> None:
    """Set alpha and beta."""
    fields[-2:] = array.array("q", _factors(addend, addend.matrix))


def _address(addend: Addend | None) -> int:
    return 0 if addend is None else addend.matrix.ctypes.data


def _factors(addend: Addend | None, c: Matrices) -> list[int]:
    """alpha and beta, rounded to the dtype of the elements, as the bits of doubles."""
    numbers = [0.0, 0.0] if addend is None else [addend.alpha, addend.beta]
    with np.errstate(over="ignore"):
        rounded = np.array(numbers).astype(c.dtype).astype(np.float64)
    return [int(bits) for bits in rounded.view(np.int64)]


@functools.cache
def load(operand_type: OperandType, fused: bool) -> OwnProduct:
    """The code for this machine; `fused` as `tile_for` has it."""
    host = target.host()
    tile = tile_for(operand_type, host, fused=fused)
    return made(tile, link.link(code.build(module_text(tile, host.triple)), *ENTRIES))


def made(tile: Tile, addresses: Mapping[str, int]) -> OwnProduct:
    """The code for a tile, which was linked."""
    found = tuple(addresses[name] for name in ENTRIES)
    pack, multiply, finish = map(runner, found)
    return OwnProduct(tile, pack, multiply, finish, found)
