"""The threads of the kernels, one pool for a process, and the CPUs that it may use."""
