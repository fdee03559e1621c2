"""Iterators over text files of numbers, which are read as a whole: LibSVM's sparse lines, and CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, count, counts
from runtime.core import files
from runtime.io.io import DataDesc, MXDataIter
from runtime.io.utils import taken
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import CSRNDArray

Shape = int | Sequence[int]


class _RowsIter(MXDataIter):
    """Batches of rows, in order. A last batch is filled up with the first rows; with `round_batch` the next round
    begins after these."""

    def __init__(self, data: NDArray, label: NDArray, batch_size: int, round_batch: bool) -> None:
        super().__init__(count("batch_size", batch_size))
        if not len(data):
            raise MXNetError(f"{type(self).__name__}: there is no sample")
        if len(label) != len(data):
            raise MXNetError(f"{type(self).__name__}: {len(data)} samples, but {len(label)} labels")
        self._data, self._label = data, label
        self._round = round_batch
        self._next = 0
        self._rows = np.empty(0, np.int64)
        self.provide_data = [self._described("data", data)]
        self.provide_label = [self._described("softmax_label", label)]

    def _described(self, name: str, x: NDArray) -> DataDesc:
        return DataDesc(name, (self.batch_size, *x.shape[1:]), x.dtype)

    def reset(self) -> None:
        past = self._next - len(self._data)
        self._next = past % len(self._data) if self._round and past > 0 else 0

    def iter_next(self) -> bool:
        if self._next >= len(self._data):
            return False
        self._rows = np.arange(self._next, self._next + self.batch_size) % len(self._data)
        self._next += self.batch_size
        return True

    def getdata(self) -> NDArray:
        """The data of the batch."""
        return taken(self._data, self._current())

    def getlabel(self) -> NDArray:
        """The labels of the batch."""
        return taken(self._label, self._current())

    def getpad(self) -> int:
        return max(self._next - len(self._data), 0)

    def getindex(self) -> np.ndarray:
        return self._current()

    def _current(self) -> np.ndarray:
        if not len(self._rows):
            raise MXNetError(f"{type(self).__name__}: there is no batch yet; call next() or iter_next()")
        return self._rows


class LibSVMIter(_RowsIter):
    """Sparse samples of lines `label column:value column:value ...`, with columns from 0 on in ascending order.

    Data are csr arrays (batch_size, columns). A last batch is filled up with the first rows, and the next round begins
    after these.

    Parameters
    ----------
    data_libsvm: a file, or a folder, whose files are read one after the other.
    data_shape: the number of columns, as in `(10,)`.
    batch_size: samples in a batch.
    label_libsvm: a file of as many lines whose columns are the labels, which are then csr arrays. By default the labels
        are what `data_libsvm` has before its columns: `label_shape` numbers, with commas between.
    label_shape: the number of columns, or numbers, of a label.
    num_parts, part_index: of so many parts of consecutive lines, the one to read.
    round_batch: must be True.
    dtype: the element type, by default float32.
    prefetch_buffer, ctx: ignored; nothing is read ahead, and batches are in the memory of the CPU.
    """

    def __init__(
        self,
        data_libsvm: str | os.PathLike[str],
        data_shape: Shape,
        batch_size: int,
        label_libsvm: str | os.PathLike[str] | None = None,
        label_shape: Shape = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        dtype: Any = None,
        prefetch_buffer: int = 4,
        ctx: Any = None,
        **kwargs: Any,
    ) -> None:
        _refuse("LibSVMIter", kwargs)
        if not round_batch:
            raise ArgumentError("LibSVMIter: round_batch must be True")
        columns, width = _length("data_shape", data_shape), _length("label_shape", label_shape)
        labels, data = _libsvm(data_libsvm, columns, dtype)
        if label_libsvm in (None, "NULL"):
            numbers = _numbers(labels, width, data_libsvm)
            label = nd.array(numbers[:, 0] if width == 1 else numbers, dtype=dtype or np.float32)
        else:
            label = _libsvm(label_libsvm, width, dtype)[1]
        part, parts = count("part_index", part_index, 0), count("num_parts", num_parts)
        if part >= parts:
            raise ArgumentError(f"LibSVMIter: part_index is from 0 to {parts - 1}, not {part}")
        rows = np.arange(len(data) * part // parts, len(data) * (part + 1) // parts)
        super().__init__(taken(data, rows), taken(label, rows), batch_size, round_batch=True)


def _length(name: str, shape: Shape) -> int:
    lengths = counts(name, shape)
    if len(lengths) != 1:
        raise ArgumentError(f"LibSVMIter: {name} must be one number, not {shape}")
    return lengths[0]


def _libsvm(path: str | os.PathLike[str], columns: int, dtype: Any) -> tuple[list[str], CSRNDArray]:
    """The texts before the columns, and the columns, of the lines of a file or of a folder's files."""
    source = Path(path).expanduser()
    labels: list[str] = []
    indptr, indices, values = [0], [], []
    for file in sorted(source.iterdir()) if source.is_dir() else [source]:
        for number, line in enumerate(files.read(file).decode().splitlines(), 1):
            label, *pairs = line.split() or [""]
            if not label:
                continue
            where = f"'{file}', line {number}"
            for pair in pairs:
                column, value = _pair(pair, columns, where)
                if len(indices) > indptr[-1] and column <= indices[-1]:
                    raise MXNetError(f"{where}: column {column} after {indices[-1]}; columns must ascend")
                indices.append(column)
                values.append(value)
            indptr.append(len(indices))
            labels.append(label)
    shape = (len(labels), columns)
    matrix = nd.sparse.csr_matrix(
        (np.asarray(values, np.float64), np.asarray(indices, np.int64), np.asarray(indptr, np.int64)),
        shape=shape,
        dtype=dtype or np.float32,
    )
    return labels, matrix


def _pair(text: str, columns: int, where: str) -> tuple[int, float]:
    try:
        column, value = text.split(":")
        pair = int(column), float(value)
    except ValueError:
        raise MXNetError(f"{where}: {text!r} is no column:value") from None
    if not 0 <= pair[0] < columns:
        raise MXNetError(f"{where}: column {pair[0]}, but there are {columns}, counted from 0")
    return pair


def _numbers(labels: list[str], width: int, path: Any) -> np.ndarray:
    numbers = np.empty((len(labels), width))
    for i, label in enumerate(labels):
        try:
            numbers[i] = [float(x) for x in label.split(",")]
        except ValueError:
            raise MXNetError(f"'{path}', sample {i}: {label!r} is no label of {width} numbers") from None
    return numbers


class CSVIter(_RowsIter):
    """Samples of lines of numbers with commas between.

    Parameters
    ----------
    data_csv: the file of the samples.
    data_shape: the shape of a sample, whose elements are the numbers of a line.
    batch_size: samples in a batch.
    label_csv: the file of the labels; by default they are 0.
    label_shape: the shape of a label.
    round_batch: whether the next round begins after those that fill up a last batch.
    dtype: the element type, by default float32.
    prefetch_buffer, ctx: ignored; nothing is read ahead, and batches are in the memory of the CPU.
    """

    def __init__(
        self,
        data_csv: str | os.PathLike[str],
        data_shape: Shape,
        batch_size: int,
        label_csv: str | os.PathLike[str] | None = None,
        label_shape: Shape = (1,),
        round_batch: bool = True,
        dtype: Any = None,
        prefetch_buffer: int = 4,
        ctx: Any = None,
        **kwargs: Any,
    ) -> None:
        _refuse("CSVIter", kwargs)
        data = _csv(data_csv, counts("data_shape", data_shape), dtype)
        shape = counts("label_shape", label_shape)
        if label_csv in (None, "NULL"):
            label = nd.zeros((len(data), *shape), dtype=dtype or np.float32)
        else:
            label = _csv(label_csv, shape, dtype)
        if shape == (1,):
            label = label.reshape((-1,))
        super().__init__(data, label, batch_size, round_batch)


def _csv(path: str | os.PathLike[str], shape: tuple[int, ...], dtype: Any) -> NDArray:
    dtype = np.dtype(dtype or np.float32)
    try:
        with files.opening():
            rows = np.loadtxt(Path(path).expanduser(), dtype, delimiter=",", ndmin=2)
    except ValueError as error:
        raise MXNetError(f"'{path}': {error}") from None
    if rows.shape[1] != np.prod(shape):
        raise MXNetError(f"'{path}' has {rows.shape[1]} numbers a line, which do not make the shape {shape}")
    return nd.array(rows.reshape(len(rows), *shape), dtype=dtype)


def _refuse(name: str, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ArgumentError(f"{name} has no argument '{next(iter(kwargs))}'")
