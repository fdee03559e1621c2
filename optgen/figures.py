"""Figures as SVG that are readable on white and on black: the colour of text and axes is that of the page.

    with figure(6, 4) as (fig, axes):
        axes.plot(x, y, **line(0))
        text = svg(fig, "What the figure shows")

Matplotlib draws them (the extra `race`). The same data give the same text.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from optgen.extras import install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#2b7fd4", "#d9690c", "#169c70", "#b45fd0", "#8c8320", "#e0457b", "#0f9aa8", "#8f7a66")
"""Of lines: each has a contrast of 3 at least on white and on black, and they differ for the colour blind as well, with
the dashes and markers beside them."""
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"
INK = "#010203"
"""The colour of text and axes while a figure is drawn, which becomes `currentColor`."""
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # by which widths are measured: it comes with matplotlib
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.2,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "grid.color": INK,
}
_ALONE = "svg:root{color:#1b1b1b}@media(prefers-color-scheme:dark){svg:root{color:#e8e8e8}}"
"""The colour of text in a file of its own; within a page it is that of the page."""


@contextmanager
def figure(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """`with figure(width, height) as (fig, axes):` a figure of so many inches; what is drawn within is in its style.

    ImportError that says what to install, where there is no matplotlib.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"figures are drawn by matplotlib: {install('race')}") from error
    with matplotlib.rc_context(_STYLE):
        fig = Figure(figsize=(width, height), layout="constrained")
        yield fig, fig.subplots()


def line(k: int) -> dict[str, Any]:
    """Colour, dashes and marker of the k-th line, for `Axes.plot`."""
    color, dashes = COLORS[k % len(COLORS)], _DASHES[k % len(_DASHES)]
    return {"color": color, "linestyle": dashes, "marker": _MARKERS[k % len(_MARKERS)], "markersize": 4, "lw": 1.8}


def plain(text: str) -> str:
    """A text that is drawn as it is: matplotlib reads dollars as mathematics, and hides labels that begin with _."""
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def svg(fig: Figure, title: str) -> str:
    """The figure as the text of an SVG file, without what is before `<svg`, so that it can stand within HTML.

    What was given an id by `set_gid` has it as its class. The other ids begin with a hash of the title: pages with
    figures of different titles have each id once.
    """
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": title}):
        fig.savefig(file, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", text, flags=re.DOTALL)
    used = set(re.findall(r"#([\w-]+)[\")]", text))
    text = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else _as_class(m[1]), text)
    text = re.sub(r'"[^"]*"', _with_fewer_digits, text).replace(INK, "currentColor")
    head, rest = text.split(">", 1)
    head += f' role="img"><title>{html.escape(title, quote=False)}</title><style>{_ALONE}</style>'
    return re.sub(r"\s*\n\s*", "\n", head + rest).strip() + "\n"


def _with_fewer_digits(attribute: re.Match[str]) -> str:
    """An attribute with two decimals, which are a 7,000th of an inch: the others may differ between machines."""
    return re.sub(r"\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), attribute[0])


def _as_class(name: str) -> str:
    """The class of what a caller has named; matplotlib's own names, as patch_3, are dropped."""
    return "" if re.fullmatch(r"[\w.]+_\d+", name) else f' class="{name}"'
