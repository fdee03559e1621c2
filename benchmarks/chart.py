"""Draw the steps that step.py has measured beside other libraries, as bars in an SVG file.

A bar is the time of a step, in times of a kernel that only moves the memory which the step must move (the ceiling): the
median over the rounds, in each of which all took a sample in turn. Matplotlib draws it, of the extra `race`.

examples:
  python benchmarks/step.py --shapes tensor --optimizers adamw momentum lion lamb --threads 1 --json peers.json
  python benchmarks/chart.py peers.json docs/step.svg
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
    """The SVG of the results on one list of shapes: a group of bars for each optimizer."""
    groups = [(NAMES.get(r["optimizer"], r["optimizer"]), ratios(r)) for r in results]
    colors = dict(zip(BARS, COLORS, strict=False))
    rows = sum(len(found) + 1 for _, found in groups)
    with figure(7, 0.2 * rows + 1.2) as (fig, axes):
        y, middles = 0.0, []
        for _, found in groups:
            places = [y + k for k in range(len(found))]
            bars = axes.barh(places, list(found.values()), 0.85, color=[colors[name] for name in found])
            axes.bar_label(bars, [f"{x:.1f}" for x in found.values()], padding=3, fontsize=8)
            middles.append(y + (len(found) - 1) / 2)
            y += len(found) + 1
        axes.axvline(1, color="#888888", linestyle=":", zorder=0)
        axes.set_yticks(middles, [name for name, _ in groups])
        axes.invert_yaxis()
        millions = results[0]["parameters"] / 1e6
        axes.set_xlabel(f"time of a step of {millions:g} million parameters; moving its memory alone takes 1")
        for name, title in BARS.items():
            axes.barh([0], [0], color=colors[name], label=title)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        return svg(fig, "Times of a step beside PyTorch's and optax's")


if __name__ == "__main__":
    sys.exit(main())
