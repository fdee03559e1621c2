"""What holds for every array: operators and compiled code rely on it, so each test here checks it on all it makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.context import Context
from runtime.core import backend
from runtime.ndarray.ndarray import NDArray


@pytest.fixture(autouse=True, scope="module")
def every_array_is_contiguous_and_somewhere() -> Iterator[None]:
    make = NDArray.__init__

    def checked(self: NDArray, *args: object, **kwargs: object) -> None:
        make(self, *args, **kwargs)
        assert self._data.flags.c_contiguous, f"an array of shape {self.shape} and strides {self._data.strides}"
        assert isinstance(self._ctx, Context), f"an array of shape {self.shape} in {self._ctx!r}"
        assert backend.is_host(self._data) == self._ctx.on_cpu, f"{type(self._data)} in {self._ctx}"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NDArray, "__init__", checked)
        yield
