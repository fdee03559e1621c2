"""What the processes agree on that update sharded parameters together: all go on, or all raise."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from optgen.torch.naming import KINDS, kind_of

ERRORS = {kind.__name__: kind for kind in KINDS}


class Intent(NamedTuple):
    """What must be the same on all ranks: an entry for each parameter, and the words of errors for such an entry."""

    entries: Sequence[Hashable] = ()
    words: Callable[[int, Any], str] = lambda k, entry: str(entry)

    def digest(self) -> int:
        """Equal for equal entries: from 0 to 2^62 - 1."""
        return int.from_bytes(hashlib.blake2b(repr(self.entries).encode(), digest_size=8).digest()) >> 2


class Ranks:
    """The processes of some device meshes. Without any, this process is alone."""

    def __init__(self, meshes: Iterable[Any] = ()) -> None:
        self._meshes = list(dict.fromkeys(meshes))
        self._groups = [(mesh, mesh.get_group(dim)) for mesh in self._meshes for dim in range(mesh.ndim)]

    def all_do(self, what: Callable[[], Any], plan: Callable[[], Intent] = Intent) -> None:
        """Call `what`, which exchanges nothing, on all ranks.

        If it raises on one, all raise: that rank its error, and the others one of the same kind that begins with the
        rank. `plan()` is what all are about to do then: RuntimeError, on all of them, where that differs.
        """
        if not self._groups:
            what()
            return
        error, own = None, Intent()
        try:
            what()
            own = plan()
        except Exception as raised:
            error = raised
        if self._are_alike(error is not None, own.digest()):
            return
        reports = self._reports((dist.get_rank(), error and (kind_of(error).__name__, str(error)), list(own.entries)))
        if error is not None:
            raise error
        _raise_for(reports, own)

    def _are_alike(self, has_failed: bool, digest: int) -> bool:
        """Whether no rank has failed, and all have this digest."""
        for mesh in self._meshes:
            found = torch.tensor([has_failed, digest, -digest], dtype=torch.int64, device=mesh.device_type)
            for of, group in self._groups:
                if of is mesh:
                    dist.all_reduce(found, dist.ReduceOp.MAX, group=group)
            failed, largest, negative_of_least = found.tolist()
            if failed or largest != -negative_of_least:
                has_failed = True
        return not has_failed

    def _reports(self, own: tuple[Any, ...]) -> dict[int, tuple[Any, Any]]:
        """What each rank reports, by its number: what was raised, and the entries of its plan."""
        reports = [own]
        for _, group in self._groups:
            gathered: list[Any] = [None] * dist.get_world_size(group)
            dist.all_gather_object(gathered, reports, group=group)
            reports = list(chain.from_iterable(gathered))
        return {rank: (raised, entries) for rank, raised, entries in sorted(reports, key=lambda report: report[0])}


ALONE = Ranks()
"""This process alone."""


def _raise_for(reports: dict[int, tuple[Any, Any]], own: Intent) -> None:
    for rank, (raised, _) in reports.items():
        if raised is not None:
            kind, message = raised
            raise ERRORS.get(kind, RuntimeError)(f"rank {rank}: {message}")
    (first, (_, entries)), *others = reports.items()
    for rank, (_, theirs) in others:
        if len(theirs) != len(entries):
            raise RuntimeError(
                f"rank {first} updates {len(entries)} sharded parameters as a whole, and rank {rank} {len(theirs)}; "
                "all ranks must update the same ones"
            )
        for k, (a, b) in enumerate(zip(entries, theirs, strict=True)):
            if a != b:
                raise RuntimeError(
                    f"{own.words(k, a)} on rank {first}, and {own.words(k, b)} on rank {rank}; all ranks must be given "
                    "the same; nothing was updated"
                )
