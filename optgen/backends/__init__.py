"""LLVM IR from a planned kernel. `cpu/` is the target of CPUs, and `gpu/` has a file for each kind of GPU. What they
share is beside them. `target` has LLVM compile the text, and `machine` has the constants that depend on the machine."""
