"""Looks at the kinds of pages in Chromium: light and dark, 400 and 1400 pixels wide. `make pages` runs it.

An error in a console, a request to a network, or a page that is wider than its window is a failure. Screenshots are
left in a folder, for people to look at.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.pages.browser import Page, browser, found

GALLERY = {
    "adam": "one kernel, with variants",
    "muon": "products of matrices",
    "galore": "few dimensions",
    "soap_adamw": "two parts",
    "extragradient": "phases",
    "sophia": "an input",
    "alig": "the loss",
    "prodigy": "sums over parameters",
    "torch/adamw": "of torch.optim",
}
"""Specs whose pages are of different kinds."""
REPORTS = ("adamw", "adam with lookahead")
WIDTHS, SCHEMES = (400, 1400), ("light", "dark")


def pages(folder: Path) -> Iterator[Path]:
    """The pages of all kinds, made anew: those of a gallery, its index, and reports."""
    optgen = [sys.executable, "-m", "optgen"]
    subprocess.run([*optgen, "gallery", *GALLERY, "-o", folder / "site"], check=True)
    for spec in REPORTS:
        path = folder / f"report-{spec.replace(' ', '-')}.html"
        subprocess.run([*optgen, "report", spec, "-o", path], check=True)
    yield folder / "site" / "index.html"
    yield from sorted(path for path in (folder / "site").rglob("*.html") if path.name != "index.html")
    yield from sorted(folder.glob("report-*.html"))


def look(page: Page, path: Path, folder: Path) -> Iterator[str]:
    """What is wrong with a page; its screenshots are in the folder afterwards."""
    for scheme in SCHEMES:
        for width in WIDTHS:
            page.problems.clear()
            page.open(path, width, scheme)
            name = f"{path.parent.name}-{path.stem}-{width}-{scheme}"
            (folder / f"{name}.png").write_bytes(page.screenshot())
            wide = page.value("document.documentElement.scrollWidth")
            yield from (f"{name}: {problem}" for problem in page.problems)
            if wide > width:
                yield f"{name}: {wide} pixels wide"


def main(folder: Path) -> int:
    command = found()
    if command is None:
        print("skipped: there is no Chromium here (on Debian: apt-get install chromium)")
        return 0
    shots = folder / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    with browser(command) as page:
        made = list(pages(folder))
        wrong = [problem for path in made for problem in look(page, path, shots)]
    print("\n".join([*wrong, f"{len(made)} pages, {len(list(shots.glob('*.png')))} screenshots in {shots}"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".pages")))
