"""What a step asks of the rule that bound it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from optgen.execute.buffers import Tensor
from optgen.execute.hyper import Numbers
from optgen.execute.piece import AnyPiece
from optgen.execute.state import State
from optgen.model import FlagValue, Optimizer


class Rule(Protocol):
    """What a step asks of the rule that bound it."""

    spec: Optimizer
    values: Mapping[str, float | None]
    dtype: str
    master: bool
    scales_gradient: bool

    def decide(
        self, rank: int, flags: Mapping[str, FlagValue], values: Mapping[str, float | None], *, sparse: bool
    ) -> Mapping[str, FlagValue]:
        """All flags of a parameter of this rank, given those that are set for it."""

    def evaluate_tensors(
        self,
        params: Sequence[Tensor],
        state: State,
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        values: Numbers,
    ) -> list[Any]:
        """New arrays with the weights to evaluate with."""
