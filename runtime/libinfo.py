"""The library's version, at the path where MXNet has it."""

from runtime.base import __version__

__all__ = ["__version__"]
