"""Draw what `perf annotate` shows of adam: where its time goes, line by line and in the instructions of its loop.

It needs Linux, perf, and binutils. perf samples the clock of the CPU, which virtual machines have, too.

example:
  python benchmarks/annotate.py docs/annotate.svg
"""

from __future__ import annotations

import argparse
import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from optgen import files

PROGRAM = """
import numpy as np, optgen
w = np.linspace(-1, 1, 100_000, dtype=np.float32)  # which fit the caches: else instructions wait for memory
step = optgen.load("adam").bind([w], [w.copy()])
for _ in range(50_000):
    step()
"""
_SHARE = re.compile(r" +(\d+\.\d\d) ")
_SOURCE = re.compile(r" +: \d+ +(.*)")
HEIGHT, CHARACTER = 15, 7.2
"""Of a row of text of 12 pixels, and the width of a character, in pixels."""
HOT, WARM, LEAST = 5.0, 1.0, 0.05
"""Percents of the time from which a row is drawn in another colour, and from which it is drawn at all."""
STYLE = """\
text{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:currentColor}
.source{fill:#2b7fd4;font-weight:bold}.hot{fill:#e0457b;font-weight:bold}.warm{fill:#d9690c}
svg:root{color:#1b1b1b}@media(prefers-color-scheme:dark){svg:root{color:#e8e8e8}}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the SVG file")
    args = parser.parse_args()
    with files.replacing(args.output) as file:
        file.write(picture(annotated()).encode())
    return 0


def annotated() -> str:
    """What perf prints of the kernel that takes most of the time, with lines of the spec by its name alone."""
    with TemporaryDirectory() as place:
        kernels, data = Path(place, "kernels"), Path(place, "perf.data")
        environment = os.environ | {"OPTGEN_DEBUG_DIR": str(kernels), "OPTGEN_NUM_THREADS": "1"}
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-o", data, sys.executable, "-c", PROGRAM]
        subprocess.run(record, env=environment, check=True)
        (library,) = kernels.glob("optgen_adam_*.so")
        command = ["perf", "annotate", "-i", data, "--stdio", "-l", "--dsos", library.name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"(?<= )/\S*/(?=\w+\.opt:)", "", text)


def rows(text: str) -> Iterator[str]:
    """The rows of perf's text that are drawn, of the first function alone: its summary, and what took time, under lines
    of the spec. perf's numbers of these count no empty lines, and are left out; those behind instructions are right."""
    summary, _, code = text.partition(" Percent |")
    code = code.partition("Sorted summary")[0]
    yield from (row for row in summary.split("\n") if _SHARE.match(row))
    yield ""
    last = ""
    for row in code.split("\n"):
        source, share = _SOURCE.match(row), _SHARE.match(row)
        if source and "=" in source[1] and not source[1].startswith("#"):
            last = f"         :         {source[1]}"
        elif share and float(share[1]) >= LEAST:
            if last:
                yield last
                last = ""
            yield row.rstrip()


def picture(text: str) -> str:
    """An SVG of what perf prints."""
    shown = list(rows(text))
    width = round(CHARACTER * max(map(len, shown))) + 20
    height = HEIGHT * len(shown) + 20
    drawn = [
        f'<text x="10" y="{HEIGHT * k + 20}"{_style(row)}>{html.escape(row, quote=False)}</text>'
        for k, row in enumerate(shown)
        if row
    ]
    title = "Where a step of adam spends its time, by perf annotate"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{STYLE}</style>", *drawn, "</svg>", ""])


def _style(row: str) -> str:
    share = _SHARE.match(row)
    if share is None:
        return ' class="source"'
    percent = float(share[1])
    return ' class="hot"' if percent >= HOT else ' class="warm"' if percent >= WARM else ""


if __name__ == "__main__":
    sys.exit(main())
