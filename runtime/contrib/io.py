"""A DataLoader as an iterator of `mx.io`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.io import DataDesc, DataIter
from runtime.ndarray import NDArray


class DataLoaderIter(DataIter):
    """The batches, pairs of data and label, of a `gluon.data.DataLoader`.

    The first batch says what shape all have. A smaller last one is filled up with zeros, and `getpad` says how many.

    Parameters
    ----------
    loader: gives pairs of arrays, anew with each `iter`.
    data_name, label_name: the names of both.
    dtype: the element type that both are converted to.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
    ) -> None:
        first = next(iter(loader), None)
        if first is None:
            raise MXNetError("DataLoaderIter: the loader has no batch")
        data, label = first
        super().__init__(data.shape[0])
        self._loader = loader
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self) -> None:
        self._iter = iter(self._loader)
        self._current_batch: Any = None

    def iter_next(self) -> bool:
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def getdata(self) -> list[NDArray]:
        return [self._filled(self._batch()[0])]

    def getlabel(self) -> list[NDArray]:
        return [self._filled(self._batch()[1])]

    def getpad(self) -> int:
        return self.batch_size - len(self._batch()[0])

    def _batch(self) -> Any:
        if self._current_batch is None:
            raise MXNetError("DataLoaderIter: there is no batch yet; call next() or iter_next()")
        return self._current_batch

    def _filled(self, x: NDArray) -> NDArray:
        x = x.astype(self.dtype)
        missing = self.batch_size - len(x)
        return nd.concat(x, nd.zeros((missing, *x.shape[1:]), x.context, x.dtype), dim=0) if missing else x
