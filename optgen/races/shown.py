"""How results are shown: as text, in a notebook, and as a folder of files."""

from __future__ import annotations

import html
import os
from pathlib import Path

from optgen import files
from optgen.races import table
from optgen.races.results import Race


def as_html(race: Race) -> str:
    """The table, as notebooks show it."""
    return f"<pre>{html.escape(table.text(race))}</pre>"


def save(race: Race, folder: str | os.PathLike[str]) -> list[Path]:
    """Write results.json and table.txt into a folder, which is made if it is missing. The paths are returned.

    Raises OSError.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    texts = {"results.json": race.to_json(), "table.txt": f"{table.text(race)}\n"}
    for name, text in texts.items():
        with files.replacing(place / name) as file:
            file.write(text.encode())
    return [place / name for name in texts]


Race.__str__ = table.text
Race._repr_html_ = as_html
Race.save = save
