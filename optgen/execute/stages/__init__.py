"""Updates of several kernels with calls between them: bound to memory, and run stage by stage."""
