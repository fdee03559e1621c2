"""Linear algebra: `products` of matrices, `diagonals` and triangles, `matrices` with all of `nd.linalg`."""
