"""The command explain: shows the equations of a spec, and the cost of each of its variants."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from textwrap import indent

from optgen.cli.common import Commands, command, flags_text, path_of, read, variants
from optgen.model import Optimizer
from optgen.symbolic.latex import latex
from optgen.symbolic.unicode import unicode
from optgen.symbolic.written import expression

PARAMETERS = 100_000_000
UNITS = {
    "elements": "a warp of 32 threads takes some elements of a tensor",
    "blocks": "a warp adds up one stretch of a tensor",
    "row blocks": "a warp adds up one stretch of a row",
    "column tiles": "a warp adds up some rows of 32 columns",
    "rows": "a thread computes the values of one row",
    "cols": "a thread computes the values of one column",
    "matrices": "a thread computes the values of one matrix of the last two axes",
    "tensor": "a block of threads computes the values of one tensor",
    "step": "one block of threads computes the values that all tensors share",
}
"""What each launch goes over (`optgen.backends.ptx.table.Unit`)."""
DECLARED = ("Hyper-parameters", "Flags", "States", "Inputs", "Requirements")
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
    also = f"also called {', '.join(optimizer.aliases)}" if optimizer.aliases else ""
    axes = "a parameter is a batch of matrices of its last two axes" if optimizer.last_two else ""
    print("\n".join(filter(None, (optimizer.name, also, optimizer.title, optimizer.cite, axes))))
    _section("Equations", unicode(optimizer))
    declared = (_params, _flags, _states, _inputs, _requirements)
    for title, rows in zip(DECLARED, (list(part(optimizer)) for part in declared), strict=True):
        if rows:
            _section(title, _table(rows))
    _section("Change of the weight at the first step (wd = 0, rescale_grad = 1, no clipping)", _first_steps(optimizer))
    _section("Cost for each parameter of a float32 step", costs)
    _section("Sweeps over memory: what each reads and writes, and the bytes for each parameter", _sweeps(optimizer))
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
            yield " or ".join((param.name, *param.aliases)), default, str(param.interval or ""), param.doc


def _flags(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    """Those that are arguments with their default and values, the others with their condition."""
    for f in optimizer.flags:
        if f.condition is not None:
            yield f.name, "", expression(f.condition), f.doc
        else:
            values = " or ".join(f.choices or ("true", "false")) + (", for each parameter" if f.per_param else "")
            yield f.name, str(f.default) if f.choices else str(f.default).lower(), values, f.doc


def _states(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    from optgen.emit.doc import ONE_FOR_EACH

    for s in optimizer.states:
        guard = f"if {expression(s.guard)}" if s.guard is not None else ""
        start = f"starts at {expression(s.init)}" + (" in the first update" if optimizer.start(s) is not None else "")
        yield s.name, f"one for each {ONE_FOR_EACH[s.kind]}", start, guard, s.doc


def _inputs(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    return ((i.name, i.doc) for i in optimizer.inputs)


def _requirements(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    return ((expression(r.condition), r.message) for r in optimizer.requires)


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


def _sweeps(optimizer: Optimizer) -> str:
    from optgen import pipeline
    from optgen.ir import Variant
    from optgen.ir.cost import own_ceiling, sweeps

    found: dict[str, list[str]] = {}
    for flags in variants(optimizer):
        kernel = pipeline.plan(pipeline.build(optimizer, Variant(flags)))
        swept = sweeps(kernel)
        words = [f"{' '.join(s.reads)} ({s.bytes_read:g})" + _written(s.writes, s.bytes_written) for s in swept]
        if len(swept) > 1:
            words.append(f"at most {own_ceiling(kernel):.2f} of the speed of one sweep")
        found.setdefault("; ".join(words) or "none", []).append(flags_text(flags))
    return _by_variant(found)


def _written(names: Sequence[str], bytes: float) -> str:
    return f" → {' '.join(names)} ({bytes:g})" if names else ""


def _launches(optimizer: Optimizer) -> str:
    from optgen import pipeline
    from optgen.ir import Variant

    found: dict[str, list[str]] = {}
    for flags in variants(optimizer):
        kernel = pipeline.plan(pipeline.build(optimizer, Variant(flags)))
        units = [launch.unit for launch in pipeline.lower_ptx(kernel, optimizer.name).launches]
        found.setdefault(", ".join(units) or "none", []).append(flags_text(flags))
    met = {unit for units in found for unit in units.split(", ")}
    return "\n".join([_by_variant(found), *(f"{unit}: {what}" for unit, what in UNITS.items() if unit in met)])


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
