"""A GEMM for where that of NumPy's BLAS cannot be called: multiples of the rows of B, added up in the rows of C."""

from __future__ import annotations

import numpy as np

from optgen.loops import code
from optgen.loops.compile import Blas, module
from optgen.loops.language import NO_TRANS, TRANS, Array, function

TYPES = Blas("i64", "i64")


@function
def multiply(
    order: int, ta: int, tb: int, m: int, n: int, k: int, alpha: float, a: Array, lda: int, b: Array, ldb: int,
    beta: float, c: Array, ldc: int,
) -> None:  # fmt: skip
    for i in range(m):
        row = c + i * ldc
        for j in range(n):
            row[j] = 0.0 if beta == 0.0 else beta * row[j]
        for p in range(k):
            x = alpha * (a[p * lda + i] if ta == TRANS else a[i * lda + p])
            if tb == NO_TRANS:
                for j in range(n):
                    row[j] += x * b[p * ldb + j]
            else:
                for j in range(n):
                    row[j] += x * b[j * ldb + p]


def address(dtype: np.dtype) -> int:
    """The address of the compiled function. It is called as CBLAS's is, with flags and sizes of 64 bits."""
    element = "float" if dtype == np.float32 else "double"
    parameters = ", ".join(f"{type} %{name}".replace("{T}", element) for name, type in multiply.parameters)
    entry = f"""
define void @native_gemm({parameters}) {{
  call void @f.multiply(ptr null, {parameters})
  ret void
}}
"""
    return code.load(module(multiply, dtype, TYPES) + entry, "native_gemm")
