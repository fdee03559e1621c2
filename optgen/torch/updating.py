"""One update of all parameter groups, or of none: on all ranks that share parameters which are updated whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from optgen.torch.group import GroupStep
from optgen.torch.owned import OwnedTensors
from optgen.torch.protocols import Owner
from optgen.torch.ranks import Intent, Ranks
from optgen.torch.shards import sharding_of
from optgen.torch.transport import ShardGroup, Traveller, from_owners, to_owners


def update(step: GroupStep, prepare: Callable[[], None], ranks: Ranks) -> None:
    """Prepare a step, and run its transaction. What `prepare` or an attempt raises, all ranks raise; then no weight,
    state or count has changed."""
    ranks.all_do(prepare, lambda: _plan(step.owned))
    if not step.starts():
        return
    owned = step.owned
    if owned:
        for group, travellers in _by_group(x for bound in owned for x in bound.coming()).items():
            to_owners(group, travellers)
    transaction = step.transaction
    try:
        ranks.all_do(transaction.attempt)
        transaction.run()
    except BaseException:
        transaction.undo()  # on ranks whose own attempt did not fail
        raise
    if owned:
        for group, travellers in _by_group(x for bound in owned for x in bound.going()).items():
            from_owners(group, travellers)


def refuse_without_gradients(optimizer: Owner) -> None:
    """RuntimeError if no parameter has a gradient: none would be updated, whether the spec reads gradients or not."""
    if all(p.grad is None for group in optimizer.param_groups for p in group["params"]):
        raise RuntimeError(
            f"{type(optimizer).__name__} reads no gradients, but updates the parameters that have one, as all "
            "optimizers, and none has: before the step, in the closure if there is one, set p.grad = "
            "torch.zeros_like(p) for those to update"
        )


def ranks_of(optimizer: Owner) -> Ranks:
    """The processes that update parameters together, of a spec with stages: those that share parameters that are taken
    whole."""
    every = (p for group in optimizer.param_groups for p in group["params"])
    return Ranks(sharding.mesh for p in every if (sharding := sharding_of(p)) is not None)


def _plan(owned: Sequence[OwnedTensors]) -> Intent:
    """What all ranks are to do alike with the parameters that they update whole."""
    entries, words = [], []
    for bound in owned:
        own = bound.plan()
        entries += own
        words += [(bound, k) for k in range(len(own))]
    return Intent(entries, lambda k, entry: words[k][0].words(words[k][1], entry))


def _by_group(travellers: Iterable[tuple[ShardGroup, Traveller]]) -> dict[ShardGroup, list[Traveller]]:
    """What travels among the processes of each group."""
    found: dict[ShardGroup, list[Traveller]] = {}
    for group, traveller in travellers:
        found.setdefault(group, []).append(traveller)
    return found
