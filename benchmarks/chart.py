"""Draw the steps that step.py has measured beside other libraries, as bars in an SVG file.

A bar is the time of a step, in times of a kernel that only moves the memory which the step must move (the ceiling): the
median over the rounds, in each of which all took a sample in turn. Matplotlib draws it, of the extra `race`.

examples:
  python benchmarks/step.py --shapes tensor --optimizers adamw momentum lion lamb --json benchmarks/results/peers.json
  python benchmarks/chart.py benchmarks/results/peers.json docs/step.svg
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from optgen import files
from optgen.figures import COLORS, figure, svg

BARS = {
    "optgen": "optgen",
    "torch-fused": "PyTorch, fused",
    "torch-compiled": "PyTorch, compiled",
    "torch-foreach": "PyTorch, foreach",
    "optax": "optax, jitted",
}
"""Contenders in the order of the bars, and what they are called."""
NAMES = {"adamw": "AdamW", "momentum": "SGD momentum", "lion": "Lion", "lamb": "LAMB"}
HEIGHT = 0.15
"""Of a bar, in times of an optimizer's row."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="a file that step.py --json has written")
    parser.add_argument("output", type=Path, help="the SVG file")
    args = parser.parse_args()
    text = chart(json.loads(args.results.read_text())["results"])
    with files.replacing(args.output) as file:
        file.write(text.encode())
    return 0


def ratios(result: dict[str, Any]) -> dict[str, float]:
    """What each contender takes, in times of the ceiling of the same round."""
    ceiling = result["seconds"]["ceiling"]
    return {
        name: median(own / least for own, least in zip(result["seconds"][name], ceiling, strict=True))
        for name in BARS
        if name in result["seconds"]
    }


def chart(results: Sequence[dict[str, Any]]) -> str:
    """The SVG of the results on one list of shapes."""
    rows = [(NAMES.get(r["optimizer"], r["optimizer"]), ratios(r)) for r in results]
    millions = results[0]["parameters"] / 1e6
    with figure(7, 0.8 * len(rows) + 1) as (fig, axes):
        for k, (name, title) in enumerate(BARS.items()):
            found = [(i, own[name]) for i, (_, own) in enumerate(rows) if name in own]
            places = [i + (list(rows[i][1]).index(name) - (len(rows[i][1]) - 1) / 2) * HEIGHT for i, _ in found]
            bars = axes.barh(places, [x for _, x in found], 0.85 * HEIGHT, color=COLORS[k], label=title)
            axes.bar_label(bars, [f"{x:.1f}" for _, x in found], padding=3, fontsize=8)
        axes.axvline(1, color="#888888", linestyle=":")
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlabel(f"time of a step of {millions:g} million parameters, memory alone = 1")
        axes.legend(loc="lower right")
        return svg(fig, "Times of a step beside PyTorch's and optax's")


if __name__ == "__main__":
    sys.exit(main())
