"""Linear algebra: products, factorizations, diagonals. `nd.linalg.gemm2` is `nd.linalg_gemm2`."""
