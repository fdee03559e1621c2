"""The picture of the packages: `python -m tests.packages` draws docs/packages.svg from the imports.

A box is a package, or one of the files that all of them go through. Rows are the layers of `tests/test_imports.py`. A
line leads from a box down to one that imports it, at once or through files that are not drawn. What also follows from
other lines has none. Boxes have colours of their own, so that the picture is readable on white and on black.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tests.test_imports import FILES, LAYERS, ROOT, files_of, imports, part_of

PICTURE = ROOT / "docs" / "packages.svg"
SINGLE_FILES = {"optgen": {"model", "pipeline", "api"}, "runtime": set[str]()}
"""The files that are drawn, as data flows through them from package to package."""
COLORS = {"optgen": "#1f5fa8", "runtime": "#8a4b12"}
GREY = "#808080"
"""The colour of lines and titles: its contrast is 3.9 on white and 5.3 on black."""

Graph = dict[str, set[str]]
"""For each part of a package, the parts that it imports."""

LETTER, BOX, ROW, GAP, TOP = 7.5, 24, 58, 22, 80
"""In pixels: the width of a letter, the heights of a box and of a row, the space between boxes, and that on top."""


def graph(package: str) -> Graph:
    """Every part of the package, with what it imports of the others."""
    parts = [part for line in LAYERS[package] for part in line.split()]
    return {
        part: {
            seen
            for path in files_of(package, part)
            for module in imports(path)
            if (seen := part_of(module, package)) and seen != part
        }
        for part in parts
    }


def drawn(package: str) -> Graph:
    """The packages of the package and its SINGLE_FILES, with what they import: at once, or through other files."""
    whole = graph(package)
    boxes = {part for part in whole if (ROOT / package / part).is_dir()} | SINGLE_FILES[package]

    def seen(part: str) -> set[str]:
        return {box for other in whole[part] for box in ({other} if other in boxes else seen(other))}

    return without_shortcuts({part: seen(part) for part in whole if part in boxes})


def without_shortcuts(imported: Graph) -> Graph:
    """The graph without the imports that also follow from others."""

    def below(part: str) -> set[str]:
        return imported[part].union(*(below(other) for other in imported[part]))

    return {part: others - set[str]().union(*(below(o) for o in others)) for part, others in imported.items()}


@dataclass(frozen=True)
class Place:
    """A place in a row: that of a box, or of lines that pass the row on their way down from the box of this name."""

    name: str
    row: int
    is_box: bool

    @property
    def width(self) -> float:
        return LETTER * len(self.name) + 20 if self.is_box else 2


def rows(package: str, imported: Graph) -> list[list[Place]]:
    """The places of each row. A row is a layer with boxes."""
    layers = [[part for part in line.split() if part in imported] for line in LAYERS[package]]
    layers = [layer for layer in layers if layer]
    row_of = {part: row for row, layer in enumerate(layers) for part in layer}
    last = {part: max((row_of[p] for p in imported if part in imported[p]), default=0) for part in imported}
    return [
        [Place(part, row, True) for part in layer]
        + [Place(part, row, False) for part in imported if row_of[part] < row < last[part]]
        for row, layer in enumerate(layers)
    ]


def centres(places: list[list[Place]], imported: Graph, width: float) -> dict[Place, float]:
    """The horizontal centre of each place: rows stand in the middle, each in the order of what it hangs from."""
    found: dict[Place, float] = {}
    for row in places:
        above = {place.name: found[place] for place in found if place.row == row[0].row - 1}

        def wanted(place: Place, above: dict[str, float] = above) -> float:
            sources = imported[place.name] if place.is_box else {place.name}
            xs = [above[source] for source in sorted(sources) if source in above]
            return sum(xs) / len(xs) if xs else width / 2

        x = (width - sum(place.width for place in row) - GAP * (len(row) - 1)) / 2
        for place in sorted(row, key=wanted):
            found[place] = x + place.width / 2
            x += place.width + GAP
    return found


def panel(package: str, left: float, width: float) -> list[str]:
    """The lines of SVG of one package: its title, its lines, and its boxes above them."""
    imported = drawn(package)
    at = {place: left + x for place, x in centres(rows(package, imported), imported, width).items()}
    lines, boxes = [], []
    for place, x in at.items():
        y = TOP + ROW * place.row
        if place.is_box:
            boxes.append(box(package, place, x, y))
        else:
            lines.append(line(x, y, x, y + BOX))
        lines += [line(x, y + BOX, at[other], y + ROW) for other in at if leads_to(place, other, imported)]
    title = f'<text x="{left + width / 2:g}" y="28" fill="{GREY}" font-size="18">{package}</text>'
    return [title, *lines, *boxes]


def leads_to(place: Place, other: Place, imported: Graph) -> bool:
    """Whether a line goes from a place to the other one, which is in the next row."""
    named = place.name in imported[other.name] if other.is_box else place.name == other.name
    return named and other.row == place.row + 1


def line(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (y + to_y) / 2
    return (
        f'<path d="M{x:g} {y:g}C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}" fill="none" stroke="{GREY}"/>'
    )


def box(package: str, place: Place, x: float, y: float) -> str:
    rounding = 2 if place.name in SINGLE_FILES[package] else 8
    return (
        f'<rect x="{x - place.width / 2:g}" y="{y:g}" width="{place.width:g}" height="{BOX}" rx="{rounding}" '
        f'fill="{COLORS[package]}"/><text x="{x:g}" y="{y + 16:g}" fill="#ffffff">{place.name}</text>'
    )


def of_optgen() -> list[str]:
    """The packages of optgen that runtime imports."""
    modules = {module for path in FILES if path.is_relative_to(ROOT / "runtime") for module in imports(path)}
    return sorted({part_of(module, "optgen") for module in modules} & drawn("optgen").keys())


def picture() -> str:
    """The whole picture as SVG: optgen on the left, and runtime, which imports it, on the right."""
    left, right = 560, 520
    height = TOP + ROW * max(len(rows(package, drawn(package))) for package in SINGLE_FILES)
    under = textwrap.wrap(f"imports {', '.join(of_optgen())} of optgen", 60)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + right} {height}" width="{left + right}" '
            f'height="{height}" font-family="DejaVu Sans, sans-serif" font-size="13" text-anchor="middle" role="img">',
            "<title>The packages of optgen and runtime, in layers from top to bottom</title>",
            *panel("optgen", 0, left),
            *panel("runtime", left, right),
            *(
                f'<text x="{left + right / 2:g}" y="{46 + 16 * k}" fill="{GREY}">{text}</text>'
                for k, text in enumerate(under)
            ),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
