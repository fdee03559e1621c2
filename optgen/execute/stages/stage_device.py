"""Where stages are computed, and the memory between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from optgen.execute.buffers import Tensor
from optgen.execute.stages.bound_stages import BoundStage, StageTable
from optgen.execute.stages.calls import Request
from optgen.stages.plan import CallStage

if TYPE_CHECKING:
    from optgen.linalg import How


class DeviceMemory(Protocol):
    """Memory of a device, which is free again when this object is gone."""

    @property
    def nbytes(self) -> int: ...


class StageDevice(Protocol):
    """Where stages are computed; what is asked for is done in order."""

    at_once: int
    """How many parameters are updated side by side."""

    def block(self, nbytes: int) -> tuple[DeviceMemory, int]:
        """New memory, and its address."""

    def table(
        self, kernel: Any, domains: Sequence[Tensor], held: Mapping[str, Sequence[Tensor]], ids: Sequence[int]
    ) -> StageTable:
        """A table of tensors; `held` are their buffers but the gradients."""

    def view(self, tensor: Tensor) -> Any:
        """The memory of a tensor as an array that `call` takes."""

    def call(
        self, stage: CallStage, operands: Sequence[Any], numbers: Sequence[float], out: Any, how: How = "native"
    ) -> None:
        """Compute a call that cannot fail."""

    def factorize(self, requests: Sequence[Request]) -> None:
        """Compute calls that may fail: see `calls.factorize`."""

    def prepared(self, stages: Sequence[BoundStage], how: How, workspace: Workspace) -> Sequence[BoundStage]:
        """Stages in the form in which they run fastest here. They need no further memory for arrays."""

    def groups(self, elements: Sequence[int]) -> list[list[int]]:
        """Updates of so many elements each that cannot fail, by their numbers, in groups: those of a group are made one
        after the other, in one workspace."""

    def run_groups(self, groups: Sequence[Sequence[Sequence[BoundStage]]]) -> None:
        """Make updates, in groups: their stages."""

    def keep(self, tensor: Tensor) -> Callable[[], None]:
        """Copy a tensor; returns what writes the copy back."""

    def is_finite(self, tensor: Tensor) -> bool:
        """Whether a gradient has no NaN and no infinity, if that is known before it is factorized."""


class Workspace:
    """The arrays between stages, and the panels of products: two blocks of memory, which runs use one after another."""

    def __init__(self, device: StageDevice) -> None:
        self._device = device
        self.block: DeviceMemory | None = None
        self.panels: DeviceMemory | None = None
        self.address = self.panel_address = 0

    def reserve(self, nbytes: int) -> None:
        """Have at least so many bytes for arrays."""
        if self.block is None or nbytes > self.block.nbytes:
            self.block, self.address = self._device.block(nbytes)

    def reserve_panels(self, nbytes: int) -> None:
        """Have at least so many bytes for panels."""
        if self.panels is None or nbytes > self.panels.nbytes:
            self.panels, self.panel_address = self._device.block(nbytes)
