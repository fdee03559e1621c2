"""Outer steps, as DiLoCo's: after some updates, of weights that workers average. Workers are processes that train with
the same parameters and exchange nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist

from optgen.expressions import Expr, Number
from optgen.outer import INNER, OUTER, OuterStep
from optgen.torch.checksums import checksum
from optgen.torch.forms import SCALE, count_of
from optgen.torch.halves import MASTER
from optgen.torch.memory import as_pairs, local_tensor, sharding_of
from optgen.torch.state import STEP
from optgen.torch.updating import Intent, Ranks, has_replicas


class Workers(Ranks):
    """The processes that make an outer step together, and those that share the parameters of each.

    `entries` are what must be the same on all of them in the first call of `all_do`, a tuple for each parameter, and
    `words` such a tuple in words.
    """

    def __init__(
        self,
        group: Any,
        meshes: Iterable[Any],
        device_type: str,
        entries: Callable[[], Sequence[Hashable]],
        words: Callable[[int, Any], str],
    ) -> None:
        super().__init__(meshes)
        mesh = SimpleNamespace(device_type=device_type)  # what else is asked of a mesh is its groups
        self._meshes.append(mesh)
        self._groups.append((mesh, group))
        self._entries: Callable[[], Sequence[Hashable]] | None = entries
        self._words = words

    def all_do(self, what: Callable[[], Any], plan: Callable[[], Intent] = Intent) -> None:
        entries, self._entries = self._entries, None

        def whole() -> Intent:
            own, other = list(entries()) if entries is not None else [], plan()
            n = len(own)
            return Intent([*own, *other.entries], lambda k, x: self._words(k, x) if k < n else other.words(k - n, x))

        super().all_do(what, whole)


class OuterSteps:
    """The outer steps of an optimizer, whose `spec` has them as a phase.

    They are due by the counts of parameters, which must be the same for all that are trained.
    """

    def __init__(self, step: OuterStep) -> None:
        self._timing, self._exchanges = step.timing, step.exchanges
        targets = (e.target for e in step.spec.update if e.phase == OUTER and e.target.primed and e.target.id != "w")
        self._states = list(dict.fromkeys(target.id for target in targets))
        self._is_checked = False

    def step(self, optimizer: Any, closure: Callable[[], Any] | None, given: Mapping[str, Any]) -> Any:
        """A step of the optimizer: the inner phase, and if it is due the outer one, of weights that are averaged over
        the workers. RuntimeError, on all of them and before anything has changed, if they differ in their counts."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        numbers = optimizer._with_loss(loss, given) if optimizer.spec.given else given
        due = self._due(optimizer)
        if not due:
            optimizer._update(INNER, numbers)
            return loss
        workers = self._workers(optimizer, due)
        if workers is None:
            self._check_all_are_due(optimizer, due)
        optimizer._update(INNER, numbers, workers)
        if getattr(optimizer, "found_inf", None):
            return loss  # a GradScaler has had the step left out
        if workers is not None:
            _average([_weight(optimizer, p) for p in due], optimizer.workers)
        optimizer._update(OUTER, numbers)
        return loss

    # ------------------------------------------------------------ when

    def _due(self, optimizer: Any) -> list[torch.Tensor]:
        """The parameters that this step updates and whose outer step is due then."""
        found: list[torch.Tensor] = []
        for group in optimizer.param_groups:
            every, start = self._numbers(optimizer, group)
            for p in group["params"]:
                if p.grad is not None:
                    count = _count(optimizer, p) + 1
                    if count >= start and not (count - start) % every:
                        found.append(p)
        return found

    def _numbers(self, optimizer: Any, group: Mapping[str, Any]) -> tuple[int, int]:
        """The distance of outer steps, and the first one."""

        def number(expr: Expr) -> int:
            value = expr.value if isinstance(expr, Number) else group[optimizer.spelling.key_of(expr.id)]  # type: ignore[union-attr]
            return int(value)

        every = number(self._timing.every)
        return every, every if self._timing.start is None else number(self._timing.start)

    def _check_all_are_due(self, optimizer: Any, due: Sequence[torch.Tensor]) -> None:
        """RuntimeError naming a parameter that is trained, and whose outer step is not due with that of the others."""
        own = set(map(id, due))
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            count = _count(optimizer, p)
            if id(p) not in own and (p.grad is not None or count):
                raise RuntimeError(
                    f"{type(optimizer).__name__}: an outer step is of all parameters, and is due for "
                    f"{optimizer.describe(due[0])} after {_count(optimizer, due[0]) + 1} updates, but "
                    f"{optimizer.describe(p)} {'has no gradient in it' if p.grad is None else 'has had others'} "
                    f"({count} before); give all parameters gradients in all steps, of zeros where there are none"
                )

    # ------------------------------------------------------------ with whom

    def _workers(self, optimizer: Any, due: Sequence[torch.Tensor]) -> Workers | None:
        """The workers that make this outer step; None if this process is alone, or the spec has no mean over them."""
        if not self._exchanges or count_workers(optimizer.workers) < 2:
            return None
        name = type(optimizer).__name__
        if not self._is_checked:
            if has_replicas(due):
                raise ValueError(
                    f"{name} with DistributedDataParallel, which averages gradients in every step: its workers train "
                    "for themselves, and average weights; train the module without it"
                )
            self._is_checked = True
        meshes = dict.fromkeys(sharding.mesh for p in due if (sharding := sharding_of(p)) is not None)

        def entries() -> list[Hashable]:
            self._check_all_are_due(optimizer, due)
            return [(_count(optimizer, p) + 1, *self._checksums(optimizer, p)) for p in due]

        def words(k: int, entry: Any) -> str:
            count, *sums = entry
            known = ", ".join(f"{name} of the checksum {x:x}" for name, x in sums)
            return f"{optimizer.describe(due[k])} is at update {count}" + (f", with {known}" if known else "")

        return Workers(optimizer.workers, meshes, due[0].device.type, entries, words)

    def _checksums(self, optimizer: Any, p: torch.Tensor) -> list[tuple[str, int]]:
        """Checksums of the states that outer steps alone change, which begin and stay the same on all workers; none of
        a parameter that is sharded, as they differ between shards."""
        if sharding_of(p) is not None:
            return []
        kept, keys = optimizer.state[p], [optimizer.state_keys.key_of(name) for name in self._states]
        return [(key, checksum(kept[key])) for name in keys for key in (name, name + SCALE) if key in kept]


def outer_of(optimizer: Any) -> OuterSteps | None:
    """What computes the outer steps of an optimizer, whose `spec` has them as a phase from now on.

    None if its spec has none, or if updates are made within `backward`, or in the memory of gradients: then its
    equations are those of the spec. ValueError if they have a mean over workers.
    """
    step: OuterStep | None = type(optimizer).outer_step
    vars(optimizer).pop("spec", None)
    if step is None:
        return None
    for option in ("in_backward", "donate_grads"):
        if getattr(optimizer, option):
            if step.exchanges:
                raise ValueError(
                    f"{type(optimizer).__name__}: {option}=True with a mean over workers, who exchange the weights of "
                    f"all parameters between two parts of a step; leave {option} out"
                )
            return None
    vars(optimizer)["spec"] = step.spec
    return OuterSteps(step)


def count_workers(group: Any) -> int:
    """How many processes are in a group; 1 where none are started."""
    return dist.get_world_size(group) if dist.is_available() and dist.is_initialized() else 1


# ---------------------------------------------------------------- weights


def _weight(optimizer: Any, p: torch.Tensor) -> torch.Tensor:
    """What updates go on from: the master of a parameter, or else itself."""
    kept = optimizer.state[p]
    if MASTER in kept and p in optimizer.owners.places:
        raise ValueError(
            f"{optimizer.describe(p)} has a master at its owner alone, and each worker averages its own shards; leave "
            "master out"
        )
    return kept.get(MASTER, p)  # type: ignore[no-any-return]


@torch.no_grad()
def _average(weights: Sequence[torch.Tensor], group: Any) -> None:
    """Have tensors hold their means over the workers, in one all-reduce for each device."""
    by_device: dict[torch.device, list[torch.Tensor]] = {}
    for x in map(local_tensor, weights):
        by_device.setdefault(x.device, []).append(as_pairs(x.detach()))
    for some in by_device.values():
        wide = torch.float64 if any(x.dtype == torch.float64 for x in some) else torch.float32
        together = torch.cat([x.reshape(-1).to(wide) for x in some])
        dist.all_reduce(together, group=group)
        together /= dist.get_world_size(group)
        for x, mean in zip(some, torch.split(together, [x.numel() for x in some]), strict=True):
            x.copy_(mean.view(x.shape))


def _count(optimizer: Any, p: torch.Tensor) -> int:
    """How often a parameter was updated."""
    kept = optimizer.state.get(p)
    return count_of(kept[STEP], STEP) if kept and STEP in kept else 0
