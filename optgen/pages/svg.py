"""Figures of pages: bars, and points in a plane of logarithms. Text and axes have the colour of the page's text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import quote

from optgen.pages.html import Markup, tag

OWN, OTHER = "#2b7fd4", "#d9690c"
"""Colours of the spec of a page, and of what it is compared with: to be read on white and on black, and by the colour
blind."""
WIDTH = 640
"""Of every figure, in its own units: a page scales it to its width."""
Point = tuple[float, float]
Named = tuple[str, float, float, bool]
"""A label, the place of a point, and whether it is what others are compared with."""


def svg(title: str, height: float, *children: Markup | None) -> Markup:
    """A figure of its own: what is inside can stand alone as a file."""
    return tag(
        "svg",
        tag("title", title),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        font_family="system-ui, sans-serif",
        font_size=15,
        fill="currentColor",
    )


def figure(picture: Markup, question: str, file: Markup | None) -> Markup:
    """A picture with the question that it answers, and a link to a picture as a file, if there is one."""
    return tag("figure", picture, tag("figcaption", question, *([" ", _file(file, question)] if file else [])))


def _file(picture: Markup, name: str) -> Markup:
    href = "data:image/svg+xml," + quote(picture, safe="/:;=(),+-.!*")
    return tag("a", "SVG", href=href, download=f"{slug(name)}.svg")


def slug(text: str) -> str:
    """The words of a text as the name of a file."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def path(points: Sequence[Point], **attributes: str | float | None) -> Markup:
    """A line through some points, with one decimal."""
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return tag("path", d=f"M{steps}", fill="none", stroke_linejoin="round", **attributes)


def text(x: float, y: float, words: str, **attributes: str | float | None) -> Markup:
    return tag("text", words, x=round(x, 1), y=round(y, 1), **attributes)


def bars(title: str, rows: Sequence[tuple[str, float, str]], *, last_is_other: bool) -> Markup:
    """A bar for each label, as long as its number, with a text behind it. `last_is_other`: the last one is what the
    others are compared with."""
    line, left, right = 30, 250, 60
    most = max(value for _, value, _ in rows) or 1
    marks: list[Markup] = []
    for i, (label, value, words) in enumerate(rows):
        y, length = i * line, (WIDTH - left - right) * value / most
        other = last_is_other and i == len(rows) - 1
        marks.append(text(left - 10, y + 20, _shortened(label, 34), text_anchor="end"))
        marks.append(tag("rect", x=left, y=y + 5, width=round(length, 1), height=20, fill=OTHER if other else OWN))
        marks.append(text(left + length + 8, y + 20, words))
    return svg(title, line * len(rows), *marks)


def _shortened(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def log_plot(title: str, axes: tuple[str, str], line: Sequence[Point], points: Sequence[Named]) -> Markup:
    """A line and labelled points over logarithmic axes."""
    height, left, right, top, bottom = 360, 84, 24, 16, 54
    xs, ys = [x for x, _ in line] + [p[1] for p in points], [y for _, y in line] + [p[2] for p in points]
    x0, x1 = math.log10(min(xs)), math.log10(max(xs))
    y0, y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x: float, y: float) -> Point:
        across = (math.log10(x) - x0) / (x1 - x0)
        up = (math.log10(y) - y0) / (y1 - y0)
        return left + across * (WIDTH - left - right), height - bottom - up * (height - top - bottom)

    marks = [tag("line", x1=left, x2=WIDTH - right, y1=height - bottom, y2=height - bottom, stroke="currentColor")]
    for k in range(math.ceil(x0), math.floor(x1) + 1):
        x, y = place(10.0**k, 10.0**y0)
        marks.append(text(x, y + 20, f"{10.0**k:g}", text_anchor="middle"))
        marks.append(tag("line", x1=x, x2=x, y1=y, y2=y + 5, stroke="currentColor"))
    for k in range(y0, y1 + 1):
        x, y = place(10.0**x0, 10.0**k)
        marks.append(tag("line", x1=left, x2=WIDTH - right, y1=y, y2=y, stroke="currentColor", stroke_opacity="0.2"))
        marks.append(text(left - 8, y + 5, _with_prefix(10.0**k), text_anchor="end"))
    marks.append(text((left + WIDTH - right) / 2, height - 8, axes[0], text_anchor="middle"))
    marks.append(text(left + 6, top + 4, axes[1]))
    marks.append(path([place(x, y) for x, y in line], stroke="currentColor", stroke_width=2))
    marks += _points([(label, *place(x, y), other) for label, x, y, other in points])
    return svg(title, height, *marks)


def _points(points: Sequence[Named]) -> list[Markup]:
    """Points, each with its label in its colour: below it, or a line lower where another label is. The label of what
    others are compared with is above its point, to the left, as both may be nearly at the same place."""
    marks: list[Markup] = []
    taken: list[Point] = []
    for label, x, y, other in sorted(points, key=lambda p: p[1]):
        colour = OTHER if other else OWN
        marks.append(tag("circle", cx=round(x, 1), cy=round(y, 1), r=6, fill=colour))
        if other:
            marks.append(text(x - 10, y - 10, label, text_anchor="end", fill=colour))
            continue
        low = y + 22
        while any(abs(low - b) < 17 and x - a < 190 for a, b in taken):
            low += 18
        taken.append((x, low))
        end = x > WIDTH - 200
        marks.append(text(x - 8 if end else x + 8, low, label, text_anchor="end" if end else None, fill=colour))
    return marks


def _with_prefix(x: float) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if x >= factor:
            return f"{x / factor:g} {prefix}"
    return f"{x:g}"
