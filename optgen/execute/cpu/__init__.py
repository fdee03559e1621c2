"""Kernels of the CPU: threads, and several kernels in one native call."""
