"""The library's version, in the module that MXNet has it in."""

from runtime.base import __version__

__all__ = ["__version__"]
