"""`cupy.linalg`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _api, _functions
from ._array import device

raises = False
"""Whether failures are raised: `cupyx.errstate(linalg="raise")`."""


def _silent(function: Callable) -> Callable:
    """As CuPy's: it does not wait for the device to say that it failed, and returns what is in memory. Several results
    are a tuple without names."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = function(a, *args, **kwargs)
        except np.linalg.LinAlgError:
            if raises:
                raise np.linalg.LinAlgError("Error reported by a routine in cuSOLVER. devInfo = [1].") from None
            return device(np.full(a.shape, np.nan, a.dtype))
        return tuple(result) if isinstance(result, tuple) else result

    return call


for _name in _api.SIGNATURES["linalg"]:
    globals()[_name] = _silent(_functions.function("linalg", _name, getattr(np.linalg, _name)))
