"""Products and factorizations of matrices, on the CPU.

Arrays are float32 or float64, C-contiguous, (..., rows, columns); leading dimensions are a batch. docs/linalg.md says
what each function computes, how exactly, and in which order. Each file imports only those above it:

    matrices        arguments: batches of matrices, checked
    blocks          products by BLAS, in blocks that the threads share
    own             products by code of our own: bfloat16, deterministic
    products        `product`
"""

from optgen.linalg.matrices import view
from optgen.linalg.products import How, product, reference_product

__all__ = ["How", "product", "reference_product", "view"]
