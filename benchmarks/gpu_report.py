"""Results of a GPU as tables for a terminal or a Markdown file, as JSON, and as a picture."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import machine
from gpu_cases import COPY, FUSED_GRAPH, GRAPH, MODES, OPTIMIZER, Case
from gpu_device import SIZES
from measure import CEILING, OURS
from report import absences, aligned, duration, piped

from optgen import files

TARGET = 0.92
"""Of the copy's bytes a second: what a step of one sweep is to reach at 100 million parameters and more."""
TITLES = {
    "specs": "Every optimizer, {parameters:,} parameters in {tensors} tensor",
    "sizes": "Beside PyTorch, by the GPU's events",
    "wall": "A call of AdamW by the clock, many in a row, Python included",
}
NOTES = """\
copy: cudaMemcpy within the GPU's memory that reads and writes, half and half, as many bytes in all as the step moves.
streams alone: a kernel of optgen that reads and writes what the step does (R arrays read, W written), with one addition
for each that it writes. Bytes are those of a parameter, each array counted once, however many sweeps read it. Shares
are medians, over interleaved rounds, of the ratio of the two times of a round. Before each call that events measure,
four times the L2 cache is written, and the GPU pauses until the call has returned. A peer's cell is its time, and in
parentheses that divided by optgen's."""
COLORS = {OURS: "#0b6e4f", CEILING: "#8c8c8c", "torch-fused": "#e6a23c", "torch-foreach": "#c0504d"}


def machine_text(description: Mapping[str, Any]) -> str:
    """The description in five lines, the GPU first."""
    d = description
    return (
        f"{datetime.date.today().isoformat()}: {d['gpu']} (compute capability {d['capability']}, "
        f"{d['multiprocessors']} multiprocessors, {d['l2_mib']} MiB of L2, {d['gpu_memory_gib']} GiB)\n"
        f"driver {d['driver']}, CUDA {d['cuda']} of PyTorch\n{machine.text(dict(d))}"
    )


def tables(cases: Sequence[Case]) -> Iterator[tuple[str, list[list[str]]]]:
    """A title and cells, the first line the heading, for each section that was measured."""
    for section, cells in (("specs", _specs), ("sizes", _sizes), ("wall", _wall)):
        rows = [c for c in cases if c.section == section]
        if rows:
            yield TITLES[section].format(parameters=rows[0].parameters, tensors=rows[0].tensors), cells(rows)


def _specs(rows: Sequence[Case]) -> list[list[str]]:
    head = ["optimizer", "streams", "bytes", "sweeps", "launches", "copy", "streams alone", "optgen", "TB/s"]
    table = [[*head, "of the copy", "of the streams"]]
    for c in rows:
        line = [c.optimizer, f"{c.reads}R {c.writes}W", str(c.bytes), str(c.sweeps), str(c.launches)]
        line += [duration(c.median(name)) for name in (COPY, CEILING, OURS)]
        table.append([*line, _tera(c, OURS), f"{c.speed(OURS):.3f}", f"{c.share(OURS):.3f}"])
    return table


def _sizes(rows: Sequence[Case]) -> list[list[str]]:
    peers = [name for name in MODES if any(name in c.seconds for c in rows)]
    head = ["parameters", "optimizer", "tensors", "launches", "copy", "TB/s", "streams alone", "optgen", "TB/s"]
    table = [[*head, "of the copy", *peers]]
    for c in rows:
        line = [f"{SIZES[c.shapes][0]}: {c.parameters:,}", c.optimizer, str(c.tensors), str(c.launches)]
        line += [duration(c.median(COPY)), _tera(c, COPY), duration(c.median(CEILING))]
        line += [duration(c.median(OURS)), _tera(c, OURS), f"{c.speed(OURS):.3f}"]
        table.append([*line, *(_beside(c, name) for name in peers)])
    return table


def _wall(rows: Sequence[Case]) -> list[list[str]]:
    names = [n for n in (OURS, GRAPH, OPTIMIZER, *MODES, FUSED_GRAPH) if any(n in c.seconds for c in rows)]
    table = [["parameters", "tensors", "launches", *names]]
    for c in rows:
        title = f"{SIZES[c.shapes][0]}: {c.parameters:,}"
        table.append([title, str(c.tensors), str(c.launches), *(_beside(c, name) for name in names)])
    return table


def _tera(c: Case, name: str) -> str:
    return f"{c.bandwidth(name) / 1e12:.2f}"


def _beside(c: Case, name: str) -> str:
    if name not in c.seconds:
        return "-"
    return duration(c.median(name)) + ("" if name == OURS else f" ({c.ratio(name, OURS):.2f}x)")


def text(cases: Sequence[Case], left_out: Mapping[str, str]) -> str:
    """All tables for a terminal, and what is not in them."""
    parts = [f"{title}\n{aligned(cells)}" for title, cells in tables(cases)]
    return "\n\n".join([*parts, *_remarks(cases, left_out)])


def markdown(
    description: Mapping[str, Any], cases: Sequence[Case], left_out: Mapping[str, str], picture: str | None
) -> str:
    """A document of its own."""
    parts = [f"# Steps on {description['gpu']}", machine_text(description).replace("\n", "  \n")]
    parts += ["Written by `benchmarks/gpu.py`.", NOTES, *([f"![shares and times]({picture})"] if picture else [])]
    parts += [f"## {title}\n\n{piped(cells)}" for title, cells in tables(cases)]
    return "\n\n".join([*parts, *_remarks(cases, left_out)]) + "\n"


def _remarks(cases: Sequence[Case], left_out: Mapping[str, str]) -> list[str]:
    found = absences(cases)
    slow = [f"{c.optimizer} {c.speed(OURS):.3f}" for c in cases if c.section == "specs" and is_below(c)]
    if slow:
        found.append(f"Of one sweep, and below {TARGET} of the copy: {', '.join(slow)}.")
    if left_out:
        found.append("Left out. " + "; ".join(f"{name}: {why}" for name, why in left_out.items()) + ".")
    return found


def is_below(c: Case) -> bool:
    """Whether a step that goes over its elements once is slower than it is meant to be."""
    return c.sweeps == 1 and c.speed(OURS) < TARGET


def json_text(description: Mapping[str, Any], cases: Sequence[Case], left_out: Mapping[str, str]) -> str:
    """Every sample, in seconds, and the machine; medians and shares follow from them."""
    found = {"date": datetime.date.today().isoformat(), "machine": dict(description), "left_out": dict(left_out)}
    return json.dumps(found | {"results": [asdict(c) for c in cases]}, indent=1)


# ---------------------------------------------------------------- a picture


def write_plot(path: Path, cases: Sequence[Case], description: Mapping[str, Any]) -> bool:
    """Left the share of the copy of every optimizer, right the times of PyTorch's over ours; False without
    matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    specs, sizes = ([c for c in cases if c.section == name] for name in ("specs", "sizes"))
    height = 1.6 + 0.2 * max(len(specs), len(sizes), 8)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, height), layout="constrained")
    _plot_shares(left, specs)
    _plot_peers(right, sizes)
    for axis in (left, right):
        axis.axvline(1, color="#333333", linewidth=1, linestyle="--", zorder=1)
        axis.set_xlim(left=0)
        axis.grid(color="#e4e4e4", linewidth=0.7, zorder=0)
        axis.tick_params(length=0, labelsize=8)
        axis.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle(f"{description['gpu']}, {datetime.date.today().isoformat()}", fontsize=11)
    with files.replacing(path) as file:
        figure.savefig(file, format="png", dpi=150)
    pyplot.close(figure)
    return True


def _plot_shares(axis: Any, rows: Sequence[Case]) -> None:
    for name in (CEILING, OURS):
        label = "optgen" if name == OURS else "its streams alone"
        shares = [c.speed(name) for c in rows]
        axis.scatter(shares, range(len(rows)), s=30, color=COLORS[name], label=label, linewidths=0, zorder=3)
    axis.axvline(TARGET, color="#333333", linewidth=0.7, linestyle=":", zorder=1)
    axis.set_yticks(range(len(rows)), [c.optimizer for c in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_title("bytes a second, over those of a copy", loc="left", fontsize=9)
    if rows:
        axis.legend(loc="upper left", bbox_to_anchor=(0, -0.03), ncols=2, fontsize=8, frameon=False)


def _plot_peers(axis: Any, rows: Sequence[Case]) -> None:
    for name in MODES[:2]:
        there = [(c.ratio(name, OURS), k) for k, c in enumerate(rows) if name in c.seconds]
        ratios, places = [x for x, _ in there], [k for _, k in there]
        axis.scatter(ratios, places, s=30, color=COLORS[name], label=name, linewidths=0, zorder=3)
    axis.set_yticks(range(len(rows)), [f"{SIZES[c.shapes][0]}, {c.optimizer}" for c in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_title("time over optgen's: right of 1 is slower", loc="left", fontsize=9)
    if rows:
        axis.legend(loc="upper left", bbox_to_anchor=(0, -0.03), ncols=2, fontsize=8, frameon=False)
