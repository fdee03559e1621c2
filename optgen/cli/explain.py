"""The command explain: shows the equations of a spec, and the cost of each of its variants."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from textwrap import indent

from optgen.cli.common import Commands, command, flags_text, path_of, read, variants
from optgen.model import Optimizer
from optgen.symbolic import latex, unicode

PARAMETERS = 100_000_000
COLUMNS = ("variant", "streams", "bytes", "flops", "sweeps", "100M parameters")


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        explain,
        "show a spec's equations and what a step costs on this machine",
        "  optgen explain adam\n  optgen explain mine.opt\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file")


def explain(args: argparse.Namespace) -> int:
    optimizer = read(path_of(args.spec))
    costs = _costs(optimizer)
    print("\n".join(filter(None, (optimizer.name, optimizer.title, optimizer.cite))))
    _section("Equations", unicode(optimizer))
    _section("Hyper-parameters", _table(list(_params(optimizer))))
    _section("Change of the weight at the first step (wd = 0, rescale_grad = 1, no clipping)", _first_steps(optimizer))
    _section("Cost for each parameter of a float32 step", costs)
    _section("Launches of a step on a GPU, by what they go over", _launches(optimizer))
    _section("LaTeX", latex(optimizer))
    return 0


def _section(title: str, body: str) -> None:
    print(f"\n{title}\n{indent(body, '  ')}")


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _params(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    """Rows about the params that some equation reads."""
    read = optimizer.reads()
    for param in optimizer.all_params().values():
        if param.name in read:
            default = "none" if param.default is None else f"{param.default:.15g}"
            yield param.name, default, str(param.interval or ""), param.doc


def _first_steps(optimizer: Optimizer) -> str:
    from optgen.symbolic.algebra import NoClosedForm, first_step
    from optgen.symbolic.unicode import Unicode

    found: dict[str, list[str]] = {}
    for flags in variants(optimizer):
        try:
            text = Unicode(optimizer).render(first_step(optimizer, flags)).text
        except NoClosedForm as error:
            text = str(error)
        found.setdefault(text, []).append(flags_text(flags))
    return _by_variant(found)


def _launches(optimizer: Optimizer) -> str:
    from optgen import pipeline
    from optgen.ir import Variant

    found: dict[str, list[str]] = {}
    for flags in variants(optimizer):
        kernel = pipeline.plan(pipeline.build(optimizer, Variant(flags)))
        units = [launch.unit for launch in pipeline.lower_ptx(kernel, optimizer.name).launches]
        found.setdefault(", ".join(units) or "none", []).append(flags_text(flags))
    return _by_variant(found)


def _by_variant(found: dict[str, list[str]]) -> str:
    """Texts, each with its variants. A text that is the same for all variants stands alone."""
    if len(found) == 1:
        return next(iter(found))
    return _table([(" or ".join(where), text) for text, where in found.items()])


def _costs(optimizer: Optimizer) -> str:
    from optgen import num_threads, pipeline
    from optgen.cli.bandwidth import bandwidth
    from optgen.ir import Variant
    from optgen.ir.cost import cost

    found = [(f, cost(pipeline.plan(pipeline.build(optimizer, Variant(f))))) for f in variants(optimizer)]
    speed = bandwidth()
    rows: list[tuple[str, ...]] = [COLUMNS]
    for flags, c in found:
        seconds = c.bytes * PARAMETERS / speed
        streams = f"{c.reads} read, {c.writes} written"
        rows.append((flags_text(flags), streams, str(c.bytes), str(c.flops), str(c.sweeps), f"{seconds * 1e3:.0f} ms"))
    threads = num_threads()
    note = f"at {speed / 1e9:.1f} GB/s, measured now with {threads} thread{'s' if threads > 1 else ''}"
    return f"{_table(rows)}\n{note}"
