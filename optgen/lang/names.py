"""What names mean: declarations, then every line's use of them, apart from flag variants.

A name that failed once is in `Scope.failed` and is not reported again.
"""

from __future__ import annotations

import keyword
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from optgen.diagnostics import Diagnostic, Span, suggest
from optgen.lang.builtins import (
    API_NAMES,
    COMMON_NAMES,
    FUNCTIONS,
    RESERVED,
    SPARSE,
    TENSORS,
    is_reduction,
)
from optgen.lang.parser import Draft
from optgen.model import (
    RESERVED_PARAMS,
    Binary,
    Call,
    Equation,
    Expr,
    Flag,
    Input,
    IsSet,
    Kind,
    Name,
    Param,
    Require,
    State,
    Text,
    Unary,
    children,
    walk,
)


@dataclass
class Scope:
    """The names of a spec and what was reported about them. `failed` holds names and keys (`m`, `m'`)."""

    params: dict[str, Param] = field(default_factory=dict)
    flags: dict[str, Flag] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    locals: dict[str, Span] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    reported: dict[Diagnostic, None] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(self.reported)

    def report(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        """Add an error, unless the same was said of the same place."""
        self.reported.setdefault(Diagnostic(code, message, span, help))

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """`diagnostics.suggest`, while there are few errors: it is slow, and many errors have one cause."""
        return suggest(name, known) if len(self.reported) < 50 else None

    def what(self, name: str) -> str | None:
        """What a declared or reserved name is, in words; None if it is neither."""
        tables: tuple[tuple[str, Iterable[str]], ...] = (
            ("a param", self.params),
            ("a param", RESERVED_PARAMS),
            ("a flag", self.flags),
            ("a state", self.states),
            ("an input", self.inputs),
            ("an alias", self.aliases),
            ("a function", FUNCTIONS),
            ("a reserved name", RESERVED),
        )
        return next((word for word, table in tables if name in table), None)

    def unknown(self, name: Name, known: Iterable[str]) -> None:
        """Report a name that nothing declares."""
        common = COMMON_NAMES.get(name.id)
        help = f"it is called '{common}' here" if common else self.suggest(name.id, known)
        if help is None and name.id in FUNCTIONS:
            help = f"it is a function: {FUNCTIONS[name.id].usage}"
        self.report("E206", f"unknown name '{name.key}'", name.span, help or "declare it, or define it on a line above")
        self.failed.update((name.id, name.key))


# ---------------------------------------------------------------- declarations


def declare(draft: Draft) -> Scope:
    """The scope of a spec: every declaration once, under a name that is free."""
    scope = Scope(failed=set(draft.broken), reported=dict.fromkeys(draft.errors))
    for item in draft.declarations:
        if not _is_free(item, scope):
            continue
        match item:
            case Param():
                scope.params[item.name] = item
            case Flag():
                scope.flags[item.name] = item
            case State():
                scope.states[item.name] = item
            case Input():
                scope.inputs[item.name] = item
    _declare_aliases(scope)
    for flag in scope.flags.values():
        if flag.condition is not None:
            earlier = [f for f in scope.flags.values() if f.span < flag.span]
            if not check_condition(flag.condition, scope, earlier, "a flag"):
                scope.failed.add(flag.name)
    for require in draft.requires:
        check_condition(require.condition, scope, scope.flags.values(), "a requirement")
    for state in scope.states.values():
        _check_init(state, scope)
        if state.guard is not None and not check_guard(state.guard, scope):
            scope.failed.update((state.name, f"{state.name}'"))
    return scope


def _is_free(item: Param | Flag | State | Input, scope: Scope) -> bool:
    """Whether a declaration may have its name."""
    name = item.name
    declared = scope.params.get(name) or scope.flags.get(name) or scope.states.get(name) or scope.inputs.get(name)
    if declared is not None:
        help = f"the first is on line {declared.span.line}; rename or remove one"
        scope.report("E202", f"a second definition of '{name}'", item.span, help)
        if type(declared) is not type(item):
            scope.failed.add(name)
        return False
    if isinstance(item, Param) and name in RESERVED_PARAMS:
        return True
    if name in RESERVED or name in FUNCTIONS:
        scope.report("E201", f"'{name}' is {_meaning(name)}", item.span, "choose another name")
        scope.failed.add(name)
        return False
    if isinstance(item, Param | Flag) and (name in API_NAMES or keyword.iskeyword(name)):
        help = "write 'lr', which Python calls learning_rate" if name == "learning_rate" else "choose another name"
        why = "is a word of Python" if keyword.iskeyword(name) else "is an argument every optimizer has"
        scope.report("E201", f"'{name}' {why}, and cannot name another", item.span, help)
        scope.failed.add(name)
        return False
    return True


def _meaning(name: str) -> str:
    return "a function" if name in FUNCTIONS else f"reserved for {RESERVED[name]}"


def _declare_aliases(scope: Scope) -> None:
    for param in scope.params.values():
        for alias in param.aliases:
            what = scope.what(alias)
            if what is not None or keyword.iskeyword(alias) or alias in API_NAMES:
                help = "an alias is a further name, used by nothing else"
                scope.report("E202", f"the alias '{alias}' is already {what or 'taken'}", param.span, help)
            else:
                scope.aliases[alias] = param.name


def _check_init(state: State, scope: Scope) -> None:
    """A state starts at a number, at a param, or at w."""
    init = state.init
    if not isinstance(init, Name) or init.id in scope.failed:
        return
    param = scope.params.get(init.id) or RESERVED_PARAMS.get(init.id)
    if init.primed:
        scope.report("E211", "a state starts before any step", init.span, f"write {init.id}")
    elif init.id == "w":
        if state.kind is not Kind.ELEM:
            message = f"state '{state.name}' has one value per {_per(state.kind)}, but w has one per element"
            scope.report("E301", message, init.span, "start it at a number or a param")
    elif param is not None:
        if param.optional:
            scope.report("E410", f"'{init.id}' may be unset", init.span, "start the state at a number")
    elif scope.what(init.id) is None:
        scope.unknown(init, [*scope.params, "w"])
    else:
        help = "a state starts at a number, at a param or at w"
        scope.report("E402", f"a state cannot start at {scope.what(init.id)}", init.span, help)


def _per(kind: Kind) -> str:
    return {Kind.ROW: "row", Kind.COL: "column", Kind.SHARED: "step"}.get(kind, "parameter")


# ---------------------------------------------------------------- conditions and guards


def check_condition(condition: Expr, scope: Scope, flags: Iterable[Flag], what: str) -> bool:
    """A flag's condition or a requirement: over params, flags, choices, `p set` and `rank`, and either true or false."""
    visible = {f.name: f for f in flags}
    before = len(scope.reported)
    for node in walk(condition):
        if isinstance(node, Call):
            check_call(node, scope)
        if not isinstance(node, Name) or node.id in scope.failed:
            continue
        known = node.id in scope.params or node.id in RESERVED_PARAMS or node.id in visible or node.id == "rank"
        if known and not node.primed:
            continue
        if node.id in scope.flags:
            scope.report("E204", f"flag '{node.id}' is declared further down", node.span, "move its line up")
        elif scope.what(node.id) is None and not known:
            scope.unknown(node, [*scope.params, *visible, "rank", "true", "false"])
        else:
            help = "it may read params, flags, rank and 'p set': what is known when the optimizer is made"
            scope.report("E409", f"{what} cannot depend on '{node.key}'", node.span, help)
    if len(scope.reported) == before:
        _check_truth(condition, scope, visible, what)
    return len(scope.reported) == before


def _check_truth(condition: Expr, scope: Scope, flags: dict[str, Flag], what: str) -> None:
    """That `and or not` join conditions, that comparisons compare numbers, or a choice flag with one of its choices."""
    match condition:
        case Unary(op="not", operand=x):
            _check_truth(x, scope, flags, what)
        case Binary(op="and" | "or", left=a, right=b):
            _check_truth(a, scope, flags, what)
            _check_truth(b, scope, flags, what)
        case Binary(op="==" | "!=", right=Text()):
            _check_choice(condition, scope)
        case Binary(op="==" | "!=" | "<" | "<=" | ">" | ">=", left=a, right=b):
            _check_number(a, scope)
            _check_number(b, scope)
        case IsSet(name=name):
            param = scope.params.get(name.id) or RESERVED_PARAMS.get(name.id)
            if param is not None and not param.optional:
                help = f"only a param declared with '= none' may be unset; {name.id} always has a value"
                scope.report("E411", f"'{name.id}' is always set", name.span, help)
        case Name(id=name) if name in flags or name in scope.failed:
            if name in flags and flags[name].choices:
                _choice_needed(condition.span, flags[name], scope)
        case _:
            help = "compare it, as in momentum > 0"
            scope.report("E305", f"{what} is true or false, but this is a number", condition.span, help)


def _check_number(expr: Expr, scope: Scope) -> None:
    for node in walk(expr):
        if isinstance(node, Text):
            scope.report("E408", f"'{node.value}' stands on the left or is no choice here", node.span, "write flag == 'choice'")
        elif isinstance(node, IsSet) or (isinstance(node, Binary) and node.op in _CONDITIONS):
            scope.report("E305", "this is a condition, but a number is needed", node.span, "use 'and', 'or', 'not'")
        elif isinstance(node, Name) and node.id in scope.flags:
            scope.report("E305", f"flag '{node.id}' is no number", node.span, "write the flag alone, or 'not' before it")


_CONDITIONS = ("<", "<=", ">", ">=", "==", "!=", "and", "or")


def check_guard(guard: Expr, scope: Scope) -> bool:
    """Whether a guard is one: flags, `and or not`, and choices. Reports what it is not, once for the guard."""
    before = len(scope.reported)
    names = [n for n in walk(guard) if isinstance(n, Name)]
    if any(n.id in scope.failed for n in names):
        return False
    for node in names:
        if node.id in scope.flags or (node.id == SPARSE and not node.primed):
            continue
        if scope.what(node.id) is None and node.id not in scope.locals:
            scope.unknown(node, [*scope.flags, SPARSE])
            return False
        is_param = node.id in scope.params or node.id in RESERVED_PARAMS
        if any(isinstance(n, IsSet) and n.name == node for n in walk(guard)):
            help = f"declare 'flag has_{node.id} = {node.id} set', and write 'if has_{node.id}'"
        elif is_param:
            help = "declare a flag that tests the param, as in 'flag heavy = momentum > 0', and write 'if heavy'"
        else:
            help = "a guard chooses code before the step; to choose a value, write where(condition, a, b)"
        message = f"a guard may use flags only, and '{node.key}' is {'a param' if is_param else 'known during the step only'}"
        scope.report("E405", message, guard.span, help)
        return False
    _check_guard_form(guard, scope)
    return len(scope.reported) == before


def _check_guard_form(guard: Expr, scope: Scope) -> None:
    match guard:
        case Name(id=name):
            if name in scope.flags and scope.flags[name].choices:
                _choice_needed(guard.span, scope.flags[name], scope)
        case Unary(op="not", operand=x):
            _check_guard_form(x, scope)
        case Binary(op="and" | "or", left=a, right=b):
            _check_guard_form(a, scope)
            _check_guard_form(b, scope)
        case Binary(op="==" | "!=", left=Name(), right=Text()):
            _check_choice(guard, scope)
        case _:
            help = "a guard is made of flags, and, or, not, and flag == 'choice'"
            scope.report("E405", "a guard may use flags only", guard.span, help)


def _check_choice(comparison: Binary, scope: Scope) -> None:
    """`flag == 'choice'`: a flag with choices, and one of them."""
    name, text = comparison.left, comparison.right
    assert isinstance(text, Text)
    flag = scope.flags.get(name.id) if isinstance(name, Name) else None
    if isinstance(name, Name) and name.id in scope.failed:
        return
    if flag is None or not flag.choices:
        help = "only a flag declared with choices is compared with one: flag f = 'a' | 'b'"
        scope.report("E408", "a choice compared with something that has none", comparison.span, help)
    elif text.value not in flag.choices:
        help = scope.suggest(text.value, flag.choices) or f"the choices are {_quoted(flag.choices)}"
        scope.report("E408", f"flag '{flag.name}' has no choice '{text.value}'", text.span, help)


def _choice_needed(span: Span, flag: Flag, scope: Scope) -> None:
    help = f"write {flag.name} == '{flag.choices[0]}'"
    scope.report("E408", f"flag '{flag.name}' is a choice, not true or false", span, help)


def _quoted(choices: Iterable[str]) -> str:
    return ", ".join(f"'{c}'" for c in choices)


# ---------------------------------------------------------------- expressions


def check_call(call: Call, scope: Scope) -> None:
    """That a function exists, takes so many arguments, and reduces if it has a scope."""
    function = FUNCTIONS.get(call.function)
    at = Span(call.span.line, call.span.column, call.span.column + len(call.function))
    if function is None:
        if call.function in scope.failed:
            return
        what = scope.what(call.function) or ("a value" if call.function in scope.locals else None)
        help = f"'{call.function}' is {what}: write '*' to multiply" if what else scope.suggest(call.function, FUNCTIONS)
        help = help or f"the functions are {', '.join(FUNCTIONS)}"
        scope.report("E207", f"unknown function '{call.function}'", at, help)
        scope.failed.add(call.function)
    elif len(call.args) not in function.counts:
        counts = " or ".join(map(str, function.counts))
        takes = f"{counts} argument{'' if counts == '1' else 's'}" if counts != "0" else "no arguments"
        message = f"{call.function} takes {takes}, and has {len(call.args)} here"
        scope.report("E208", message, call.span, f"write {function.usage}")
    elif call.scope is not None and not is_reduction(call):
        message = f"'{_scope_text(call.scope)}' on {call.function}, which reduces nothing"
        scope.report("E303", message, call.span, "sum, mean, norm, rms, max(x) and min(x) reduce")


def _scope_text(scope: str) -> str:
    return "over params" if scope == "params" else f"per {scope}"


def readable_names(expr: Expr) -> Iterator[Name]:
    """The names an expression reads, in order; `p set` asks, but does not read."""
    if isinstance(expr, Name):
        yield expr
    elif not isinstance(expr, IsSet):
        for child in children(expr):
            yield from readable_names(child)


def check_reads(equation: Equation, scope: Scope, *, evaluate: bool, locals: Container[str]) -> None:
    """Report the functions and names of an equation that cannot be used."""
    for node in walk(equation.value):
        if isinstance(node, Call):
            check_call(node, scope)
    for name in readable_names(equation.value):
        if name.id not in scope.failed and name.key not in scope.failed:
            _check_read(name, scope, evaluate, locals)


def _check_read(name: Name, scope: Scope, evaluate: bool, locals: Container[str]) -> None:
    what = scope.what(name.id)
    if name.id in scope.flags or name.id == SPARSE:
        help = f"a flag chooses code: write 'if {name.id}' at the end of the line"
        scope.report("E405", f"flag '{name.id}' is no value", name.span, help)
    elif name.id in scope.aliases:
        scope.report("E206", f"'{name.id}' is only an alias", name.span, f"write {scope.aliases[name.id]}")
        scope.failed.add(name.key)
    elif name.primed and name.id != "w" and name.id not in scope.states:
        if what is None and name.id not in scope.locals:
            scope.unknown(name, [*scope.states, "w"])
            return
        help = f"only states and w have one: write {name.id}"
        scope.report("E211", f"'{name.id}' is {what or 'no state'} and has no new value", name.span, help)
        scope.failed.add(name.key)
    elif evaluate and (name.primed or name.id in (*TENSORS[1:], *scope.inputs)):
        help = "'eval:' computes from w, the states, params and t, after a step and without a gradient"
        scope.report("E205", f"'{name.key}' is not known in 'eval:'", name.span, help)
        scope.failed.add(name.key)
    elif (what is None or what == "a function") and name.id not in locals:
        if name.id in scope.locals:
            scope.report("E205", f"'{name.id}' is defined in the other section", name.span, "define it in this one too")
            scope.failed.add(name.key)
        else:
            known = [*scope.params, *scope.states, *scope.inputs, *RESERVED, *scope.locals]
            scope.unknown(name, [k for k in known if k != SPARSE])


def check_target(equation: Equation, scope: Scope, *, evaluate: bool) -> Equation | None:
    """The equation if its target can be defined, corrected where only the prime is missing; None if it cannot be."""
    target = equation.target
    name = target.id
    if name in scope.failed and name not in scope.states:
        return None
    what = scope.what(name)
    if name in scope.states or name == "w":
        if evaluate and name != "w":
            scope.report("E212", "'eval:' updates no state", target.span, "it only defines w', from the states as they are")
            return None
        if target.primed:
            return equation
        help = f"write {name}' = ...: the prime marks the value after this step"
        scope.report("E203", f"{'state ' if name != 'w' else ''}'{name}' is assigned without a prime", target.span, help)
        return Equation(Name(name, True, target.span), equation.value, equation.span, equation.guard, equation.is_otherwise)
    if what is not None:
        declared = what in ("a param", "a flag", "an input", "an alias")
        message = f"'{name}' is {what if declared else _meaning(name)}, and no equation defines it"
        scope.report("E212" if declared else "E201", message, target.span, "choose another name")
        return None
    if target.primed:
        help = scope.suggest(name, scope.states) or f"declare 'state {name} = 0', or drop the prime"
        scope.report("E211", f"'{name}' is not a state", target.span, help)
        scope.failed.update((target.key, name))
        return None
    return equation
