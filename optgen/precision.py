"""In which numbers an optimizer keeps parameters and states, and multiplies matrices: a value that `load` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from optgen import arguments


@dataclass(frozen=True)
class Precision:
    """The numbers of an optimizer. ValueError for a dtype, a rounding or a product that there is not, TypeError for a
    field of another type.

    `dtype` is that of parameters and gradients: `float32`, `float64`, `float16` or `bfloat16`. With `master`, a
    parameter of 16 bits has a float32 weight beside it, which is what the equations read and write. `weights` says how
    a new weight of 16 bits is rounded without a master, by default to nearest: `stochastic`, up or down at random, so
    that the mean is right; or `kahan`, with what the last rounding lost added, which a state `compensation` holds.

    `storage` says how elementwise states are stored, all of them or by name, as `bfloat16_stochastic` or
    `int8_dynamic`; docs/kernels.md has a table, and `optgen.ir.storage.STORAGES` the records. States whose codes are in
    blocks are float32 for parameters of less than 4096 elements, unless the spec sums over parameters. Without a
    `storage`, states have the dtype of the weight, and are float32 with `weights`.

    `matmul` says how float32 matrices are multiplied: `float32`, by the fastest code for this CPU; `bfloat16`, rounded
    to that, with sums in float32; or `deterministic`, to the same bits on every CPU.
    """

    dtype: str = "float32"
    master: bool = False
    weights: str | None = None
    storage: str | Mapping[str, str] | None = None
    matmul: str = "float32"

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str):
            raise TypeError(f"dtype must be a name, such as 'float32', not {self.dtype!r}")
        if not isinstance(self.master, bool):
            raise TypeError(f"master must be True or False, not {self.master!r}")
        if isinstance(self.storage, Mapping):
            object.__setattr__(self, "storage", dict(self.storage))  # that of the caller may change
        elif self.storage is not None and not isinstance(self.storage, str):
            raise TypeError(f"storage must be the name of one, or a mapping from states to names, not {self.storage!r}")
        arguments.check_dtype(self.dtype, self.master, self.weights)
        arguments.check_matmul(self.matmul)


def taken(dtype: str | Precision, values: dict[str, Any]) -> Precision:
    """The precision that `load` is given as a value, or as a dtype and further fields among `values`, which are taken
    out there. TypeError if it is given both ways."""
    found = {f.name: values.pop(f.name) for f in fields(Precision) if f.name in values}
    if isinstance(dtype, type):
        raise TypeError(f"dtype is the class {dtype.__name__}; write Precision(), or a name such as 'float32'")
    if not isinstance(dtype, Precision):
        return Precision(str(dtype) if isinstance(dtype, np.dtype) else dtype, **found)
    if found:
        own = ", ".join(f"{name}={value!r}" for name, value in found.items())
        raise TypeError(f"{' and '.join(found)} beside a Precision; write Precision({dtype.dtype!r}, ..., {own})")
    return dtype
