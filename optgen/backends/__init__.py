"""LLVM IR from a planned kernel. `cpu/` and `ptx/` are the targets, what they share is beside them, and `target` has
LLVM compile it."""
