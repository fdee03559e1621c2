"""Programs with products of matrices: cut into kernels, and calls between them."""
