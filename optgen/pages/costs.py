"""The section of what a step costs, beside AdamW's: memory that moves, memory that is kept, operations, and what limits
a step on this machine."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import optgen
from optgen import tables
from optgen.ir.cost import Cost
from optgen.model import Optimizer
from optgen.pages import svg
from optgen.pages.html import Child, Markup, joined, table, tag
from optgen.pages.topic import Machine, PageSection, Topic
from optgen.tables import UpdateWork

BESIDE = "adamw"
PARAMETERS = 100_000_000
HEAD = ("variant", "bytes moved", "bytes of states", "operations", "sweeps")
MATRICES = ("matrix", "10⁹ operations", "MB moved", "operations a byte")
NOTE = (
    "Of a float32 step, for each parameter. A sweep goes once over memory; bytes that move are those that memory "
    "limits. States are those of a matrix of 1024 × 1024 at the default flags."
)


def section(topic: Topic) -> PageSection:
    optimizer, machine = topic.optimizer, topic.machine
    own, work = tables.costs(optimizer), tables.matrix_work(optimizer)
    parts: list[Child] = [_elementwise(topic, own), tag("p", NOTE, class_="note")]
    if own:
        picture = _bars(topic, own)
        parts.append(svg.figure(picture, "How much memory does a step move?", picture if machine else None))
    if work:
        parts += [tag("h3", "Updates of matrices"), _matrices(work, machine)]
    if machine is not None:
        picture = _roofline(topic, own, work, machine)
        parts.append(svg.figure(picture, "What limits a step on this machine?", picture))
        parts.append(_measured(machine))
    return PageSection("cost", f"What a step costs, beside {_beside().name}", joined(parts))


@functools.cache
def _beside() -> Optimizer:
    return optgen.load(BESIDE).spec


@functools.cache
def _cost_beside() -> tuple[str, Cost]:
    """A label, and the cost of the optimizer that others are compared with."""
    ((_, found), *_) = tables.costs(_beside())
    return _beside().name, found


def _all(topic: Topic, own: Sequence[tuple[str, Cost]]) -> list[tuple[str, Cost]]:
    """The variants of the spec, and AdamW."""
    rows = [(_label(topic, label), c) for label, c in own]
    return rows if topic.optimizer == _beside() else [*rows, _cost_beside()]


def _label(topic: Topic, variants: str) -> str:
    """The name of a spec with some variants, alone where they are all."""
    name = topic.optimizer.name
    return name if variants == "all variants" else f"{name} {variants}"


def _elementwise(topic: Topic, own: Sequence[tuple[str, Cost]]) -> Markup | None:
    machine = topic.machine
    kept, kept_beside = (f"{tables.state_bytes(optgen.load(x)):.3g}" for x in (topic.optimizer, _beside()))
    head = [*HEAD, *([f"{PARAMETERS // 10**6} million parameters"] if machine else [])]
    rows: list[list[str]] = []
    for i, (label, c) in enumerate(_all(topic, own)):
        memory = kept if i < len(own) else kept_beside
        time = [f"{c.bytes * PARAMETERS / machine.memory * 1e3:.0f} ms"] if machine else []
        rows.append([label, f"{c.bytes:g}", memory, str(c.flops), str(c.sweeps), *time])
    if not own:
        rows.insert(0, [topic.optimizer.name, "see below", kept, *[""] * (len(head) - 3)])
    return table(head, rows, "numbers")


def _bars(topic: Topic, own: Sequence[tuple[str, Cost]]) -> Markup:
    bars = [(label, c.bytes, f"{c.bytes:g}") for label, c in _all(topic, own)]
    return svg.bars("Bytes that a step moves for each parameter", bars, last_is_other=len(bars) > len(own))


def _matrices(work: Sequence[UpdateWork], machine: Machine | None) -> Markup | None:
    head = [*MATRICES, *(("at least", "limited by") if machine else ())]
    return table(head, (list(_matrix_row(x, machine)) for x in work), "numbers")


def _matrix_row(work: UpdateWork, machine: Machine | None) -> Iterator[str]:
    yield " × ".join(map(str, work.shape))
    yield f"{work.flops / 1e9:,.1f}"
    yield f"{work.moved / 1e6:,.0f}"
    yield f"{work.flops / work.moved:.0f}"
    if machine is not None:
        yield f"{work.seconds(machine.memory, machine.products) * 1e3:,.1f} ms"
        yield work.limit(machine.memory, machine.products)


def _roofline(topic: Topic, own: Sequence[tuple[str, Cost]], work: Sequence[UpdateWork], machine: Machine) -> Markup:
    """Operations a second that the machine can do, over the operations for each byte; a point for each update."""
    rows = [(_label(topic, label), c.flops / c.bytes, False) for label, c in own if c.bytes and c.flops]
    rows += [(" × ".join(map(str, x.shape)), x.flops / x.moved, False) for x in work]
    if topic.optimizer != _beside():
        label, c = _cost_beside()
        rows.append((label, c.flops / c.bytes, True))
    ridge = machine.products / machine.memory
    low, high = min(0.125, *(x for _, x, _ in rows)), max(8 * ridge, *(x for _, x, _ in rows))
    points = [(label, x, min(x * machine.memory, machine.products), other) for label, x, other in rows]
    roof = [(x, min(x * machine.memory, machine.products)) for x in (low, ridge, high)]
    return svg.log_plot(
        "Roofline of this machine",
        ("operations for each byte that moves", "operations a second"),
        roof,
        points,
    )


def _measured(machine: Machine) -> Markup:
    threads = f"{machine.threads} thread{'s' if machine.threads > 1 else ''}"
    ridge = machine.products / machine.memory
    return tag(
        "p",
        f"Measured on the machine that made this page, with {threads}: {machine.memory / 1e9:.1f} GB/s of memory and "
        f"{machine.products / 1e9:.0f} GFLOP/s in products of matrices. Below {ridge:.1f} operations a byte, memory is "
        f"the limit. Times follow from these numbers; steps were not timed.",
        class_="note",
    )
