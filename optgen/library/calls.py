"""The functions of matrices that a library has code for."""

from __future__ import annotations

FACTORIZED = ("inverse_root", "eigenvectors", "orthonormal", "solve", "right_singular_vectors")
"""Those of factorizations.c, by LAPACK."""
CALLS = {
    "product": ("run_product", "product_bytes"),
    "identity": ("run_identity", "no_bytes"),
    **{name: (f"run_{name}", "factorization_bytes") for name in FACTORIZED},
}
"""A function of matrices -> the functions of C that compute it, and that say how much memory it needs."""
SUPPORTED = tuple(CALLS)
