"""Products from panels: the call."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from optgen.backends import target
from optgen.linalg.matrices import Matrices, ProductShape
from optgen.linalg.own.tasks import ENTRIES, TASK_EDGE, module_text
from optgen.linalg.own.tile import Precision, Tile, tile_for
from optgen.loops import code, malloc
from optgen.loops.kernel import runner
from optgen.objectcode import link


class OwnProduct(NamedTuple):
    """Compiled code for one tile. Both run all their tasks, given the address of FIELDS and the work."""

    tile: Tile
    pack: Callable[[int, int], None]
    multiply: Callable[[int, int], None]


def multiply(
    own: OwnProduct, a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, trans_a: bool, trans_b: bool,
    symmetric: bool,
) -> None:  # fmt: skip
    """c = op(a) op(b), of matrices that are checked, as `optgen.linalg.product` has it."""
    batch, m, n, k = shape
    if c.size == 0 or k == 0:
        c.fill(0)
        return
    tile = own.tile
    words = -(-k // tile.group)
    rows, columns = -(-m // tile.rows), -(-n // tile.columns)
    sizes = [batch * words * lines * tile.word_bytes for lines in (rows * tile.rows, columns * tile.columns)]
    memory = np.empty(sum(sizes) + 128, np.uint8)
    packed_a = memory.ctypes.data + 63 & ~63
    packed_b = packed_a + sizes[0] + 63 & ~63
    along, across = -(-m // TASK_EDGE), -(-n // TASK_EDGE)
    tasks = batch * (along * (along + 1) // 2 if symmetric else along * across)
    addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data, packed_a, packed_b
    flags = int(trans_a), int(trans_b), int(symmetric)
    fields = array.array("q", [tasks, batch * (rows + columns), *addresses, m, n, k, *flags])
    own.pack(fields.buffer_info()[0], batch * k * (m + n))
    own.multiply(fields.buffer_info()[0], shape.work)


@functools.cache
def load(precision: Precision) -> OwnProduct:
    """The code for this machine."""
    malloc.keep_freed_memory()  # the panels of the last product
    tile = tile_for(precision, target.host())
    return made(tile, link.link(code.build(module_text(tile)), *ENTRIES))


def made(tile: Tile, addresses: Mapping[str, int]) -> OwnProduct:
    """The code for a tile, which was linked."""
    return OwnProduct(tile, *(runner(addresses[name]) for name in ENTRIES))
