"""Outer steps, as DiLoCo's: after some updates, of weights that workers average. Workers are processes that train with
the same parameters and exchange nothing else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist

from optgen.execute.stages.staged_table import is_due
from optgen.expressions import Name, walk
from optgen.outer import INNER, OUTER, OuterStep
from optgen.torch.checksums import checksum
from optgen.torch.forms import SCALE, count_of
from optgen.torch.halves import MASTER
from optgen.torch.memory import as_pairs, local_tensor, sharding_of
from optgen.torch.owners import is_owned
from optgen.torch.rules import load
from optgen.torch.state import STEP
from optgen.torch.updating import Intent, Ranks, has_replicas
from optgen.torch.values import GroupValues


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
        counts = [x for x in (step.timing.every, step.timing.start) if x is not None]
        self._names = {x.id for count in counts for x in walk(count) if isinstance(x, Name)}
        self._checked = 0  # how many parameters there were then
        self._averaged = 0  # how many buckets of the outer step that is due
        self._given: Mapping[str, Any] = {}

    def update(self, optimizer: Any, given: Mapping[str, Any] = MappingProxyType({})) -> None:
        """An update: the inner phase, and if it is due the outer one, of weights that are averaged over the workers.

        RuntimeError, on all of them and before anything has changed, if they differ in their counts. If an interrupt
        comes between the two, `optimizer._due` is 1, and `finish` makes the outer one.
        """
        if optimizer._due:
            self.finish(optimizer)
        number = sum(len(group["params"]) for group in optimizer.param_groups)
        if self._exchanges and self._checked != number:
            check_workers(optimizer)
            self._checked = number
        due = self._due(optimizer)
        if not due:
            optimizer._update(INNER, given)
            return
        workers = self._workers(optimizer, due)
        if workers is None:
            self._check_all_are_due(optimizer, due)
        self._averaged, self._given, optimizer._has_updated = 0, given, False
        try:
            optimizer._update(INNER, given, workers)
        finally:  # an interrupt is raised behind the native call, which is whole
            optimizer._due = int(optimizer._has_updated)  # not if the step is skipped
        if optimizer._due:
            try:
                self._make(optimizer, due)
            finally:
                optimizer._has_updated = True  # of the gradients that there are

    def finish(self, optimizer: Any) -> None:
        """Make the outer step that is due since an interrupt, whatever gradients there are now."""
        every = [p for group in optimizer.param_groups for p in group["params"]]
        due = [p for p in every if _count(optimizer, p)]
        grads, own = [p.grad for p in every], set(map(id, due))
        try:
            for p in every:  # those with a gradient are updated, which the outer phase does not read
                p.grad = torch.zeros_like(p) if id(p) in own else None
            optimizer._current_step().learning = own
            self._make(optimizer, due)
        finally:
            optimizer._has_updated = False  # of the gradients that there are
            for p, grad in zip(every, grads, strict=True):
                p.grad = grad

    def _make(self, optimizer: Any, due: Sequence[torch.Tensor]) -> None:
        """The outer step of parameters whose inner phase is made."""
        if self._exchanges and count_workers(optimizer.workers) > 1:
            for bucket in _buckets([optimizer.state[p].get(MASTER, p) for p in due])[self._averaged :]:
                _average(bucket, optimizer.workers)
                self._averaged += 1
        optimizer._has_updated = False
        try:
            optimizer._update(OUTER, self._given)
        finally:
            optimizer._due = int(not optimizer._has_updated)

    # ------------------------------------------------------------ when

    def _due(self, optimizer: Any) -> list[torch.Tensor]:
        """The parameters that this step updates and whose outer step is due then."""
        found: list[torch.Tensor] = []
        for group in optimizer.param_groups:
            values = {name: float(group[optimizer.spelling.key_of(name)]) for name in self._names}
            due = functools.cache(functools.partial(is_due, self._timing, values=values))
            found += [p for p in group["params"] if p.grad is not None and due(_count(optimizer, p) + 1)]
        return found

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


class GivenGroup:
    """The process group that an optimizer was given, in what is copied or pickled of it. Copies have the group; as none
    can be pickled, an optimizer that is unpickled has this in its place, until `workers` is set."""

    def __init__(self, group: Any = None) -> None:
        self._group = group

    @staticmethod
    def of(group: Any) -> GivenGroup:
        """This for a group, or for what an optimizer has in its place."""
        return group if isinstance(group, GivenGroup) else GivenGroup(group)

    def __deepcopy__(self, memo: Any) -> GivenGroup:
        return self

    def __reduce__(self) -> tuple[type[GivenGroup], tuple[()]]:
        return GivenGroup, ()

    def taken(self) -> Any:
        """The group, or this if it is not known."""
        return self if self._group is None else self._group


def check_workers(optimizer: Any) -> None:
    """RuntimeError if the workers are not known; ValueError naming what keeps them from averaging weights."""
    name, group = type(optimizer).__name__, optimizer.workers
    if isinstance(group, GivenGroup):
        raise RuntimeError(
            f"{name}: it was pickled with a process group of workers, which no pickle has; set opt.workers to the "
            "group, or to None for all processes"
        )
    if count_workers(group) < 2:
        return
    if has_replicas(p for own in optimizer.param_groups for p in own["params"]):
        raise ValueError(
            f"{name} with DistributedDataParallel, which averages gradients in every step: its workers train "
            "for themselves, and average weights; train the module without it"
        )
    devices = {backend.split(":")[0] for backend in dist.get_backend_config(group).split(",")}
    for own in optimizer.param_groups:
        _check_weights(optimizer, own, devices)


def _check_weights(optimizer: Any, group: Mapping[str, Any], devices: set[str]) -> None:
    """ValueError naming a parameter of a group whose weights, or masters, workers on these devices cannot average."""
    values = GroupValues(optimizer.spec, optimizer.spelling, group)
    options = values.options
    for p in group["params"]:
        has_master = options.master and p.dtype in (torch.float16, torch.bfloat16)
        is_cut = sharding_of(p) is not None
        if has_master and is_cut and is_owned(load(optimizer, p, values.arguments, options), p):
            raise ValueError(
                f"{optimizer.describe(p)} has a master at its owner alone, and each worker averages its own shards; "
                "leave master out"
            )
        device = "cpu" if has_master and options.on_host else p.device.type
        if device not in devices:
            what = "a master, which is averaged," if has_master else "weights"
            raise ValueError(
                f"{optimizer.describe(p)} has {what} on '{device}', and the process group of the workers exchanges "
                f"tensors on {' and '.join(sorted(devices))} only; give workers a group of backends for both, as "
                "init_process_group('cpu:gloo,cuda:nccl') makes"
            )


# ---------------------------------------------------------------- weights

BUCKET_BYTES = 64 << 20
"""The largest message between workers, but for a row of a tensor that is larger."""


def _buckets(weights: Iterable[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Views of all weights, cut by rows, in parts that are averaged one after the other: each of one device, and of a
    type that they are summed in. They follow from the order and the shapes of weights, which all workers have."""
    found: list[list[torch.Tensor]] = []
    last: dict[Any, tuple[list[torch.Tensor], int]] = {}
    for x in (as_pairs(local_tensor(weight).detach()) for weight in weights):
        key, size = (x.device, _wide(x)), _wide(x).itemsize
        rows = x if x.dim() else x.view(1)
        row = max(1, size * rows[:1].numel())
        for piece in torch.split(rows, max(1, BUCKET_BYTES // row)) if x.numel() else ():
            bucket, room = last.get(key, ([], 0))
            if size * piece.numel() > room:
                bucket, room = [], BUCKET_BYTES
                found.append(bucket)
            bucket.append(piece)
            last[key] = bucket, room - size * piece.numel()
    return found


def _wide(x: torch.Tensor) -> torch.dtype:
    """The type that weights are summed in."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


@torch.no_grad()
def _average(bucket: Sequence[torch.Tensor], group: Any) -> None:
    """Have the tensors of a bucket hold their means over the workers, in one all-reduce."""
    together = torch.cat([x.reshape(-1).to(_wide(x)) for x in bucket])
    dist.all_reduce(together, group=group)
    together /= dist.get_world_size(group)
    for x, mean in zip(bucket, torch.split(together, [x.numel() for x in bucket]), strict=True):
        x.copy_(mean.view(x.shape))


def _count(optimizer: Any, p: torch.Tensor) -> int:
    """How often a parameter was updated."""
    kept = optimizer.state.get(p)
    return count_of(kept[STEP], STEP) if kept and STEP in kept else 0
