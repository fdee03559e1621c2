"""Object code for this machine: the cache that keeps it and the linker that loads it."""
