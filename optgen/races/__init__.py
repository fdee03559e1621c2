"""Races: contenders, which are optimizers with their arguments, train the same tasks, each with the same number of
trials.

`optgen.races.results` has what a race has found. A task is a file in `tasks/`; any function
`train(make_optimizer, seed, report)` is one.
"""

from __future__ import annotations

from optgen.races import shown  # noqa: F401 (which gives results their text)


class Diverged(Exception):
    """A loss that was reported is not finite: the trial ends. A task lets it pass."""
