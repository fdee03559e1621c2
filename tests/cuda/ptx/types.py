"""PTX's types as NumPy's, and literals of them. Predicates are arrays of bool."""

from __future__ import annotations

import functools
import re

import numpy as np

UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
SIGNED = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
FLOATS = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
PRED = np.dtype(np.bool_)
TYPES: dict[str, np.dtype] = {
    **{f"{kind}{8 * size}": dtype for kind in "bu" for size, dtype in UNSIGNED.items()},
    **{f"s{8 * size}": dtype for size, dtype in SIGNED.items()},
    **FLOATS,
    "pred": PRED,
}
REGISTERS = {**{name: dtype for name, dtype in TYPES.items() if dtype.itemsize > 1}, "pred": PRED}

# What float operations make of NaNs. For f32 and f16 NVIDIA documents it; for f64 no payload is documented, so that
# the quiet NaN is taken whose sign differs from the one x86 makes.
NANS = {FLOATS["f16"]: 0x7FFF, FLOATS["f32"]: 0x7FFFFFFF, FLOATS["f64"]: 0x7FF8000000000000}

_LITERAL = re.compile(
    r"(?P<int>-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+))U?$|0[fF](?P<f32>[0-9a-fA-F]{8})$|0[dD](?P<f64>[0-9a-fA-F]{16})$"
)


@functools.cache
def literal(text: str, dtype: np.dtype) -> np.ndarray | None:
    """An array of one element, which stays as it is, or None where the text is no literal of that type.

    Integers wrap to the type; floats are written as their bits, 0f... for f32 and 0d... for f64.
    """
    match = None if text.startswith("%") else _LITERAL.match(text)
    if match is None:
        return None
    number = match["int"]
    if number is not None:
        if dtype in (FLOATS["f32"], FLOATS["f64"]):
            return None
        value = int(number, 0) if not re.match(r"-?0\d", number) else int(number, 8)
        if dtype is PRED:
            return np.array([value != 0])
    else:
        size = 4 if match["f32"] else 8
        if dtype.itemsize != size:
            return None
        value = int(match["f32"] or match["f64"], 16)
    bits = 8 * dtype.itemsize
    return np.array([value & ((1 << bits) - 1)], UNSIGNED[dtype.itemsize]).view(dtype)
