"""Elementary functions of float64 as straight lines of primitive IEEE operations.

The interpreter, the CPU (with any vector width) and the GPU agree to the bit, because they execute the same additions
and multiplications. There is no fused multiply-add, no table and no branch. Both sides of every choice are computed,
and one is selected. Arguments for which the main path is meaningless (NaN, infinities, zeros) run through it, and their
results are replaced at the end. Special values follow C99 Annex F. The error of each function is below one unit in the
last place; docs/math.md has the measured errors.

Accuracy beyond 53 bits comes from pairs `hi + lo`. Two `hi` that are multiplied are first cut to 24 significant bits
(`head`), so that the product is exact without fused multiply-add. Products with a `lo`, 2^-24 as large, are rounded.
The polynomials interpolate at Chebyshev nodes; tests/ir/coefficients.py derives them.
"""
