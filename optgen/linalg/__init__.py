"""Products and factorizations of matrices, on the CPU.

Arrays are float32 or float64, C-contiguous, (..., rows, columns); leading dimensions are a batch. docs/linalg.md says
what each function computes, how exactly, and in which order. Each file imports only those above it:

    errors          FactorizationError
    matrices        arguments: batches of matrices, checked
    blocks          products by BLAS, in blocks that the threads share
    own             products by code of our own: bfloat16, deterministic
    products        `product`
    stacks          lists of arrays as lists of matrices
    lapack          calls of LAPACK that the threads share
    factorizations  eigenvalues, singular values, QR, linear equations
    roots           `inverse_root`
"""

from optgen.linalg.errors import FactorizationError
from optgen.linalg.factorizations import (
    eigenvalues,
    eigenvectors,
    eigh,
    left_singular_vectors,
    orthonormal,
    right_singular_vectors,
    singular_values,
    solve,
    svd,
)
from optgen.linalg.matrices import Addend, view
from optgen.linalg.products import How, PreparedProduct, prepare, product, reference_product
from optgen.linalg.roots import inverse_root

__all__ = [
    "Addend",
    "FactorizationError",
    "How",
    "PreparedProduct",
    "eigenvalues",
    "eigenvectors",
    "eigh",
    "inverse_root",
    "left_singular_vectors",
    "orthonormal",
    "prepare",
    "product",
    "reference_product",
    "right_singular_vectors",
    "singular_values",
    "solve",
    "svd",
    "view",
]
