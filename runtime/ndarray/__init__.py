"""Arrays and what can be computed with them.

Read `ndarray` and `operator` first. Each family of operators is one file, whose `__all__` says what users see of it,
and `METHODS` which of these are methods of NDArray too. To add a family, add its file to FAMILIES.
"""

from __future__ import annotations

from runtime import random  # noqa: F401 (nd.random)
from runtime.ndarray import creation, elementwise, index, linalg, methods, nn, reduce, shape, sparse
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public

FAMILIES = (creation, elementwise, reduce, shape, index, linalg, nn, sparse)

for _family in FAMILIES:
    for _name in _family.__all__:
        globals()[_name] = public(getattr(_family, _name))
    for _name in getattr(_family, "METHODS", ()):
        setattr(NDArray, _name, globals().get(_name) or public(getattr(_family, _name)))
methods.install()


def waitall() -> None:
    """Return when everything is computed: at once, as operators are computed when they are called."""
