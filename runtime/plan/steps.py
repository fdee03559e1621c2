"""What a plan consists of: arrays in buffers, and steps that read and write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optgen.loops.kernel import LoopKernel

Shape = tuple[int, ...]


@dataclass(eq=False)
class Buffer:
    """Memory. `kind` says whose:

    'block': the plan's own; 'input': that of input `index`: data, parameters, gradients of outputs; 'output': that of
    output `index`, new in each call; 'constant': that of `array`, which never changes.
    """

    nbytes: int
    kind: str = "block"
    index: int = -1
    array: np.ndarray | None = None
    offset: int = -1
    """In the block; -1: it needs no memory."""


@dataclass(frozen=True)
class Array:
    """A C-contiguous array at `offset`, in bytes, in a buffer."""

    buffer: Buffer
    offset: int
    shape: Shape
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def reshaped(self, shape: Shape) -> Array:
        return Array(self.buffer, self.offset, shape, self.dtype)


@dataclass(eq=False)
class KernelStep:
    """A call of a kernel. `arguments` are arrays, integers and None, as the kernel takes them."""

    kernel: LoopKernel
    tasks: int
    work: int
    arguments: list[Any]
    reads: list[Buffer]
    writes: list[Buffer]
    dtype: np.dtype
    scratch: int = 0

    def with_arguments(self, **changed: Any) -> list[Any]:
        """The arguments, with others for some of the kernel's parameters, by their names."""
        names = [name for name, _ in self.kernel.parameters[-len(self.arguments) :]]
        given = dict(zip(names, self.arguments, strict=True))
        assert changed.keys() <= given.keys(), (self.kernel.name, changed)
        return list((given | changed).values())


@dataclass(eq=False)
class PythonStep:
    """A call of `forward(*inputs, **attrs)` in Python. Its results are copied to `outputs`, where that is not None.

    `draws`: it takes random numbers, which later calls then do not get.
    """

    forward: Callable[..., Any]
    inputs: list[Any]
    attrs: dict[str, Any]
    outputs: list[Array | None]
    draws: bool = False

    @property
    def reads(self) -> list[Buffer]:
        return [x.buffer for x in self.inputs if isinstance(x, Array)]

    @property
    def writes(self) -> list[Buffer]:
        return [x.buffer for x in self.outputs if x is not None]


@dataclass(eq=False)
class ElementStep:
    """Each element of `output` as an expression of those of the operands, which are broadcast to its shape.

    `text` is Python of the loops' language, in which {0}, {1}, ... are the operands: arrays, or numbers as text.
    """

    output: Array
    operands: list[Array | str]
    text: str
    work: int = 1
    reads: list[Buffer] = field(init=False)
    writes: list[Buffer] = field(init=False)

    def __post_init__(self) -> None:
        self.reads = [x.buffer for x in self.operands if isinstance(x, Array)]
        self.writes = [self.output.buffer]


Step = KernelStep | PythonStep | ElementStep


def new(shape: Shape, dtype: np.dtype) -> Array:
    """An array in a buffer of its own."""
    return Array(Buffer(math.prod(shape) * dtype.itemsize), 0, shape, dtype)
