"""The values of a parameter group, looked at before every step: whether they changed, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from optgen.arguments import Arguments
from optgen.model import Optimizer
from optgen.torch.spelling import Spelling, checked

NO_CHANGES: dict[str, float | None] = {}


class GroupValues:
    """The values of a group at its last step. `arguments` are these in the spec's names."""

    def __init__(self, spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> None:
        self._spec, self._spelling = spec, spelling
        self._keys = (*spelling.params, *spelling.flags)
        self._read(group)

    def _read(self, group: Mapping[str, Any]) -> None:
        self.arguments: Arguments = checked(self._spec, self._spelling, group)
        self._last = [group[key] for key in self._keys]
        self._options = options(group)
        # A tensor can change its value and stay the same object.
        self._has_tensors = any(isinstance(x, torch.Tensor) for x in self._last) or any(
            isinstance(x, torch.Tensor) for pair in self._last if isinstance(pair, tuple | list) for x in pair
        )

    def changes(self, group: Mapping[str, Any]) -> dict[str, float | None] | None:
        """The params that have changed since the last call; None if the group needs other kernels."""
        same = not self._has_tensors
        if same:
            for key, last in zip(self._keys, self._last, strict=True):
                if group[key] is not last or last.__class__ is list:
                    same = False
                    break
        if same and options(group) == self._options:
            return NO_CHANGES
        before, options_before = self.arguments, self._options
        self._read(group)
        if self.arguments.flags != before.flags or self._options != options_before:
            return None
        old = before.values
        return {name: x for name, x in self.arguments.values.items() if x != old[name]}


def options(group: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """How a group's weights and states are kept, and the sign of its gradients."""
    return group.get("storage"), group.get("master"), group.get("maximize")
