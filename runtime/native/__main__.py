"""Compile all kernels of this package into the cache, ahead of their first calls: `python -m runtime.native`.

Nothing needs this: kernels are compiled when they are first called. It moves those seconds to another time.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import time

import numpy as np
from tqdm import tqdm

from optgen.linalg import blocks  # noqa: F401 (its kernel is compiled, too)
from optgen.loops import code
from optgen.loops.kernel import KERNELS, shared_by, shared_text
from runtime import native


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m runtime.native",
        description=__doc__.split("\n\n")[0],
        epilog="OPTGEN_CACHE_DIR names the folder of the cache, OPTGEN_CACHE_SIZE bounds it; `optgen cache` shows it.",
    ).parse_args()
    for module in pkgutil.iter_modules(native.__path__):
        if module.name != "__main__":
            importlib.import_module(f"{native.__name__}.{module.name}")
    start = time.perf_counter()
    jobs = [(kernel, np.dtype(dtype)) for kernel in KERNELS for dtype in (np.float32, np.float64)]
    for kernel, dtype in tqdm(jobs, "compiling", unit="kernel", leave=False, disable=None):
        code.build(kernel.text(dtype))
        for function in shared_by(kernel):
            code.build(shared_text(function, dtype))
    print(f"{len(jobs)} kernels in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
