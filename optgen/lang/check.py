"""Checks the parsed lines of a spec and makes the model of them: the front end on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from optgen.axes import When
from optgen.diagnostics import Source, Span, SpecErrors
from optgen.expressions import Call, is_over_workers, walk
from optgen.functions.matrices import is_of_matrices
from optgen.functions.table import is_draw
from optgen.lang.compose import flatten
from optgen.lang.conditions import check_guard
from optgen.lang.declare import declare
from optgen.lang.definitions import place_definitions
from optgen.lang.grouped import check_evaluation
from optgen.lang.histories import check_phases, find_arrays
from optgen.lang.kept_draws import keep_draws
from optgen.lang.lint import lint
from optgen.lang.loops import check_loops, check_timing, loops_of
from optgen.lang.names import check_call, check_reads, check_target
from optgen.lang.parser import Broken, Draft, read_draft
from optgen.lang.scope import Scope
from optgen.lang.statements import About
from optgen.lang.variants import check_variants
from optgen.model import MAX_DRAWS, Equation, Optimizer


def parse(source: Source) -> Optimizer:
    """Parse and check a spec, and those that it uses. Raises SpecErrors with all errors; warnings are in the result."""
    flattened = flatten(source)
    try:
        return _parse(flattened.source)
    except SpecErrors as errors:
        raise flattened.translate(errors) from None


def _parse(source: Source) -> Optimizer:
    draft = read_draft(source)
    if draft.unread:
        raise SpecErrors(source, draft.errors)
    place_definitions(draft)
    keep_draws(draft)
    scope = declare(draft)
    _check_outline(draft, scope)
    _check_parts(draft, scope)
    _check_phases(draft, scope)
    _check_definitions(draft, scope)
    update = _check_section(draft.update, scope, evaluate=False)
    evaluate = _check_section(draft.evaluate, scope, evaluate=True)
    _check_draws(update, scope)
    optimizer = _assemble(draft, scope, update, evaluate)
    _check_rate(optimizer, draft, scope)
    _check_stages(optimizer, scope)
    _check_workers(optimizer, scope)
    if draft.sections:
        check_variants(optimizer, scope, draft.sections[0].span, draft.phases)
    if scope.errors:
        raise SpecErrors(source, scope.errors)
    return replace(optimizer, warnings=tuple(lint(optimizer)))


def _check_outline(draft: Draft, scope: Scope) -> None:
    """One `optimizer` line, at most one of each of those that say more of it, and an `update:`."""
    top = Span(1, 1, 2)
    once: dict[str, Sequence[About]] = {"optimizer": draft.headers, "version": draft.versions, "cite": draft.cites}
    once |= {"axes": draft.axes, "lr_hint": draft.rates, "schedule": draft.schedules}
    for what, lines in once.items():
        for line in lines[1:]:
            scope.report("E202", f"a second '{what}' line", line.span, "a file holds one optimizer; remove this line")
    if not draft.headers:
        scope.report("E110", "no 'optimizer' line", top, 'begin the file with: optimizer NAME "title"')
    if not draft.sections:
        help = "write the equations under a line 'update:'"
        scope.report("E110", "no 'update:'", draft.headers[0].span if draft.headers else top, help)
    for section in draft.sections:
        if section.name == "eval" and not draft.evaluate:
            scope.report("E210", "'eval:' is empty", section.span, "write w' = ..., the weights to evaluate with")


def _check_parts(draft: Draft, scope: Scope) -> None:
    """A flag that chooses between the updates of parameters."""
    for flag in (header.parts[0] for header in draft.headers if header.parts):
        if flag.text not in scope.flags and flag.text not in scope.failed:
            help = f"declare what it is for: flag {flag.text} = rank == 2"
            scope.report("E206", f"there is no flag '{flag.text}'", flag.span, help, "optimizer")


def _check_phases(draft: Draft, scope: Scope) -> None:
    """Several phases, or none."""
    if len(draft.phases) == 1 and not draft.broken:
        name, span = next(iter(draft.phases.items()))
        help = "write 'update:' in its place; phases are for steps with several gradients"
        scope.report("E110", f"'{name}' is the only phase", span, help, "phase")


def _check_definitions(draft: Draft, scope: Scope) -> None:
    """The functions that definitions call: also those of a definition that nothing uses."""
    own = {x.name for x in draft.definitions}
    for definition in draft.definitions:
        for node in walk(definition.body):
            if isinstance(node, Call) and node.function not in own:
                check_call(node, scope)


def _check_section(lines: list[Equation | Broken], scope: Scope, *, evaluate: bool) -> tuple[Equation, ...]:
    """The equations of a section whose target and guard are sound. Names and case groups are checked too."""
    equations = [x for x in lines if isinstance(x, Equation)]
    own = {x.target.id: x.target.span for x in equations if not x.target.primed}
    own |= {loop.index: loop.span for loop in loops_of(equations) if loop.index is not None}
    for name, span in own.items():
        if scope.what(name) is None:
            scope.locals.setdefault(name, span)
    primed = {x.target.id for x in equations if x.loop is not None and x.target.primed}
    scope.carried |= {name for name in primed if scope.what(name) is None}
    scope.failed.update(x.key for x in lines if isinstance(x, Broken))
    find_arrays(equations, scope)
    check_loops(equations, scope)
    kept: list[Equation] = []
    for _, group in groupby(lines, key=lambda x: x.key if isinstance(x, Broken) else (x.target.key, x.phase, x.loop)):
        cases = [x for x in group if isinstance(x, Equation)]
        _check_cases(cases, scope)
        _check_timings(cases, scope, evaluate=evaluate)
        for line in cases:
            equation = check_target(line, scope, evaluate=evaluate)
            check_reads(line, scope, evaluate=evaluate, locals=own)
            if equation is None or (line.guard is not None and not check_guard(line.guard, scope)):
                scope.failed.update((line.target.key, (equation or line).target.key))
            else:
                kept.append(_held(equation) if _are_held(cases, scope) else equation)
    return tuple(e for e in kept if e.target.key not in scope.failed)


def _check_cases(cases: list[Equation], scope: Scope) -> None:
    """The cases of one name: guarded lines, then at most one `otherwise`; or a single line without a guard."""
    closed: Equation | None = None
    for case in cases:
        if case.target.key in scope.failed:
            return
        if case.is_otherwise and case is cases[0]:
            help = "it follows cases of the same name, directly below them"
            scope.report("E406", f"'otherwise' without a case of {case.target.key} above it", case.target.span, help)
            scope.failed.add(case.target.key)
        elif closed is not None:
            help = f"the one on line {closed.span.line} takes all other cases"
            if not closed.is_otherwise:
                other = "add guards" if case.target.primed else "choose another name"
                help = f"the one on line {closed.span.line} is without a guard; a name is defined once: {other}"
            scope.report("E202", f"a second definition of {case.target.key}", case.target.span, help)
        elif case is not cases[0] and not case.is_otherwise and case.guard is None and case.timing is None:
            help = "end the line with 'otherwise' if it is for all other cases"
            scope.report("E202", f"a second definition of {case.target.key}", case.target.span, help)
        if case.guard is None and case.timing is None:
            closed = case


def _are_held(cases: list[Equation], scope: Scope) -> bool:
    """Whether a name is drawn in some updates, and has the same numbers until the next one."""
    draws = all(is_draw(case.value) for case in cases)
    whole = sum(case.guard is None for case in cases) <= 1
    return draws and whole and all(case.timing is not None and not case.target.primed for case in cases)


def _held(equation: Equation) -> Equation:
    """The equation of a held draw. Its call gets two arguments: the number of updates from one draw to the next, and
    the first update that draws."""
    timing, draw = equation.timing, equation.value
    assert timing is not None and isinstance(draw, Call)
    return replace(equation, value=replace(draw, args=(timing.every, timing.start or timing.every)), timing=None)


def _check_timings(cases: list[Equation], scope: Scope, *, evaluate: bool) -> None:
    """Check cases with timings. In an update in which no case is due, a state keeps its value. The weight and local
    values must have a case in every update."""
    timed = [case.timing for case in cases if case.timing is not None]
    for timing in timed:
        check_timing(timing, scope)
    if not timed:
        return
    name = cases[0].target.id
    if evaluate:
        scope.report("E413", "a timing in 'eval:'", timed[0].span, "it belongs to the equations of an update", "eval")
    elif cases[0].loop is not None:
        help = "move the line out of the loop, or leave 'every' out"
        scope.report("E413", "a timing in a loop", timed[0].span, help)
    elif name in scope.states and scope.states[name].entries and cases[-1].timing is not None:
        help = f"a history has an entry of every update; add a line below: {name}' = ... otherwise"
        scope.report("E413", f"history '{name}' has no entry of the other updates", timed[0].span, help)
    elif name not in scope.states and cases[-1].timing is not None and not _are_held(cases, scope):
        help = f"add a line below: {cases[0].target.key} = ... otherwise"
        scope.report("E413", f"{cases[0].target.key} has no value in the other updates", timed[0].span, help)


def _check_draws(update: tuple[Equation, ...], scope: Scope) -> None:
    """Limit the draws of all variants together to the number of draw ids."""
    values = [*(s.init for s in scope.states.values()), *(line.value for line in update)]
    draws = [e for value in values for e in walk(value) if is_draw(e)]
    if len(draws) > MAX_DRAWS:
        message = f"a spec of {len(draws)} draws; the limit is {MAX_DRAWS}, and this is the first one beyond it"
        scope.report("E108", message, draws[MAX_DRAWS].span, "draw once, and use the name again")


def _check_workers(optimizer: Optimizer, scope: Scope) -> None:
    """Means over workers are those of the new weight, in equations of some updates, which can be an outer step."""
    means = [e for line in (*optimizer.update, *optimizer.evaluate) for e in walk(line.value) if is_over_workers(e)]
    if not means or scope.errors:
        return
    from optgen.outer import NoOuterStepError, outer_step  # which few specs need

    try:
        outer_step(optimizer)
    except NoOuterStepError as error:
        help = "it is the mean of what w' is in the other updates: w' = fast otherwise, and mean(fast, over workers)"
        scope.report("E303", f"a mean over workers where {error}", error.span or means[0].span, help)


def _check_rate(optimizer: Optimizer, draft: Draft, scope: Scope) -> None:
    """What is said of the rate: there is one, and it may have that value."""
    interval = optimizer.all_params["lr"].interval
    for hint in draft.rates:
        if interval is not None and hint.rate not in interval:
            help = "change the rate to begin with, or the interval of lr"
            scope.report("E402", f"the rate {hint.rate:g} is outside {interval}", hint.span, help, "lr_hint")
    if "lr" not in optimizer.reads and not scope.failed:
        for line in draft.rates:
            scope.report("E402", "a rate to begin with, and no line reads lr", line.span, "remove it", "lr_hint")


def _check_stages(optimizer: Optimizer, scope: Scope) -> None:
    """What a spec cannot have beside products, loops and timings, which make a step several kernels."""
    values = [e.value for e in optimizer.update] + [s.init for s in optimizer.states]
    nodes = [e for value in values for e in walk(value)]
    for node in nodes:
        if isinstance(node, Call) and node.function == "trace" and optimizer.last_two:
            help = "there is one for each matrix, and no value has one number for each"
            scope.report("E307", "'trace' of a batch of matrices", node.span, help)
    shared = {s.name for s in optimizer.states if s.known is When.SHARED}
    for equation in optimizer.update:
        if equation.timing is not None and equation.target.primed and equation.target.id in shared:
            help = "t can differ between parameters: write where(mod(step, k) == 0, ..., ...)"
            text = f"'{equation.target.id}' is shared between parameters, and has a timing"
            scope.report("E303", text, equation.timing.span, help)
    check_phases(optimizer, scope)
    check_evaluation(optimizer.evaluate, scope)
    for node in (e for line in optimizer.evaluate for e in walk(line.value)):
        if is_of_matrices(node):
            help = "compute it in 'update:', and keep it in a state"
            scope.report("E307", "a product or function of matrices in 'eval:'", node.span, help)


def _assemble(draft: Draft, scope: Scope, update: tuple[Equation, ...], evaluate: tuple[Equation, ...]) -> Optimizer:
    header = draft.headers[0] if draft.headers else None
    rate = draft.rates[0] if draft.rates else None
    return Optimizer(
        header.name if header else "",
        header.title if header else "",
        draft.cites[0].text if draft.cites else "",
        tuple(scope.params.values()),
        tuple(scope.flags.values()),
        tuple(s for s in scope.states.values() if s.name not in scope.failed),
        tuple(scope.inputs.values()),
        tuple(draft.requires),
        update,
        evaluate,
        draft.source,
        version=draft.versions[0].number if draft.versions else 1,
        aliases=header.aliases if header else (),
        parts=tuple(t.text for t in header.parts) if header else (),
        last_two=scope.last_two,
        phases=tuple(draft.phases),
        lr_hint=rate.rate if rate else None,
        lr_hint_source=rate.source if rate else "",
        has_own_schedule=bool(draft.schedules),
        schedule_source=draft.schedules[0].source if draft.schedules else "",
        dims=tuple(scope.dims.values()),
    )
