"""Warnings about a checked spec: what is legal, but probably not meant."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from optgen.bounds import bounds_of
from optgen.diagnostics import Diagnostic, Span
from optgen.expressions import Binary, Call, Expr, Name, Number, walk
from optgen.functions.interval import ALL
from optgen.functions.table import FUNCTIONS, is_draw
from optgen.lang.kinds import known, never, value_of
from optgen.lang.names import readable_names
from optgen.lang.numeric import HUGE, Fault, first_step_faults, negative_roots, takes
from optgen.lang.variants import distinct_variants
from optgen.model import DIMENSIONS, Equation, Flag, Optimizer
from optgen.truth import partial_truth

MAX_VARIANTS = 64
"""The largest number of variants that are checked numerically. Problems rarely depend on all flags."""
MAX_RANK = 8
"""The largest rank of a parameter that is tried."""
VECTOR = {"rank": 1, "cols": 1, "matrices": 1}
"""What is known of the sizes of a vector."""


def lint(optimizer: Optimizer) -> list[Diagnostic]:
    """The warnings of a checked spec, in the order of its text."""
    found = {
        d: None
        for rule in (_unread, _never_chosen, _rows, _numeric, _over_params, _rates, _powers, _draws)
        for d in rule(optimizer)
    }
    return sorted(found, key=lambda d: d.span)


def _unread(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Names that nothing reads, among them states that only their own update reads."""
    read = optimizer.reads
    help = "remove it, or use it"
    declared = (("param", optimizer.params), ("flag", optimizer.flags), ("input", optimizer.inputs))
    for what, items in declared:
        for item in items:
            if item.name not in read:
                yield Diagnostic("W501", f"nothing reads {what} '{item.name}'", item.span, help)
    live = _live(optimizer)
    for state in optimizer.states:
        if state.name not in live:
            by = "but its own update " if state.name in read else ""
            shown = "remove it, use it, or write 'for users' behind its start if people read it"
            yield Diagnostic("W501", f"nothing {by}reads state '{state.name}'", state.span, shown)
    seen = set()
    for equation in (*optimizer.update, *optimizer.evaluate):
        name = equation.target.id
        if not equation.target.primed and name not in live and name not in seen:
            seen.add(name)
            yield Diagnostic("W501", f"nothing reads '{name}'", equation.target.span, help)


def _live(optimizer: Optimizer) -> set[str]:
    """The names on which the new weights and what is for users depend, in this step or a later one."""
    lines: dict[str, list[Expr]] = defaultdict(list)
    for equation in (*optimizer.update, *optimizer.evaluate):
        lines[equation.target.id].append(equation.value)
    for state in optimizer.states:
        lines[state.name].append(state.init)
    live = {state.name for state in optimizer.states if state.for_users}
    pending = ["w", *live]
    while pending:
        for value in lines.pop(pending.pop(), ()):
            names = {name.id for name in readable_names(value)} - live
            live |= names
            pending.extend(names)
    return live


def _never_chosen(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Lines that exist in no variant."""
    chosen: set[Span] = set()
    for flags in distinct_variants(optimizer):
        programs = [optimizer.program(flags, evaluate=evaluate) for evaluate in (False, True)]
        due = [(), *((timing,) for timing in optimizer.timings)]
        for program in (*programs, *(optimizer.program(flags, due=x) for x in due)):
            chosen.update(s.span for s in program.states)
            chosen.update(e.span for e in program.equations)
    for state in optimizer.states:
        if state.span not in chosen:
            yield Diagnostic("W504", f"no variant has state '{state.name}'", state.span, "its guard never holds")
    for equation in (*optimizer.update, *optimizer.evaluate):
        if equation.span not in chosen:
            help = "its guard never holds, or the cases above it and the requirements leave nothing over"
            yield Diagnostic("W504", "this case is never chosen", equation.span, help)


def _rows(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Reductions per row in variants that vectors can have."""
    for flags in distinct_variants(optimizer):
        if not takes(optimizer, flags, VECTOR):
            continue
        programs = [optimizer.program(flags, evaluate=evaluate) for evaluate in (False, True)]
        for node in (x for program in programs for e in program.equations for x in walk(e.value)):
            if isinstance(node, Call) and node.scope == "row":
                message = "a row of a vector is one element, so of a vector this reduces nothing"
                help = "declare 'flag matrix = rank >= 2' and end this line with 'if matrix', or require rank >= 2"
                yield Diagnostic("W505", message, node.span, help)


def _numeric(optimizer: Optimizer) -> Iterator[Diagnostic]:
    for flags in islice(distinct_variants(optimizer), MAX_VARIANTS):
        program = optimizer.program(flags)
        for fault in first_step_faults(optimizer, flags):
            when = "the first step" if fault.update == 1 else f"update {fault.update}"
            case = f" if {fault.case}" if fault.case else ""
            yield Diagnostic("W502", f"this is {fault.what} at {when}{case}", fault.span, _help(fault))
        for span in negative_roots(program, optimizer):
            help = "keep it from below, as in sqrt(max(x, 0) + epsilon)"
            yield Diagnostic("W503", "rounding can make this negative, and its root NaN", span, help)


def _help(fault: Fault) -> str:
    if fault.what.startswith("solve("):
        return "a step with a singular matrix is an error; add a small multiple of identity(n) to it"
    called = FUNCTIONS.get(fault.what.partition("(")[0])
    low, high = called.elementwise.domain if called is not None and called.elementwise is not None else ALL
    if math.isfinite(low) and math.isfinite(high):
        return f"keep its argument within its domain, as in clip(x, {low:.15g}, {high:.15g})"
    if fault.case in HUGE:
        return f"keep its argument above {low:g}" if math.isfinite(low) else "bound what grows, as in min(x, 80)"
    to = " to the divisor" if "/" in fault.what else ""
    return f"add a small constant{to}, or choose another value: where(x == 0, 0, ...)"


def _over_params(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Flags that can differ between parameters, where a value of theirs leaves out what parameters share."""
    if not optimizer.joins_params:
        return
    read = optimizer.reads
    flags = [f for f in optimizer.flags if f.name in read and (f.per_param or _differs_by_shape(optimizer, f))]
    names = {f.name for f in flags}
    sums: dict[str, dict[tuple[object, ...], set[tuple[str, ...]]]] = {f.name: {} for f in flags}
    for variant in optimizer.variants() if flags else ():
        values = [e.value for e in optimizer.program(variant).equations]
        found = tuple(e.function for x in values for e in walk(x) if isinstance(e, Call) and e.scope == "params")
        others = tuple(value for name, value in variant.items() if name not in names)
        for f in flags:
            sums[f.name].setdefault((variant[f.name], *others), set()).add(found)
    for f in flags:
        by_others: dict[tuple[object, ...], list[set[tuple[str, ...]]]] = {}
        for key, found_here in sums[f.name].items():
            by_others.setdefault(key[1:], []).append(found_here)
        if any(x != each[0] for each in by_others.values() for x in each):
            message = f"'{f.name}' can differ between parameters, and chooses what is reduced over all of them"
            help = "reduce 'over params' in a line without a guard; a parameter that adds nothing adds 0"
            yield Diagnostic("W506", message, f.span, help)


def _differs_by_shape(optimizer: Optimizer, flag: Flag) -> bool:
    """Whether two parameters of different shapes can have different values of a flag."""
    if flag.condition is None or not any(_reads(flag.condition, name) for name in DIMENSIONS):
        return False
    if any(_reads(flag.condition, name) for name in DIMENSIONS[1:]):
        return True
    required = [q.condition for q in optimizer.requires]
    ranks = [r for r in range(MAX_RANK + 1) if all(partial_truth(x, {}, {"rank": r}) is not False for x in required)]
    return len({partial_truth(flag.condition, {}, {"rank": rank}) for rank in ranks}) > 1


def _rates(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Flags that follow from the learning rate, which schedules change."""
    for flag in optimizer.flags:
        if flag.condition is not None and _reads(flag.condition, "lr"):
            message = f"a step that changes '{flag.name}' is an error, and lr changes from step to step"
            help = "compare lr in an equation: where(lr < 0.1, a, b)"
            yield Diagnostic("W507", message, flag.condition.span, help)


def _powers(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Elements of square matrices raised to a power that is no square, cube or the like."""
    for flags in distinct_variants(optimizer):
        program = optimizer.program(flags)
        powers = [x for e in program.equations for x in walk(e.value) if isinstance(x, Binary) and x.op == "^"]
        powers = [x for x in powers if not (isinstance(x.right, Number) and x.right.value.is_integer())]
        names = known(program, optimizer) if powers else {}
        for power in powers:
            value = value_of(power.left, names, never)
            if value is None or len(value.axes) != 2 or value.axes[0] != value.axes[1]:
                continue
            exponent = bounds_of(power.right, defaultdict(lambda: ALL))
            root = f"{-1 / exponent.low:g}" if exponent.low == exponent.high < 0 else "p"
            matrix = power.left.key if isinstance(power.left, Name) else "A"
            means = "" if root != "p" else f", which is {matrix}^(-1/p)"
            help = f"for the matrix write inverse_root({matrix}, {root}){means}; for its elements pow({matrix}, x)"
            yield Diagnostic("W508", "each element of this square matrix is raised to a power", power.span, help)


def _draws(optimizer: Optimizer) -> Iterator[Diagnostic]:
    """Draws of one name in several phases, which are not the same numbers."""
    first: dict[tuple[str, Expr], Equation] = {}
    for equation in optimizer.update:
        name = equation.target.id
        if not is_draw(equation.value) or equation.target.primed:
            continue
        other = first.setdefault((name, equation.value), equation)
        if other.span != equation.span:
            message = f"'{name}' has other numbers here than in phase '{other.phase}'"
            help = "to have the same ones, leave this line out: later phases read draws of those above"
            yield Diagnostic("W509", message, equation.span, help)


def _reads(expr: Expr, name: str) -> bool:
    return any(isinstance(e, Name) and e.id == name for e in walk(expr))
