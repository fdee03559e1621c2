"""The section of trajectories: the path of a point on functions of two variables, at nine rates or more.

All paths are on the page, and a slider shows those of one rate. At first, and without JavaScript, that is the rate that
comes lowest on Rosenbrock's function. Those of all rates stand side by side below.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from optgen.model import Optimizer
from optgen.pages import contours, svg
from optgen.pages.html import Child, Markup, joined, table, tag
from optgen.pages.topic import PageSection, Topic
from optgen.races.functions import FUNCTIONS, PlaneFunction
from optgen.races.trajectories import path

Points = npt.NDArray[np.float64]
SHOWN = {name: FUNCTIONS[name] for name in ("rosenbrock", "quadratic", "saddle")}
JUDGE = "rosenbrock"
"""The function on which the rate is chosen that is seen first."""
STEPS = 150
AROUND = range(-4, 5)
"""Rates are the one to begin with, times the square root of 10 to these powers, and more while the last one is best."""
MORE = 4
"""How many rates more there are at most; style.css has a line for each rate."""
LEVELS = 9
GRID = 60
"""Points of the grid on which lines of equal value are found, on each side."""
FAR = 3 * svg.WIDTH
"""How far outside of a picture a path is followed."""
SLUG = "trajectories"


def section(topic: Topic) -> PageSection:
    try:
        rates = rates_of(topic.optimizer)
        paths = {name: [path(topic.optimizer, name, rate, STEPS) for rate in rates] for name in SHOWN}
    except ValueError as error:  # it takes no matrix of 2 x 1, or more than gradients and losses
        return PageSection(SLUG, TITLE, tag("p", f"There is no path of a point in a plane: {error}."))
    ends = {name: [_end(SHOWN[name], points) for points in found] for name, found in paths.items()}
    first = int(np.argmin(ends[JUDGE]))
    download = first if topic.machine is not None else None
    planes = [_figure(name, SHOWN[name], found, download) for name, found in paths.items()]
    parts: list[Child] = [
        _slider(rates, first),
        tag("div", *planes, class_="planes"),
        tag("p", NOTE, _where_lowest(rates, first), class_="note"),
        tag("h3", f"The value after {STEPS} steps"),
        table(["rate", *(f.title for f in SHOWN.values())], _rows(rates, ends), "numbers"),
        tag("details", tag("summary", "All rates, side by side"), *_side_by_side(rates)),
    ]
    return PageSection(SLUG, TITLE, tag("div", joined(parts), data_rate=first, class_="rates"))


TITLE = "Where a point goes"
NOTE = (
    f"{STEPS} steps in float64 with exact gradients, from the circle; the cross is a minimum. Grey lines join points "
    "of equal value, and the diamond is the saddle point. The point is a matrix of 2 × 1. Rates are around the one to "
    "begin with when a network is trained. "
)


def rates_of(optimizer: Optimizer) -> list[float]:
    """Those around the one to begin with, and up to MORE at either end while the last one there comes lowest."""
    powers = list(AROUND)
    rates = [_rate(optimizer, k) for k in powers]
    ends = [_end(SHOWN[JUDGE], path(optimizer, JUDGE, rate, STEPS)) for rate in rates]
    while len(powers) < len(AROUND) + MORE and (lowest := int(np.argmin(ends))) in (0, len(powers) - 1):
        place, power = (0, powers[0] - 1) if lowest == 0 else (len(powers), powers[-1] + 1)
        powers.insert(place, power)
        ends.insert(place, _end(SHOWN[JUDGE], path(optimizer, JUDGE, _rate(optimizer, power), STEPS)))
    return [_rate(optimizer, k) for k in powers]


def _rate(optimizer: Optimizer, power: int) -> float:
    return float(f"{optimizer.first_rate * 10 ** (power / 2):.2g}")


def _where_lowest(rates: Sequence[float], first: int) -> str:
    """Which rate is seen first, and whether others beyond may come lower."""
    beyond = {0: "; lower ones may come lower still", len(rates) - 1: "; higher ones may come lower still"}
    rest = beyond.get(first, "")
    return f"At first the rate is {rates[first]:g}, which comes lowest on {FUNCTIONS[JUDGE].title}{rest}."


def _slider(rates: Sequence[float], first: int) -> Markup:
    words = " ".join(f"{x:g}" for x in rates)
    own = tag("input", type="range", min=0, max=len(rates) - 1, value=first, data_rates=words)
    return tag("label", "rate", own, tag("output", f"{rates[first]:g}"), class_="rate")


# ---------------------------------------------------------------- pictures


def _figure(name: str, f: PlaneFunction, paths: Sequence[Points], download: int | None) -> Markup:
    """The plane with the paths of all rates, of which one is seen; a file of the one to `download`."""
    lines = [_line(f, points) for points in paths]
    marks = [tag("g", line, id=f"{name}-{i}") for i, line in enumerate(lines)]
    seen = [tag("use", href=f"#{name}-{i}", class_=f"at at{i}") for i in range(len(lines))]
    plane = tag("g", _plane(name), id=f"{name}-plane")
    here = svg.svg(f.title, _height(f), tag("defs", *marks), plane, *seen)
    alone = svg.svg(f.title, _height(f), _plane(name), lines[download]) if download is not None else None
    return svg.figure(here, f"{f.title}. {f.question}", alone)


def _height(f: PlaneFunction) -> int:
    """Of a picture in which both variables have the same scale."""
    x0, x1, y0, y1 = f.bounds
    return round(svg.WIDTH * (y1 - y0) / (x1 - x0))


def _place(f: PlaneFunction, points: Points) -> Points:
    """The pixels of points."""
    x0, x1, y0, _ = f.bounds
    scale = svg.WIDTH / (x1 - x0)
    return np.stack([(points[..., 0] - x0) * scale, _height(f) - (points[..., 1] - y0) * scale], axis=-1)


@functools.cache
def _plane(name: str) -> Markup:
    """The lines of equal value of a function, its start and its minimum."""
    f = FUNCTIONS[name]
    x0, x1, y0, y1 = f.bounds
    x, y = np.meshgrid(np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID))
    values = f.value(x, y) - f.value(*f.minimum)
    # As many points of the grid lie between any two of them; those near the minimum are closer to it.
    levels = np.quantile(values, (np.arange(LEVELS) + 0.5) ** 2 / LEVELS**2)
    found = [line for level in levels for line in contours.lines(values, level, svg.WIDTH, _height(f))]
    (a, b), (c, d) = (_place(f, np.array(point)) for point in (f.start, f.minimum))
    grey = {"stroke": "currentColor", "stroke_opacity": "0.3"}
    return joined(
        [
            tag("path", d="".join(map(_steps, found)), fill="none", **grey),
            tag("circle", cx=round(a), cy=round(b), r=7, fill="none", stroke="currentColor", stroke_width=2),
            tag("path", d=f"M{c - 8:.0f} {d:.0f}h16m-8-8v16", stroke="currentColor", stroke_width=3),
            *_saddle(f),
        ]
    )


def _saddle(f: PlaneFunction) -> Iterator[Markup]:
    """A diamond at the saddle point, if a path is to leave one."""
    if f.saddle is not None:
        x, y = _place(f, np.array(f.saddle))
        shape = f"M{x:.0f} {y - 9:.0f}l9 9l-9 9l-9-9z"
        yield tag("path", d=shape, fill="none", stroke="currentColor", stroke_width=2)


def _line(f: PlaneFunction, points: Points) -> Markup:
    """A path, as far as it is near the picture, with a dot at its end."""
    with np.errstate(over="ignore"):
        pixels = _place(f, points)
    near = (np.abs(pixels) < FAR).all(axis=1)  # NaN is not
    places = [(round(x), round(y)) for x, y in pixels[: int(np.argmin(np.append(near, False)))]]
    x, y = places[-1]
    return joined(
        [
            tag("path", d=_steps(places), fill="none", stroke=svg.OWN, stroke_width=2.5, stroke_linejoin="round"),
            tag("circle", cx=x, cy=y, r=6, fill=svg.OWN),
        ]
    )


def _steps(places: Sequence[contours.Pixel]) -> str:
    """A line through pixels, as steps from one to the next; those that stay are left out."""
    (x, y), words = places[0], []
    for a, b in places[1:]:
        if (a, b) != (x, y):
            words.append(f"{a - x} {b - y}")
            x, y = a, b
    return f"M{places[0][0]} {places[0][1]}" + (f"l{' '.join(words)}" if words else "")


def _side_by_side(rates: Sequence[float]) -> Iterator[Markup]:
    """All paths, which are drawn once on the page, in small pictures."""
    for name, f in SHOWN.items():
        pictures = [svg.svg(f"{f.title}, rate {rate:g}", _height(f), *_uses(name, i)) for i, rate in enumerate(rates)]
        small = [tag("figure", x, tag("figcaption", f"{rate:g}")) for x, rate in zip(pictures, rates, strict=True)]
        yield tag("h3", f.title)
        yield tag("div", *small, class_="planes small")


def _uses(name: str, i: int) -> Iterator[Markup]:
    yield tag("use", href=f"#{name}-plane")
    yield tag("use", href=f"#{name}-{i}")


def _end(f: PlaneFunction, points: Points) -> float:
    """The value at the end of a path, above the least one; infinity where the path diverges."""
    with np.errstate(all="ignore"):
        value = float(f.value(*points[-1]) - f.value(*f.minimum))
    return value if np.isfinite(value) else np.inf


def _rows(rates: Sequence[float], ends: Mapping[str, Sequence[float]]) -> Iterator[list[str]]:
    for i, rate in enumerate(rates):
        yield [f"{rate:g}", *(f"{x[i]:.2g}" if np.isfinite(x[i]) else "diverged" for x in ends.values())]
