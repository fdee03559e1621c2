"""How results are shown: as text, in a notebook, and as a folder of files."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optgen import files
from optgen.races import table
from optgen.races.results import Race


@dataclass(frozen=True)
class ShownRace(Race):
    """A race that prints as its table, and shows itself in a notebook."""

    def __str__(self) -> str:
        return table.text(self)

    def _repr_html_(self) -> str:
        """The table and a picture; the table alone without matplotlib."""
        text = f"<pre>{html.escape(table.text(self))}</pre>"
        try:
            _, picture = next(pictures(self))
        except (ImportError, StopIteration):
            return text
        return f"{text}\n{picture}"

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write results.json, table.txt and pictures into a folder, which is made if it is missing. The paths are
        returned.

        Raises OSError; and ImportError that says what to install for pictures, once the others are written.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = [
            _write(place / "results.json", self.to_json()),
            _write(place / "table.txt", f"{table.text(self)}\n"),
        ]
        return written + [_write(place / f"{name}.svg", picture) for name, picture in pictures(self)]


def pictures(race: Race) -> Iterator[tuple[str, str]]:
    """The name and the SVG of each picture: of each task, loss over rate and over steps; then the ranks, if there are
    several tasks."""
    from optgen.races.pictures import curves, ranking, sensitivity

    for task in race.tasks:
        if race.of(task.name):
            yield f"{task.name}-rate", sensitivity(race, task.name)
            yield f"{task.name}-steps", curves(race, task.name)
    if len(race.tasks) > 1:
        yield "ranks", ranking(race)


def _write(path: Path, text: str) -> Path:
    with files.replacing(path) as file:
        file.write(text.encode())
    return path
