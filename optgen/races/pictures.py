"""Pictures of what a race has found, and of paths on functions of two variables, as SVG: one figure a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optgen import figures
from optgen.model import Optimizer
from optgen.races.functions import FUNCTIONS, PlaneFunction
from optgen.races.results import Entry, Race
from optgen.races.trajectories import Path, path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = 200
"""Of a path."""


# ---------------------------------------------------------------- races


def sensitivity(race: Race, task: str) -> str:
    """How much does the loss depend on the learning rate? Mean loss over the rate, with bands over seeds.

    A cross at the upper edge is a rate at which a run diverged. A line that leaves the picture has higher losses there.
    """
    info, entries = race.task(task), race.of(task)
    with figures.figure(7, 3.8) as (fig, axes):
        top = _scaled(axes, entries, [mean for entry in entries for _, mean, _, _ in entry.sensitivity()])
        for k, entry in enumerate(entries):
            style = figures.line(k)
            points = entry.sensitivity()
            rates = [rate for rate, *_ in points]
            mean, low, high = ([min(row[j], 2 * top if top > 0 else top + 1) for row in points] for j in (1, 2, 3))
            axes.plot(rates, mean, label=figures.plain(entry.contender), **style)
            axes.fill_between(rates, low, high, color=style["color"], alpha=0.18, lw=0)
            diverged = [rate for rate, x, *_ in points if math.isinf(x)]
            axes.plot(diverged, [top] * len(diverged), "x", color=style["color"], markersize=7, mew=2, clip_on=False)
        if any(math.isinf(mean) for entry in entries for _, mean, *_ in entry.sensitivity()):
            axes.plot([], [], "x", color=figures.INK, markersize=7, mew=2, label="diverged")
        axes.set(xscale="log", xlabel="largest learning rate", ylabel=figures.plain(info.loss_label))
        _head(fig, info.title)
        fig.legend(loc="outside right center")
        return figures.svg(fig, f"Loss over the learning rate. {info.title}")


def curves(race: Race, task: str) -> str:
    """How does the loss fall? Mean held-out loss over the steps, at the best rate, with bands over seeds."""
    info, entries = race.task(task), race.of(task)
    with figures.figure(7, 3.8) as (fig, axes):
        found = [loss for entry in entries for trial in entry.best for _, loss in trial.curve]
        _scaled(axes, entries, found)
        for k, entry in enumerate(entries):
            by_seed = [dict(trial.curve) for trial in entry.best]
            steps = [step for step in (by_seed or [{}])[0] if all(step in curve for curve in by_seed)]
            if not steps:
                continue  # all diverged, or what is stored has no curves
            style = figures.line(k)
            losses = np.array([[curve[step] for step in steps] for curve in by_seed])
            axes.plot(
                steps, losses.mean(0), label=figures.plain(f"{entry.contender} at {entry.best_rate:.2g}"), **style
            )
            axes.fill_between(steps, losses.min(0), losses.max(0), color=style["color"], alpha=0.18, lw=0)
        if info.target is not None:
            axes.axhline(info.target, color=figures.INK, lw=1, ls=":")
            axes.text(1, info.target, "target", va="bottom", ha="right", transform=axes.get_yaxis_transform())
        axes.set(xlabel="step", ylabel=figures.plain(info.loss_label))
        _head(fig, f"{info.title}, at the best rates")
        fig.legend(loc="outside right center")
        return figures.svg(fig, f"Loss over the steps. {info.title}")


def ranking(race: Race) -> str:
    """Who is better, and where? The rank of each contender in each task, with its mean loss; the best on average first.

    Those whose paired difference includes 0 share a rank.
    """
    ranks = {(entry.contender, x.name): (rank, entry) for x in race.tasks for rank, entry in race.ranks(x.name)}
    names = sorted(race.contenders, key=lambda name: _mean_rank(name, race, ranks))
    most = max((rank for rank, _ in ranks.values()), default=1)
    with figures.figure(2 + 1.1 * len(race.tasks), 0.8 + 0.45 * len(names)) as (fig, axes):
        for (name, task), (rank, entry) in ranks.items():
            x, y = [info.name for info in race.tasks].index(task), names.index(name)
            strength = 0.65 * (most - rank + 1) / most
            axes.fill([x - 0.48, x + 0.48, x + 0.48, x - 0.48], [y - 0.45, y - 0.45, y + 0.45, y + 0.45],
                      color=figures.COLORS[0], alpha=strength, lw=0)  # fmt: skip
            axes.text(x - 0.38, y, str(rank), ha="left", va="center", fontweight="bold")
            loss = f"{entry.mean_loss:.3g}" if entry.best else "diverged"
            axes.text(x + 0.42, y, loss, ha="right", va="center", fontsize=8.5)
        axes.set(xlim=(-0.5, len(race.tasks) - 0.5), ylim=(len(names) - 0.5, -0.5))
        axes.set_xticks(range(len(race.tasks)), [figures.plain(info.name) for info in race.tasks])
        axes.set_yticks(range(len(names)), [figures.plain(name) for name in names])
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        return figures.svg(fig, "Ranks in each task, and mean losses")


def _mean_rank(name: str, race: Race, ranks: dict[tuple[str, str], tuple[int, Entry]]) -> float:
    """Its mean rank in the tasks that it is in."""
    own = [ranks[name, x.name][0] for x in race.tasks if (name, x.name) in ranks]
    return sum(own) / len(own) if own else math.inf


def _head(fig: Figure, title: str) -> None:
    """The title of a figure, from its left edge on: it may be longer than the axes."""
    fig.suptitle(figures.plain(title), x=0.01, ha="left", fontsize=11)


def _scaled(axes: Axes, entries: Sequence[Entry], losses: Sequence[float]) -> float:
    """Choose the scale of losses, and the upper edge, which is returned: what losses are at the first look at them.

    It is logarithmic where all losses are above 0, and the least is less than a fifth of the upper edge.
    """
    finite = [x for x in losses if math.isfinite(x)] or [0.0, 1.0]
    first = [trial.curve[0][1] for entry in entries for trial in entry.best if trial.curve]
    low, top = min(finite), min(max(first, default=math.inf), max(finite))
    if 0 < low < top / 5:
        axes.set_yscale("log")
        axes.set_ylim(low / (top / low) ** 0.05, top * (top / low) ** 0.05)
    else:
        margin = 0.05 * (top - low) or 1.0
        axes.set_ylim(low - margin, top + margin)
    axes.grid(True)
    return axes.get_ylim()[1]


# ---------------------------------------------------------------- paths


def trajectories(optimizer: Optimizer, function: str, rates: Sequence[float], steps: int = STEPS) -> str:
    """The paths of an optimizer at some rates, over the level lines of a function of FUNCTIONS. A dot is ten steps.

    What belongs to the k-th rate has the class `rate-k`, by which a page shows it or hides it. A path that leaves the
    picture is cut at its edge. Errors are those of `races.trajectories.path`.
    """
    paths = [path(optimizer, function, rate, steps) for rate in rates]
    chosen = FUNCTIONS[function]
    with figures.figure(5.6, 4.6) as (fig, axes):
        _draw_levels(axes, chosen)
        for k, (rate, points) in enumerate(zip(rates, paths, strict=True)):
            style = figures.line(k) | {"linestyle": "-", "marker": ".", "lw": 1.3, "markevery": 10}
            drawn = _until_far_away(points, chosen)
            (shown,) = axes.plot(drawn[:, 0], drawn[:, 1], label=f"rate {rate:.2g}", **style)
            shown.set_gid(f"rate-{k}")
            (end,) = axes.plot(*drawn[-1], marker="s", color=style["color"], markersize=8)
            end.set_gid(f"rate-{k}")
        axes.plot(*chosen.start, "o", color=figures.INK, markersize=7, fillstyle="none", mew=1.5)
        axes.plot(*chosen.minimum, "*", color=figures.INK, markersize=12)
        if chosen.saddle is not None:
            axes.plot(*chosen.saddle, "D", color=figures.INK, markersize=7, fillstyle="none", mew=1.5)
        uphill = np.array(chosen.gradient(*chosen.start))  # where no path begins
        at = tuple(18 * uphill / np.linalg.norm(uphill))
        axes.annotate("start", chosen.start, at, textcoords="offset points", ha="center", va="center")
        _head(fig, f"{optimizer.name} on {chosen.title}, {steps} steps")
        fig.legend(loc="outside lower center", ncols=4)
        return figures.svg(fig, f"{optimizer.name} on {chosen.title}. {chosen.question}")


def _until_far_away(points: Path, function: PlaneFunction) -> Path:
    """The path until its first point that is far outside of the picture: numbers beyond would have no place in it."""
    x0, x1, y0, y1 = function.bounds
    near = np.abs(points - [(x0 + x1) / 2, (y0 + y1) / 2]) < [10 * (x1 - x0), 10 * (y1 - y0)]
    inside = near.all(1)  # false for NaN
    return points if inside.all() else points[: max(1, int(inside.argmin()))]


def _draw_levels(axes: Axes, function: PlaneFunction) -> None:
    """Level lines of a function, closer together near its least value."""
    x0, x1, y0, y1 = function.bounds
    x, y = np.meshgrid(np.linspace(x0, x1, 60), np.linspace(y0, y1, 60))
    height = function.value(x, y)
    above = height - function.value(*function.minimum)
    levels = np.quantile(above, [0.05, 0.12, 0.22, 0.36, 0.52, 0.7, 0.9])
    axes.contour(x, y, above, levels=levels, colors=figures.INK, linewidths=0.8, alpha=0.3)
    axes.set(xlim=(x0, x1), ylim=(y0, y1), xlabel="x", ylabel="y")
