"""PyCUDA itself; ImportError that names the extra where it is not installed."""

from __future__ import annotations

from optgen import extras

try:
    import pycuda.driver as cuda
    from pycuda import gpuarray
except ModuleNotFoundError as error:
    if error.name != "pycuda":
        raise
    raise ImportError(f"optgen.pycuda needs PyCUDA, which is not installed; {extras.install('pycuda')}") from None

__all__ = ["cuda", "gpuarray"]
