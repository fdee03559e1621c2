"""Kernels for CPUs that mask vectors compute the same bits as others, wherever arrays begin.

Masks are AVX-512's. LLVM lowers them for any CPU, so that they are run on each.
"""

from __future__ import annotations

from pathlib import Path

from tests.compiler.harness import python

MASKS = """
from optgen.backends.cpu import module
made = module.CpuModuleBuilder.__init__
def with_masks(self, *args):
    made(self, *args)
    self.masks_vectors = True
module.CpuModuleBuilder.__init__ = with_masks
"""
STEPS = """
import hashlib
import itertools
import numpy as np
import optgen
from optgen.execute.buffers import numpy_dtype

for spec, dtype in itertools.product(("adamw", "sgdw"), ("float32", "float64", "bfloat16")):
    rule, digest = optgen.load(spec, dtype=dtype, lr=0.01), hashlib.sha256()
    for n, begin in itertools.product((1, 3, 15, 16, 17, 47, 100, 1030), (0, 1, 4, 13)):
        rng = np.random.default_rng(n)
        whole, grads = (rng.normal(size=n + 16).astype(np.float32).astype(numpy_dtype(dtype)) for _ in range(2))
        before, own = whole.copy(), slice(begin, begin + n)
        step = rule.bind([whole[own]], [grads[own]])
        step()
        step()
        assert (np.delete(whole, own) == np.delete(before, own)).all()
        for array in (whole, *(arrays[0] for arrays in step.state.arrays.values())):
            digest.update(array.tobytes())
    print(spec, dtype, digest.hexdigest())
"""


def test_masks_change_no_bit(tmp_path: Path) -> None:
    plain, masked = (
        python(code, OPTGEN_CACHE_DIR=str(tmp_path / str(k))) for k, code in enumerate((STEPS, MASKS + STEPS))
    )
    assert plain.stdout.splitlines() == masked.stdout.splitlines(), masked.stderr
    assert len(plain.stdout.splitlines()) == 6, plain.stderr
