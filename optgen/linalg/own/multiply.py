"""Products from panels: the call."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from optgen.backends import target
from optgen.linalg.matrices import Matrices, ProductShape
from optgen.linalg.own.tasks import ENTRIES, GROUP, TASK_EDGE, module_text
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
    shared = a is b and trans_a != trans_b  # op(b) is the transpose of op(a), and has the same panels
    panels_b = -(-(-(-n // tile.columns) * tile.columns) // tile.width)
    panels_a = panels_b if shared else -(-m // tile.width)
    groups_a, groups_b = 0 if shared else -(-panels_a // GROUP), -(-panels_b // GROUP)
    bytes_each = batch * -(-k // tile.group) * tile.width * tile.word_bytes
    memory = np.empty(bytes_each * (panels_b if shared else panels_a + panels_b) + 64, np.uint8)
    packed_b = memory.ctypes.data + 63 & ~63
    packed_a = packed_b if shared else packed_b + bytes_each * panels_b
    along, across = -(-m // TASK_EDGE), -(-n // TASK_EDGE)
    tasks = batch * (along * (along + 1) // 2 if symmetric else along * across)
    addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data, packed_a, packed_b
    numbers = m, n, k, int(trans_a), int(trans_b), int(symmetric), panels_a, panels_b, groups_a, groups_b
    fields = array.array("q", [batch * (groups_a + groups_b), tasks, *addresses, *numbers])
    own.pack(fields.buffer_info()[0], batch * k * (n if shared else m + n))
    own.multiply(fields.buffer_info()[0], shape.work)


@functools.cache
def load(precision: Precision, fused: bool) -> OwnProduct:
    """The code for this machine; `fused` as `tile_for` has it."""
    malloc.keep_freed_memory()  # the panels of the last product
    tile = tile_for(precision, target.host(), fused=fused)
    return made(tile, link.link(code.build(module_text(tile)), *ENTRIES))


def made(tile: Tile, addresses: Mapping[str, int]) -> OwnProduct:
    """The code for a tile, which was linked."""
    return OwnProduct(tile, *(runner(addresses[name]) for name in ENTRIES))
