"""The functions of matrices that a library has code for."""

from __future__ import annotations

CALLS = {
    "product": ("run_product", "product_bytes"),
    "identity": ("run_identity", "no_bytes"),
}
"""A function of matrices -> the functions of C that compute it, and that say how much memory it needs."""
FACTORIZED: tuple[str, ...] = ()
"""Those of factorizations.c, by LAPACK."""
SUPPORTED = tuple(CALLS)
