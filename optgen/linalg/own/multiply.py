"""Products from panels: the call."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from optgen.backends import target
from optgen.linalg.matrices import Addend, Matrices, ProductShape
from optgen.linalg.own.tasks import ENTRIES, GROUP, TASK_EDGE, module_text
from optgen.linalg.own.tile import Precision, Tile, tile_for
from optgen.loops import code, malloc
from optgen.loops.kernel import runner
from optgen.objectcode import link


class OwnProduct(NamedTuple):
    """Compiled code for one tile. Functions run all their tasks, given the address of FIELDS and the work."""

    tile: Tile
    pack: Callable[[int, int], None]
    multiply: Callable[[int, int], None]
    finish: Callable[[int, int], None]


def multiply(
    own: OwnProduct, a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, trans_a: bool, trans_b: bool,
    symmetric: bool, addend: Addend | None = None,
) -> None:  # fmt: skip
    """c = op(a) op(b), and what follows, of matrices that are checked, as `optgen.linalg.product` has it."""
    batch, m, n, k = shape
    if c.size == 0 or k == 0:
        c.fill(0)
        if addend is not None:
            finish(own, c, shape, addend)
        return
    tile = own.tile
    # op(b) is the transpose of op(a), and has the same panels.
    shared = trans_a != trans_b and a.shape == b.shape and a.ctypes.data == b.ctypes.data
    panels_b = -(-(-(-n // tile.columns) * tile.columns) // tile.width)
    panels_a = panels_b if shared else -(-m // tile.width)
    groups_a, groups_b = 0 if shared else -(-panels_a // GROUP), -(-panels_b // GROUP)
    bytes_each = batch * -(-k // tile.group) * tile.width * tile.word_bytes
    memory = np.empty(bytes_each * (panels_b if shared else panels_a + panels_b) + 64, np.uint8)
    packed_b = memory.ctypes.data + 63 & ~63
    packed_a = packed_b if shared else packed_b + bytes_each * panels_b
    along, across = -(-m // TASK_EDGE), -(-n // TASK_EDGE)
    counts = batch * (groups_a + groups_b), batch * (along * (along + 1) // 2 if symmetric else along * across), 0
    addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data, _address(addend), packed_a, packed_b
    numbers = m, n, k, int(trans_a), int(trans_b), int(symmetric), panels_a, panels_b, groups_a, groups_b
    fields = array.array("q", [*counts, *addresses, *numbers, *_factors(addend, c)])
    own.pack(fields.buffer_info()[0], batch * k * (n if shared else m + n))
    own.multiply(fields.buffer_info()[0], shape.work)


def finish(own: OwnProduct, c: Matrices, shape: ProductShape, addend: Addend) -> None:
    """What follows a product that is in c."""
    batch, m, n, k = shape
    numbers = m, n, k, 0, 0, 0, 0, 0, 0, 0
    counts, addresses = (0, 0, batch * -(-m // TASK_EDGE)), (0, 0, c.ctypes.data, _address(addend), 0, 0)
    fields = array.array("q", [*counts, *addresses, *numbers, *_factors(addend, c)])
    own.finish(fields.buffer_info()[0], c.size)


def _address(addend: Addend | None) -> int:
    return 0 if addend is None else addend.matrix.ctypes.data


def _factors(addend: Addend | None, c: Matrices) -> list[int]:
    """alpha and beta, rounded to the dtype of the elements, as the bits of doubles."""
    numbers = [0.0, 0.0] if addend is None else [addend.alpha, addend.beta]
    with np.errstate(over="ignore"):
        rounded = np.array(numbers).astype(c.dtype).astype(np.float64)
    return [int(bits) for bits in rounded.view(np.int64)]


@functools.cache
def load(precision: Precision, fused: bool) -> OwnProduct:
    """The code for this machine; `fused` as `tile_for` has it."""
    malloc.keep_freed_memory()  # the panels of the last product
    tile = tile_for(precision, target.host(), fused=fused)
    return made(tile, link.link(code.build(module_text(tile)), *ENTRIES))


def made(tile: Tile, addresses: Mapping[str, int]) -> OwnProduct:
    """The code for a tile, which was linked."""
    return OwnProduct(tile, *(runner(addresses[name]) for name in ENTRIES))
