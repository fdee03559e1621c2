"""The storages: how elements lie in memory, most of them in fewer bits than they are computed in.

A codec is a straight line of primitive operations, as are the functions of `optgen.functions.math`: one definition for
the interpreter, the CPU and the GPU, without branch or search, and with tables of 32 numbers at most. It computes in
float32 and int32, of which a register holds twice as many as of doubles.
"""

from __future__ import annotations

from optgen.ir.storage import bfloat16, dynamic4, dynamic8, float16, linear8
from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage

__all__ = ["QUANT_BLOCK", "SCALE", "STORAGES", "Codec", "Storage", "storages_of"]

STORAGES: dict[str, Storage] = {
    storage.name: storage
    for storage in (
        Storage("float64", 64, "float64"),
        Storage("float32", 32, "float32"),
        Storage("float16", 16, "float16"),
        float16.STOCHASTIC,
        bfloat16.NEAREST,
        bfloat16.STOCHASTIC,
        dynamic8.STORAGE,
        linear8.STORAGE,
        dynamic4.STORAGE,
    )
}
"""Every storage by name. This is the only list: a new storage is a file beside this one, and a line here."""

SCALE = Storage("scale", 32, "float32")
"""The storage of the scales of a quantized state: one for each block, not for each element."""


def storages_of(compute: str) -> tuple[str, ...]:
    """The storages that elementwise states can have which are computed in "f32" or "f64"."""
    return tuple(storage.name for storage in STORAGES.values() if storage.compute == compute)
