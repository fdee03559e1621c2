"""Races: contenders, which are optimizers with their arguments, train the same tasks, each with the same number of
trials.

`optgen.races.results` has what a race has found, and `optgen.races.shown` shows it. A task is a file in `tasks/`; any
function `train(make_optimizer, seed, report)` is one. `functions` has functions of two variables, as tasks.
"""

from __future__ import annotations

from optgen.races.results import Diverged

__all__ = ["Diverged"]
