"""Data for measuring how fast everything else is."""

from __future__ import annotations

from runtime.io import DataBatch, DataIter


class DummyIter(DataIter):
    """Gives the first batch of `real_iter` again and again, without end."""

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self) -> DataBatch:
        return self.the_batch
