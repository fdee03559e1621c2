"""The CPU: kernels and their tables, the threads that share a step, and several kernels in one native call."""
