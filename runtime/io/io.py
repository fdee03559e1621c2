"""Data iterators, for scripts that were written before Gluon. New code uses `gluon.data.DataLoader`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from runtime import ndarray as nd
from runtime.base import MXNetError, count
from runtime.core.backend import device_scope, to_context
from runtime.io.utils import Source, _csr_rows, _init_data
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import CSRNDArray


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """The description of an array of a batch: the pair of its name and shape, with its element type and layout."""

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: tuple[int, ...], dtype: Any = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        described = super().__new__(cls, name, shape)
        described.dtype, described.layout = dtype, layout
        return described

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The axis of the batch in `layout`; 0 without a layout."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, tuple[int, ...]]], types: Sequence[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """The descriptions of arrays, from pairs of names and shapes, and of names and element types."""
        found = dict(types or ())
        return [DataDesc(name, shape, found.get(name, np.float32)) for name, shape in shapes]


class DataBatch:
    """One batch: lists of arrays, the number of padding samples at its end, and the sample numbers."""

    def __init__(
        self,
        data: Sequence[NDArray],
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: list[DataDesc] | None = None,
        provide_label: list[DataDesc] | None = None,
    ) -> None:
        for what, arrays in (("data", data), ("label", label)):
            if not isinstance(arrays, (list, tuple, type(None))):
                raise TypeError(f"DataBatch: {what} must be a list of arrays, not {type(arrays).__name__}")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        shapes = [arrays and [x.shape for x in arrays] for arrays in (self.data, self.label)]
        return f"{type(self).__name__}: data shapes: {shapes[0]} label shapes: {shapes[1]}"


class DataIter:
    """The base class: `next()` returns a `DataBatch` until StopIteration, and `reset()` starts again."""

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Start with the first batch again."""

    def next(self) -> DataBatch:
        """The next batch; StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Move to the next batch. Returns whether there is one."""
        raise NotImplementedError(f"{type(self).__name__} must define iter_next and getdata, or next")

    def getdata(self) -> list[NDArray]:
        raise NotImplementedError(f"{type(self).__name__} must define getdata")

    def getlabel(self) -> list[NDArray] | None:
        """The labels of the batch; iterators of samples without labels need not define it."""
        return None

    def getindex(self) -> Any:
        """The sample numbers of the batch, if they are known."""
        return None

    def getpad(self) -> int:
        """How many of the batch's samples fill it up only, by default none."""
        return 0


class MXDataIter(DataIter):
    """The base class of iterators that MXNet has in C++: `getdata` and `getlabel` return one array each."""

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())


class NDArrayIter(DataIter):
    """Batches of arrays.

    Parameters
    ----------
    data, label: an array (NDArray, NumPy, sparse csr), a list of them, or a dict by name. Batches have them in the
        order of their names. The first one has as many samples as there are; what others have beyond is not read.
    batch_size: samples in a batch.
    shuffle: whether the order is drawn anew at every start, from NumPy's generator.
    last_batch_handle: what fills a last, smaller batch: 'pad', samples from the start; 'discard' drops it; 'roll_over'
        puts its samples before those of the next round.
    data_name, label_name: names of single arrays.
    layout: of the batches; samples lie along N.
    """

    def __init__(
        self,
        data: Source,
        label: Source = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(count("batch_size", batch_size))
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ValueError(f"last_batch_handle must be 'pad', 'discard' or 'roll_over', not {last_batch_handle!r}")
        self.data = _init_data(data, False, data_name)
        self.label = _init_data(label, True, label_name)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self._axis = max(DataDesc.get_batch_axis(layout), 0)
        sizes = {name: x.shape[self._axis] for name, x in self.data + self.label}
        self.num_data = next(iter(sizes.values()), 0)
        if not self.data or min(sizes.values()) < self.num_data:
            raise ValueError(f"NDArrayIter: each array must have the samples that the first one has, not {sizes}")
        if any(isinstance(x, CSRNDArray) for _, x in self.data + self.label) and last_batch_handle != "discard":
            raise NotImplementedError("NDArrayIter: sparse arrays need last_batch_handle='discard'")
        self.idx = np.arange(self.num_data)
        """Where the last shuffling took each sample from."""
        self._rest: dict[str, NDArray] = {}
        """What 'roll_over' puts before the samples of this round, by name."""
        self._rolled = self._next = 0
        self._batch: np.ndarray | None = None
        """The numbers of the samples of the batch, in the order of this round."""
        self.reset()

    @property
    def cursor(self) -> int:
        """Where the batch begins, -batch_size before the first; a `reset` of your own sets it to that, or to None."""
        return self._next - self.batch_size

    @cursor.setter
    def cursor(self, place: int | None) -> None:
        self._next = 0 if place is None else max(place + self.batch_size, 0)

    @property
    def provide_data(self) -> list[DataDesc]:
        """The descriptions of the data of a batch."""
        return self._describe(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """The descriptions of the labels of a batch."""
        return self._describe(self.label)

    @property
    def data_list(self) -> list[NDArray]:
        """The arrays of all samples, data before labels. Writing to them changes the batches that follow."""
        return [x for _, x in self.data + self.label]

    def _describe(self, arrays: list[tuple[str, NDArray]]) -> list[DataDesc]:
        a = self._axis
        return [
            DataDesc(name, (*x.shape[:a], self.batch_size, *x.shape[a + 1 :]), x.dtype, self.layout)
            for name, x in arrays
        ]

    def hard_reset(self) -> None:
        """Start again, without the samples that 'roll_over' has left."""
        self._start(0)

    def reset(self) -> None:
        left = self._rolled + self.num_data - self._next
        self._start(left if self.last_batch_handle == "roll_over" and 0 < left < self.batch_size else 0)

    def _start(self, rolled: int) -> None:
        """Begin a round with the last samples of this one, `rolled` of them."""
        last = np.arange(self.num_data - rolled, self.num_data)
        self._rest = {name: self._rows(x, last) for name, x in self.data + self.label} if rolled else {}
        self._rolled, self._next, self._batch = rolled, 0, None
        if self.shuffle:
            np.random.shuffle(self.idx)
            self.data = [(name, self._rows(x, self.idx)) for name, x in self.data]
            self.label = [(name, self._rows(x, self.idx)) for name, x in self.label]

    def iter_next(self) -> bool:
        size = self._rolled + self.num_data
        self._pad = max(0, self._next + self.batch_size - size)
        if self._next >= size or (self._pad and self.last_batch_handle != "pad"):
            return False
        batch = np.arange(self._next, self._next + self.batch_size) % size
        if not self._pad and self._next == 0:
            self._pad = self._rolled
        self._next += self.batch_size
        self._batch = batch
        return True

    def getdata(self) -> list[NDArray]:
        return [self._taken(name, x) for name, x in self.data]

    def getlabel(self) -> list[NDArray]:
        return [self._taken(name, x) for name, x in self.label]

    def getindex(self) -> Any:
        return None

    def getpad(self) -> int:
        return self._pad

    def _taken(self, name: str, x: NDArray) -> NDArray:
        """The batch of one of the arrays."""
        if self._batch is None:
            raise MXNetError("NDArrayIter: there is no batch yet; call next() or iter_next()")
        rows = self._batch - self._rolled
        found = self._rows(x, rows[rows >= 0])
        return found if rows[0] >= 0 else nd.concat(self._rest[name], found, dim=self._axis)

    def _rows(self, x: NDArray, rows: np.ndarray) -> NDArray:
        if isinstance(x, CSRNDArray):
            return _csr_rows(x, rows)
        with device_scope(x.context):
            return NDArray(np.take(x._data, to_context(rows, x.context), axis=self._axis), x.context)


# ---------------------------------------------------------------- over other iterators


class _Held(DataIter):
    """The base class of iterators over iterators. `current_batch` is the current batch."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch

    def getdata(self) -> list[NDArray]:
        return self._batch().data

    def getlabel(self) -> list[NDArray]:
        return self._batch().label

    def getindex(self) -> Any:
        return self._batch().index

    def getpad(self) -> int:
        return self._batch().pad

    def _batch(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no batch yet; call next() or iter_next()")
        return self.current_batch


class ResizeIter(_Held):
    """An iterator with `size` batches of `data_iter` in each epoch. `data_iter` is reset when it ends earlier.

    `reset` resets it too, unless `reset_internal` is False: then a round begins where the last one has ended.
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = count("size", size, 0)
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur >= self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            try:
                self.current_batch = self.data_iter.next()
            except StopIteration:
                raise MXNetError("ResizeIter: data_iter has no batch at all") from None
        self.cur += 1
        return True


class PrefetchingIter(_Held):
    """The joint batches of one or several iterators. Each prepares its next batch in a thread of its own.

    Parameters
    ----------
    iters: an iterator, or a list of them, with as many batches each.
    rename_data, rename_label: for each iterator a dict from its arrays' names to those they have here.

    What an iterator raises is raised by the `next` that asks for its batch. The threads end with the iterator.
    """

    def __init__(
        self,
        iters: DataIter | list[DataIter],
        rename_data: list[dict[str, str]] | None = None,
        rename_label: list[dict[str, str]] | None = None,
    ) -> None:
        self.iters = iters if isinstance(iters, list) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise ValueError("PrefetchingIter: iters is empty")
        for what, names in (("rename_data", rename_data), ("rename_label", rename_label)):
            if names is not None and len(names) != self.n_iter:
                raise ValueError(f"PrefetchingIter: {what} has {len(names)} dicts for {self.n_iter} iterators")
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0][1][0])
        self._threads = ThreadPoolExecutor(self.n_iter, "PrefetchingIter")
        self._start()

    @property
    def provide_data(self) -> list[DataDesc]:
        """The descriptions of the data of a batch."""
        return _renamed([it.provide_data for it in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """The descriptions of the labels of a batch."""
        return _renamed([it.provide_label for it in self.iters], self.rename_label)

    def _start(self) -> None:
        """Have the next batch of each iterator made."""
        self._coming = [self._threads.submit(_next_or_none, it) for it in self.iters]

    def reset(self) -> None:
        for future in self._coming:
            future.exception()  # waits; what was raised belongs to the round that ends here
        for it in self.iters:
            it.reset()
        self._start()

    def iter_next(self) -> bool:
        batches = [future.result() for future in self._coming]
        present = [batch for batch in batches if batch is not None]
        if not present:
            return False
        pads = [None if batch is None else batch.pad for batch in batches]
        if len(present) < self.n_iter or len(set(pads)) > 1:
            raise MXNetError(
                f"PrefetchingIter: the iterators do not have as many samples: here their batches are padded by {pads} "
                "(None: there is no batch)"
            )
        self._start()
        self.current_batch = DataBatch(
            [x for batch in batches for x in batch.data],
            [x for batch in batches for x in batch.label or ()],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True


def _next_or_none(it: DataIter) -> DataBatch | None:
    """The next batch; None after the last. A future cannot hold StopIteration as other exceptions."""
    try:
        return it.next()
    except StopIteration:
        return None


def _renamed(provided: list[list[DataDesc]], names: list[dict[str, str]] | None) -> list[DataDesc]:
    """The descriptions of all iterators' arrays, under their new names."""
    described = [[x if isinstance(x, DataDesc) else DataDesc(*x) for x in own] for own in provided]
    if names is None:
        return [x for own in described for x in own]
    return [
        DataDesc(new[x.name], x.shape, x.dtype, x.layout)
        for new, own in zip(names, described, strict=True)
        for x in own
    ]
