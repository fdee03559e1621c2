"""What a rule and its steps ask of the place where they compute: a platform, its devices, the runner of a step.

`cpu/` and `cuda/` implement these protocols.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from optgen.execute.buffers import Array, Tensor
from optgen.execute.hyper import Values
from optgen.execute.kernel import BufferTensors, LoadedKernel, Rows
from optgen.execute.piece import AnyPiece, Exchange
from optgen.execute.scaler import Scaler
from optgen.execute.transaction import Participant
from optgen.ir import Variant
from optgen.model import Optimizer


class Platform(Protocol):
    """What a rule is compiled for. `name` is the `target` of `load`."""

    name: str

    def check_dtypes(self, dtypes: Collection[str]) -> None:
        """ValueError naming a dtype of parameters, or a storage of states, that code for this platform cannot have."""

    def kernel(self, optimizer: Optimizer, variant: Variant, *, apart: bool = False) -> LoadedKernel:
        """One variant, compiled and loaded. `apart`: it shares values with parameters of other variants."""

    def param(self, obj: Any, name: str) -> Tensor:
        """The memory of a parameter; TypeError or ValueError naming it if it is on another platform."""

    def device(self, params: Sequence[Tensor], *, capturable: bool = False, stream: Any = None) -> Device:
        """The device that parameters are on; ValueError if they are on several, or if its steps cannot be captured.

        `stream` is that of its work, as for `UpdateRule.bind`; ValueError or TypeError if there is none such.
        """


class BoundTable(Protocol):
    """The parameters of a step that share a kernel: what a step sets of them. `order` are their numbers among all
    parameters, and `members` the same as a list."""

    members: Sequence[int]
    order: Array

    def set_hyper(self, values: Values) -> None:
        """Set hyper-parameters; sequences have an entry for each of all parameters."""

    def set_seed(self, seed: int) -> None:
        """Set the seed of draws."""

    def set_scaler(self, scaler: Scaler) -> None:
        """Set what gradients are multiplied by, if the kernel does that."""

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        """Read these gradients, for each member as many as the kernel reads, and update these rows of it."""

    def move_gradients(self, addresses: Array) -> None:
        """Read gradients of the same sizes and rows at these addresses, one for each member."""


class Device(Protocol):
    """One memory, and the processor that computes there.

    The counts and the states of kind host are in the memory of the CPU, but where steps are capturable in this one.
    """

    is_capturable: bool
    """Whether a whole step can be part of a graph."""

    def host_full(self, shape: tuple[int, ...], dtype: str, value: float) -> Any:
        """New counts, or a new state of kind host, filled with a value."""

    def host_tensor(self, obj: Any, name: str) -> Tensor:
        """The memory of counts or of a state of kind host; TypeError or ValueError naming it if it is elsewhere."""

    def host_copy(self, obj: Any, name: str) -> Any:
        """Counts or a state of kind host in the memory of the CPU, of a capturable step a copy there."""

    def scalar(self, obj: Any, name: str) -> Tensor | None:
        """A hyper-parameter in this memory that a capturable step reads at each step; None for any other value."""

    def tensor(self, obj: Any, name: str) -> Tensor:
        """The memory of a tensor that is here; TypeError or ValueError naming it if it is elsewhere."""

    def full(self, shape: tuple[int, ...], dtype: str, value: float, beside: Tensor | None = None) -> Any:
        """A new array, filled with a value. Its elements lie in the memory's lines as those of `beside` do."""

    def put(self, array: Array) -> Any:
        """An array here with the elements of a NumPy array; on the CPU, the array itself."""

    def get(self, tensor: Tensor) -> Array:
        """The elements of a tensor as a NumPy array, which must not be written."""

    def copy(self, tensor: Tensor, dtype: str) -> Any:
        """A new array with the elements of a tensor, converted to a dtype. They lie in lines as those of the tensor."""

    def set_rows(self, array: Any, old: Array, index: Array, rows: Tensor) -> None:
        """Clear the rows of an array that `old` numbers, then copy `rows` to those that `index` numbers."""

    def table(
        self,
        kernel: Any,
        members: Sequence[int],
        params: Sequence[Tensor],
        tensors: BufferTensors,
        ids: Sequence[int],
        pieces: Sequence[AnyPiece | None],
    ) -> BoundTable:
        """The table of one of the platform's kernels; arguments as `StepTable` has them."""

    def runner(self, tables: Sequence[Any], counts: Tensor, exchange: Exchange | None) -> Runner:
        """What runs a step over tables that `table` made. `counts` are the update counts of all parameters."""


class Runner(Participant, Protocol):
    """A step over some tables, ready to run: it counts one update of every tensor, and makes it.

    An ArithmeticError of `attempt` names a parameter. `run` can be called while the runner is alive.
    """

    @property
    def launches(self) -> Launches | None:
        """The two halves of `run` on a GPU; None where a step is one native call."""


class Launches(Protocol):
    """A step as launches on a GPU's current stream, where a graph can capture them."""

    def check_not_capturing(self) -> None:
        """RuntimeError while the stream is being captured."""

    def advance(self) -> None:
        """Count one update of every tensor, and send the numbers that the next launches read."""

    def launch(self) -> None:
        """Update every tensor with the numbers that were sent last."""
