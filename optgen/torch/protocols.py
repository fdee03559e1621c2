"""What the steps of parameter groups ask of the optimizer that they are steps of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import torch

from optgen.model import Optimizer
from optgen.torch.gpu_scaler import GpuScaler
from optgen.torch.owners import Owners
from optgen.torch.spelling import Spelling
from optgen.torch.state import StateKeys


class Owner(Protocol):
    """An optimizer: its spec, and what it has of `torch.optim.Optimizer`. `SpecOptimizer` says what each is."""

    spec: ClassVar[Optimizer]
    spelling: ClassVar[Spelling]
    state_keys: ClassVar[StateKeys]
    matmul: ClassVar[str]
    makes_states_at_construction: ClassVar[bool]
    saves_identity: ClassVar[bool]
    seed: int
    clip_norm: float | None
    in_backward: bool
    donate_grads: bool
    gpu_scaler: GpuScaler
    owners: Owners
    state: Any
    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]

    def numbers_of(self, params: Sequence[torch.Tensor]) -> list[int]:
        """The numbers of parameters among those of all groups."""

    def updates_rows(self, group: Mapping[str, Any], param: torch.Tensor) -> bool:
        """Whether only the rows are updated that a parameter's gradient has."""

    def rule_flags(self, matmul: str) -> Mapping[str, bool]:
        """Flags of the spec that follow from how matrices are multiplied."""

    def describe(self, param: torch.Tensor) -> str:
        """A parameter as errors call it: by its name, if it has one, else by its place and shape."""
