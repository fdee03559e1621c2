"""Constants that depend on the machine: from which size on something pays, how far ahead memory is read, what fits into
a cache.

They say how fast something is, and never what comes out: no result depends on one of them, by a bit. What would change
a result, as how many products are added up at a time or which products are left to BLAS, is a constant where it is
used, and the same everywhere.

The values are the defaults of this table, or what `optgen tune` has measured here and written to a file. They are read
once per process. `OPTGEN_MACHINE` names another file; if it is empty, the defaults are used. The file of a machine with
another CPU is left aside. One that cannot be read costs speed, not correctness: a warning says what is wrong with it,
and the defaults are used.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optgen import cache_folder

FILE = "machine.json"
"""The name of the file in the user's cache folder."""
MOST_BYTES = 1 << 16
"""No file of so few constants is larger."""


@dataclass(frozen=True)
class Constant:
    """A constant: its default, its unit, what it decides, and the range of its values, which are multiples of one
    number."""

    default: int
    unit: str
    decides: str
    least: int
    most: int
    multiple: int = 1
    in_kernels: bool = False
    """Whether kernels of specs depend on it, whose keys in the cache have its value. Other code is kept by its text."""

    def allows(self, x: Any) -> bool:
        """Whether that is a value of it."""
        return type(x) is int and self.least <= x <= self.most and x % self.multiple == 0

    @property
    def range(self) -> str:
        """`a multiple of 64 from 64 to 4096`."""
        kind = "a whole number" if self.multiple == 1 else f"a multiple of {self.multiple}"
        return f"{kind} from {self.least} to {self.most}"


CONSTANTS: dict[str, Constant] = {
    "threads.min_shared_elements": Constant(
        1 << 14, "elements", "fewer are done sooner than they are handed out to threads", 1 << 10, 1 << 24
    ),
    "threads.min_team_elements": Constant(
        1 << 16, "elements", "fewer are not handed out to the threads that PyTorch computes on", 1 << 10, 1 << 24
    ),
    "threads.min_wake_elements": Constant(
        1 << 18, "elements", "fewer wake no sleeping thread, unless step follows step", 1 << 10, 1 << 26
    ),
    "threads.min_split_elements": Constant(
        1 << 20, "elements", "from so many on a thread has several parts, which others can take", 1 << 10, 1 << 30
    ),
    "threads.min_shared_work": Constant(
        1 << 16, "additions", "less work of a loop, or of a product, is not shared by threads", 1 << 10, 1 << 24
    ),
    "threads.spin_microseconds": Constant(
        200, "microseconds", "how long a thread waits for work before it sleeps", 1, 10_000
    ),
    "sweeps.prefetch_bytes": Constant(
        1 << 10, "bytes", "how far ahead a loop prefetches its streams, at least", 64, 1 << 13, 64, in_kernels=True
    ),
    "sweeps.most_prefetch_bytes": Constant(
        1 << 12, "bytes", "how far ahead a loop with reductions prefetches, at most", 64, 1 << 14, 64, in_kernels=True
    ),
    "sweeps.bytes_under_way": Constant(
        1 << 13, "bytes", "what a loop with reductions prefetches of all streams", 64, 1 << 16, 64, in_kernels=True
    ),
    "sweeps.vectors_of_long_chains": Constant(
        2, "vectors", "how many of them a sum with divisions or roots takes at once", 1, 2, in_kernels=True
    ),
    "sweeps.longest_row_ahead": Constant(
        1 << 11, "elements", "rows up to so many are prefetched while the last are added", 1, 1 << 16, in_kernels=True
    ),
    "sweeps.list_lines_ahead": Constant(
        64, "cache lines", "how far ahead rows of a list are prefetched", 1, 1 << 12, in_kernels=True
    ),
    "sweeps.longest_list_row": Constant(
        1 << 10, "elements", "rows of a list up to so many are prefetched whole", 1, 1 << 16, in_kernels=True
    ),
    "sweeps.columns_at_once": Constant(
        64, "columns", "how many of all lines are folded at a time", 8, 1 << 13, 8, in_kernels=True
    ),
    "sweeps.shared_lines": Constant(
        1 << 12, "rows or columns", "a tensor with fewer leaves them to one thread", 1, 1 << 20, in_kernels=True
    ),
    "groups.group_bytes": Constant(
        1 << 19, "bytes", "tensors are put together until they have so many, for one thread", 1 << 12, 1 << 26
    ),
    "groups.largest_bytes": Constant(
        1 << 22, "bytes", "a tensor with more of them is in no group", 1 << 12, 1 << 28
    ),
    "groups.least_groups": Constant(
        8, "groups", "with fewer of them for each thread there are none", 1, 1 << 10
    ),
    "groups.small_elements": Constant(
        1 << 15, "elements", "a parameter with products and more of them is updated by all threads", 1, 1 << 24
    ),
    "groups.small_groups_each": Constant(
        4, "groups", "how many of small parameters with products each thread has", 1, 64
    ),
    "products.task_edge": Constant(
        96, "rows and columns", "how many of a product are one task", 96, 96 * 16, 96
    ),
    "products.panels": Constant(
        4, "panels", "how many are packed by one task", 1, 64
    ),
    "products.flops": Constant(
        32, "operations", "how many of a product take as long as one addition of elements in memory", 1, 1 << 10
    ),
    "arrays.min_threaded_elements": Constant(
        1 << 18, "elements", "smaller arrays of `nd` are copied and computed by NumPy", 1 << 12, 1 << 26
    ),
    "arrays.elements_per_task": Constant(
        1 << 13, "elements", "how many of an array are one task", 1 << 8, 1 << 20, 64
    ),
    "convolutions.columns_per_task": Constant(
        480, "columns", "how many of a convolution's filters one task computes", 16, 1 << 12, 16
    ),
    "convolutions.filters_packed": Constant(
        64, "filters", "how many of a convolution's one task packs", 1, 1 << 12
    ),
    "convolutions.winograd_elements": Constant(
        1 << 18, "elements", "how many of transforms Winograd's algorithm makes at a time", 1 << 12, 1 << 24
    ),
    "convolutions.winograd_filters": Constant(
        96, "filters", "how many of them Winograd's algorithm makes products for at a time", 16, 1 << 12, 16
    ),
    "convolutions.grouped_elements": Constant(
        512, "pixels", "how many a convolution with small groups computes at a time", 16, 1 << 16
    ),
}  # fmt: skip
"""All of them. What comes before the dot is the subject, whose file has the measurement: see `optgen.tune`."""


def value(name: str) -> int:
    """The value of a constant in this process."""
    return changed().get(name, CONSTANTS[name].default)


@functools.cache
def changed() -> Mapping[str, int]:
    """The constants that have another value than the default in this process, by name."""
    named = os.environ.get("OPTGEN_MACHINE")
    path = place()
    if named == "" or not (named or (os.path.exists(path) and cache_folder.is_private(path.parent))):
        return {}
    try:
        found = read(path)
    except (OSError, ValueError) as error:
        warnings.warn(f"{error}. The defaults are used; `optgen tune` measures anew", stacklevel=2)
        return {}
    return {name: x for name, x in found.items() if x != CONSTANTS[name].default}


def place() -> Path:
    """The path of the file: `$OPTGEN_MACHINE`, or FILE in the user's cache folder."""
    named = os.environ.get("OPTGEN_MACHINE")
    return Path(os.path.expanduser(named)) if named else cache_folder.place() / FILE


def in_kernels() -> str:
    """What kernels of specs depend on of the values of this process: a part of the keys of the cache. Empty for the
    defaults."""
    return " ".join(f"{name}={x}" for name, x in sorted(changed().items()) if CONSTANTS[name].in_kernels)


# ---------------------------------------------------------------- the file


def identity() -> dict[str, str]:
    """What tells machines apart: the name of the CPU, and its features, as LLVM knows them."""
    from optgen.backends import target

    host = target.host()
    return {"cpu": host.cpu, "features": host.features}


def text(values: Mapping[str, int]) -> str:
    """The content of a file with these values of this machine's."""
    import json

    return json.dumps({**identity(), "constants": dict(values)}, indent=1) + "\n"


def read(path: Path) -> dict[str, int]:
    """The values in a file, by name; none if it is of a machine with another CPU.

    OSError if it cannot be read. ValueError, which names the file and what is wrong in it, if it is no such file.
    """
    import json  # few processes have such a file

    if not path.is_file():  # a pipe would be waited for
        raise ValueError(f"{path} is no file")
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    try:
        content = json.loads(data) if len(data) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        content = None
    kinds = {"cpu": str, "features": str, "constants": dict}
    if not isinstance(content, dict) or content.keys() != kinds.keys():
        raise ValueError(f"{path} is no JSON object with {', '.join(kinds)}")
    for key, kind in kinds.items():
        if not isinstance(content[key], kind):
            raise ValueError(f"{path}: {key} is no {'object' if kind is dict else 'text'}")
    if any(content[key] != own for key, own in identity().items()):
        return {}
    for name, x in content["constants"].items():
        if name not in CONSTANTS:
            raise ValueError(f"{path}: there is no constant {name!r}")
        if not CONSTANTS[name].allows(x):
            raise ValueError(f"{path}: {name} must be {CONSTANTS[name].range}, not {x!r}")
    return dict(content["constants"])
