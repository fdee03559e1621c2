"""What `autograd` and `optgen_bridge` ask of arrays and contexts, for annotations: the classes are above them."""

from __future__ import annotations

from typing import Any, Protocol, Self


class Context(Protocol):
    """A device that arrays live on: `runtime.context.Context`."""

    device_id: int
    on_cpu: bool


class NDArray(Protocol):
    """An array: `runtime.ndarray.NDArray`.

    `_data` is the memory, a NumPy or CuPy array, `_ctx` its context, and `_node` what the array is in the graph.
    """

    _data: Any
    _ctx: Context
    _node: Any

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def dtype(self) -> type: ...

    @property
    def stype(self) -> str: ...

    def __add__(self, other: Self) -> Self: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def reshape(self, shape: tuple[int, ...]) -> Self: ...

    def astype(self, dtype: Any, copy: bool = True) -> Self: ...

    def copy(self) -> Self: ...

    def detach(self) -> Self: ...

    def _in_graph(self) -> bool: ...

    def _full_like(self, value: float) -> Self: ...
