"""The command explain: shows the equations of a spec, and the cost of each of its variants."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from textwrap import indent

from optgen import tables
from optgen.cli import terminal
from optgen.cli.common import Commands, command, read, source_named
from optgen.model import PHASE, Flags, Optimizer, Timing
from optgen.symbolic.breaking import broken
from optgen.symbolic.latex import latex
from optgen.symbolic.unicode import unicode
from optgen.symbolic.written import timed
from optgen.tables import dense_variants, planned, setting_text

MARGIN = "  "
PARAMETERS = 100_000_000
UNITS = {
    "elements": "a warp of 32 threads takes some elements of a tensor",
    "blocks": "a warp adds up one stretch of a tensor",
    "row blocks": "a warp adds up one stretch of a row",
    "column tiles": "a warp adds up some rows of 128 columns",
    "rows": "a thread computes the values of one row",
    "cols": "a thread computes the values of one column",
    "matrices": "a thread computes the values of one matrix of the last two axes",
    "tensor": "a block of threads computes the values of one tensor",
    "step": "one block of threads computes the values that all tensors share",
}
"""What each launch goes over (`optgen.backends.gpu.table.Unit`)."""
DECLARED = ("Hyper-parameters", "Flags", "Dimensions", "States", "Inputs", "Requirements")
ROOFLINE = ("matrix", "1e9 operations", "MB", "operations a byte", "at least", "limited by")
COLUMNS = ("variant", "streams", "bytes", "flops", "sweeps", "100M parameters")


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        explain,
        "show a spec's equations and what a step costs on this machine",
        "  optgen explain adam\n"
        "  optgen explain mine.opt\n"
        "  optgen explain 'adam with lookahead'\n"
        "  optgen explain adam --latex    the equations alone, for a paper\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file, or 'NAME with TRANSFORM'")
    parser.add_argument("--latex", action="store_true", help="print the equations as LaTeX (amsmath), and nothing else")


def explain(args: argparse.Namespace) -> int:
    optimizer = read(source_named(args.spec))
    if args.latex:
        print(latex(optimizer))
        return 0
    costs = _costs(optimizer) if any(not optimizer.is_staged(flags) for flags in dense_variants(optimizer)) else ""
    also = f"also called {', '.join(optimizer.aliases)}" if optimizer.aliases else ""
    axes = "a parameter is a batch of matrices of its last two axes" if optimizer.last_two else ""
    version = f"version {optimizer.version}" if optimizer.version > 1 else ""
    print(terminal.bold(optimizer.name))
    head = filter(None, (also, version, optimizer.title, optimizer.cite, axes, *optimizer.advice))
    print("\n".join(terminal.fill(line, terminal.width()) for line in head))
    _section("Equations", unicode(optimizer, columns=_room()))
    declared = (tables.params, tables.flags, tables.dims, tables.states, tables.inputs, tables.requirements)
    for title, rows in zip(DECLARED, (list(part(optimizer)) for part in declared), strict=True):
        if rows:
            _section(title, terminal.lines(rows, _room()))
    first = f"in phase '{optimizer.phases[0]}' of" if optimizer.phases else "at"
    _section(
        f"Change of the weight {first} the first step (wd = 0, rescale_grad = 1, no clipping)", _first_steps(optimizer)
    )
    if costs:
        _section("Cost of a float32 step for each element", costs)
        _section("Sweeps over memory, and the bytes of each element that they move", _sweeps(optimizer))
        _section("Launches of a step on a GPU, by what they go over", _launches(optimizer))
    for title, stages in _stages(optimizer):
        _section(title, stages)
    if roofs := _roofs(optimizer):
        _section("Roofline of a float32 update, the mean of many", roofs)
    return 0


def _room() -> int:
    """The columns of the body of a section."""
    return terminal.width() - len(MARGIN)


def _section(title: str, body: str) -> None:
    """Print a section. Lines of its body that are too wide are broken between words."""
    heading = terminal.bold(terminal.fill(title, terminal.width()))
    print(f"\n{heading}\n{indent(terminal.fill(body, _room()), MARGIN)}")


def _first_steps(optimizer: Optimizer) -> str:
    """What the first step adds to the weight, in its first phase where it has several."""
    from optgen.symbolic.algebra import NoClosedForm, first_step
    from optgen.symbolic.unicode import Unicode

    found: list[tuple[Flags, str]] = []
    for flags in dense_variants(optimizer):
        if flags.get(PHASE) != next(iter(optimizer.phases), None):
            continue  # it follows gradients at other weights
        try:
            text = Unicode(optimizer).render(first_step(optimizer, flags)).text
            found.append((flags, "\n".join(broken(text, _room() - len(MARGIN)))))
        except NoClosedForm as error:
            found.append((flags, str(error)))
    return _by_setting(found)


def _sweeps(optimizer: Optimizer) -> str:
    from optgen.ir.cost import own_ceiling, sweeps

    found = []
    for (flags, kernel), (_, donated) in zip(planned(optimizer), planned(optimizer, donated=True), strict=True):
        lines = [
            _moved("reads", x.reads, x.bytes_read) + _moved(", writes", x.writes, x.bytes_written)
            for x in sweeps(kernel)
        ]
        if len(lines) > 1:
            lines.append(f"at most {own_ceiling(kernel):.2f} of the speed of one sweep over the same arrays")
        read = [sum(x.bytes_read for x in sweeps(k)) for k in (kernel, donated)]
        if read[0] != read[1]:
            lines.append(
                f"if it may overwrite gradients (donate_grads=True), reads {read[1]:g} bytes instead of {read[0]:g}: "
                f"at most {own_ceiling(donated):.2f} of that speed"
            )
        found.append((flags, "\n".join(lines) or "none"))
    return _by_setting(found)


def _moved(verb: str, names: Sequence[str], bytes: float) -> str:
    return f"{verb} {' '.join(names)} ({bytes:g} bytes)" if names else ""


def _launches(optimizer: Optimizer) -> str:
    from optgen import pipeline
    from optgen.backends.gpu.nvidia import OLDEST

    found = []
    for flags, kernel in planned(optimizer):
        units = [launch.unit for launch in pipeline.lower_gpu(kernel, optimizer.name, OLDEST).launches]
        found.append((flags, ", ".join(units) or "none"))
    met = {unit for _, units in found for unit in units.split(", ")}
    return "\n".join([_by_setting(found), *(f"{unit}: {what}" for unit, what in UNITS.items() if unit in met)])


def _stages(optimizer: Optimizer) -> Iterator[tuple[str, str]]:
    """The stages of the variants that are more than one kernel, each with a title: of an update without the equations
    that have a timing, of one with all of them, and of the first one, where these differ."""
    from optgen import pipeline
    from optgen.ir import Variant

    staged = [flags for flags in dense_variants(optimizer) if optimizer.is_staged(flags)]
    timings = optimizer.timings
    often = " and ".join(dict.fromkeys(f"'{timed(t.every, t.start)}'" for t in timings))
    kinds: list[tuple[str, tuple[Timing, ...], bool]] = [("Stages of a float32 step", (), False)]
    kinds += [(f"Stages of an update with the equations {often}", timings, False)] if timings else []
    kinds += [("Stages of the first update", timings, True)] if optimizer.starts() else []
    for title, due, first in kinds if staged else []:
        found = [
            (flags, "\n".join(pipeline.stage_lines(optimizer, Variant(flags), due, first=first))) for flags in staged
        ]
        text = _by_setting(found)
        yield title, text + "\n#1, #2, ...: values without a name in the spec" * ("#" in text)


def _roofs(optimizer: Optimizer) -> str:
    """What limits the update of some matrices, with the default flags."""
    import optgen
    from optgen import bandwidth

    works = tables.matrix_work(optimizer)
    if not works:
        return ""
    memory, products = bandwidth.bandwidth(), bandwidth.product_speed()
    rows: list[tuple[str, ...]] = [ROOFLINE]
    for work in works:
        size = f"{work.flops / 1e9:,.1f}", f"{work.moved / 1e6:,.0f}", f"{work.flops / work.moved:.0f}"
        time, limit = work.seconds(memory, products), work.limit(memory, products)
        rows.append((" x ".join(map(str, work.shape)), *size, f"{time * 1e3:,.1f} ms", limit))
    threads, side = optgen.num_threads(), bandwidth.SIDE
    return (
        f"{terminal.lines(rows, _room())}\n"
        "operations are those of products, and of factorizations by textbook counts; bytes are those of sweeps\n"
        f"at {products / 1e9:.0f} GFLOP/s for products of {side} x {side} and {memory / 1e9:.1f} GB/s, both measured "
        f"now with {threads} thread{'s' if threads > 1 else ''}: memory limits below {products / memory:.1f} "
        "operations a byte"
    )


def _by_setting(found: Sequence[tuple[Flags, str]]) -> str:
    """Texts, each below its variants. A text that is the same for all variants stands alone."""
    from optgen.emit.settings import by_setting

    texts = list(dict.fromkeys(text for _, text in found))
    if len(texts) == 1:
        return texts[0]
    lines = []
    for text in texts:
        settings = by_setting((flags, other == text) for flags, other in found)
        where = " or ".join(setting_text(setting) for setting, is_here in settings if is_here)
        lines += [where, indent(text, MARGIN)]
    return "\n".join(lines)


def _costs(optimizer: Optimizer) -> str:
    from optgen import num_threads
    from optgen.bandwidth import bandwidth

    speed = bandwidth()
    rows: list[tuple[str, ...]] = [COLUMNS]
    for label, c in tables.costs(optimizer):
        seconds = c.bytes * PARAMETERS / speed
        streams = f"{c.reads} read, {c.writes} written"
        rows.append((label, streams, f"{c.bytes:g}", str(c.flops), str(c.sweeps), f"{seconds * 1e3:.0f} ms"))
    threads = num_threads()
    note = f"at {speed / 1e9:.1f} GB/s, measured now with {threads} thread{'s' if threads > 1 else ''}"
    counted = "flops: additions, products, quotients and roots, without those of exp and the like"
    return f"{terminal.lines(rows, _room())}\n{counted}\n{note}"
