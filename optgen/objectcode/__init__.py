"""Object code for this machine: the cache that keeps it, the linker that loads it, and functions written in C."""
