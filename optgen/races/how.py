"""What was tuned in a race, and how, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optgen.races.contender import OTHERS, Contender
from optgen.races.protocol import TrialPlan
from optgen.races.task import TrainingTask
from optgen.races.trials import WARM_UP


def described(contenders: Sequence[Contender], tasks: Sequence[TrainingTask], plan: TrialPlan, more: str = "") -> str:
    """A sentence or two for each thing that a reader has to know. `more` is a last one, as of what a budget took."""
    tuned = [x for x in contenders if x.has_rate]
    known = [x.name for x in tuned if x.lr_hint is not None]
    unknown = [x.name for x in tuned if x.lr_hint is None]
    networks = any(x.is_network for x in tasks)
    own = [x.name for x in contenders if x.has_own_schedule]
    mixed = [x.name for x in contenders if isinstance(x.spec, str) and "otherwise" in x.spec and x.spec != x.name]
    phased = [f"{x.name} ({len(x.optimizer.phases)})" for x in contenders if x.optimizer.phases]
    lines = [
        f"Tuned: the rate, and nothing else. Each contender had in each task {plan}. {plan.rates} rates are a factor "
        f"of the square root of 10 apart, {plan.more} lie beyond or beside the best of them.",
        _line(known if networks else [], "The centre for networks is the rate that a source recommends (lr_hint)"),
        _line(unknown, "No source is known, so five short runs, counted as one trial, found the centre"),
        _line(
            [x.name for x in tasks if not x.is_network],
            "No network, so five short runs, counted as one trial, found the centre for all",
        ),
        _line([x.name for x in contenders if not x.has_rate], "No rate, so nothing was tuned"),
        f"Warm-up over {WARM_UP:.0%} of the steps, then linear decay to 0"
        + (f"; a constant rate, as is their own schedule: {', '.join(own)}." if own else "."),
        _line(mixed, f"For matrices alone; {OTHERS} updates other parameters, at a rate that keeps its ratio"),
        _line(phased, "A step takes several gradients, and is counted as one"),
        f"Judged: the last held-out loss, mean of seeds {', '.join(map(str, plan.seeds))}. The rate was chosen by the "
        "same losses: they are a little too low, and intervals too narrow.",
        more,
    ]
    return "\n".join(line for line in lines if line)


def _line(names: Iterable[str], what: str) -> str:
    found = ", ".join(names)
    return f"{what}: {found}." if found else ""
