"""A worker's optimizer, of which the servers have a copy that updates the values."""

from __future__ import annotations

from typing import Any

from runtime.optimizer import Optimizer, serialization

_KEPT = ("lr_mult", "wd_mult", "lr_scheduler")
"""What a worker's optimizer has from its script, whatever a checkpoint says."""


class WorkerOptimizer:
    """What the worker must tell the servers of its optimizer, and what they tell it.

    `updates`: how many updates the optimizer of the servers has made.
    """

    def __init__(self, optimizer: Optimizer, updates: int) -> None:
        self.optimizer = optimizer
        self.updated(updates)
        self._sent = serialization.changes(optimizer)

    @property
    def updates(self) -> int:
        """How many updates the servers have made, as far as is known here."""
        return self.optimizer.num_update

    def updated(self, updates: int) -> None:
        """Note how many updates the servers have made. Schedules depend on that."""
        self.optimizer.num_update = updates

    def changes(self) -> tuple[dict[str, Any], bool]:
        """The hyper-parameters that go with the next push, and whether any of them was changed for all that follow.

        These are those that were changed here since they were last sent. `rescale_grad`, of the push alone, always
        goes, as batches differ between workers; so does the rate of a schedule that servers do not have.
        """
        now = serialization.changes(self.optimizer)
        own_schedule = self.optimizer.lr_scheduler is not None and now["lr_scheduler"] is None
        always = ("rescale_grad", "lr") if own_schedule else ("rescale_grad",)
        changed = {n for n, x in now.items() if n not in always and (n not in self._sent or self._sent[n] != x)}
        return {name: x for name, x in now.items() if name in always or name in changed}, bool(changed)

    def sent(self, changes: dict[str, Any]) -> None:
        """Note that these changes were sent."""
        self._sent |= changes

    def loaded(self, optimizer: Optimizer) -> None:
        """The servers' states are from a file, and `optimizer` is the worker's as the file has it."""
        vars(self.optimizer).update(vars(optimizer))
        self._sent = serialization.changes(self.optimizer)

    def restored(self, saved: Optimizer) -> None:
        """Take the hyper-parameters of a checkpoint, which the servers have loaded."""
        self._sent = serialization.changes(saved)
        serialization.apply(self.optimizer, {name: x for name, x in self._sent.items() if name not in _KEPT})
        self.updated(saved.num_update)
