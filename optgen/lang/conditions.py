"""Checks guards and the conditions of flags and requirements, all of which are decided before any step."""

from __future__ import annotations

from collections.abc import Iterable

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Text, Unary, walk
from optgen.functions.table import FUNCTIONS
from optgen.lang.builtins import SPARSE
from optgen.lang.names import check_call
from optgen.lang.scope import Scope
from optgen.model import DIMENSIONS, RESERVED_PARAMS, Flag


def check_condition(
    condition: Expr, scope: Scope, flags: Iterable[Flag], what: str, reserved: Iterable[Flag] = ()
) -> bool:
    """Check a condition of a flag or requirement. It is true or false, by params, flags, choices, `p set` and the
    sizes of the parameter; `reserved` are the reserved flags that it may read."""
    visible = {f.name: f for f in (*flags, *reserved)}
    before = len(scope.reported)
    for node in walk(condition):
        if isinstance(node, Call):
            check_call(node, scope)
        if (isinstance(node, Call) and node.function in FUNCTIONS) or (
            isinstance(node, Binary) and node.op in _NOT_IN_CONDITIONS
        ):
            shown = f"{node.function}()" if isinstance(node, Call) else _NOT_IN_CONDITIONS[node.op]
            help = "a condition compares numbers, params and sizes, joined by + - * and /"
            scope.report("E409", f"{what} cannot compute {shown}", node.span, help)
        if not isinstance(node, Name) or node.id in scope.failed or _unquoted(node, condition, scope):
            continue
        own = {p.name for p in scope.params.values() if p.given or p.per_param}
        known = node.id in {*scope.params, *RESERVED_PARAMS, *visible, *DIMENSIONS} - own
        if known and not node.primed:
            continue
        if node.id in scope.flags:
            scope.report("E204", f"flag '{node.id}' is declared further down", node.span, "move its line up")
        elif scope.what(node.id) is None and not known:
            scope.unknown(node, [*scope.params, *visible, *DIMENSIONS, "true", "false"])
        else:
            help = "it may read params, flags, rank, rows, cols and 'p set': what is known before any step"
            if node.id in scope.params and scope.params[node.id].per_param:
                help = "each parameter has its own, and the code is one; declare a flag 'per param', or write where()"
            scope.report("E409", f"{what} cannot depend on '{node.key}'", node.span, help)
    if len(scope.reported) == before:
        _check_truth(condition, scope, visible, what)
    return len(scope.reported) == before


_NOT_IN_CONDITIONS = {"^": "a power", "@": "a product of matrices"}


def _check_truth(condition: Expr, scope: Scope, flags: dict[str, Flag], what: str) -> None:
    """Check that `and`, `or` and `not` join conditions, and that comparisons have numbers, or a flag and its choice."""
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
            if param is not None and not param.optional and name.id not in scope.failed:
                help = f"only a param declared with '= none' may be unset; {name.id} always has a value"
                scope.report("E411", f"'{name.id}' is always set", name.span, help, "unset-params")
        case Name(id=name) if name in flags or name in scope.failed:
            if name in flags and flags[name].choices:
                _choice_needed(condition.span, flags[name], scope)
        case _:
            help = "compare it, as in momentum > 0"
            scope.report("E305", f"{what} is true or false, but this is a number", condition.span, help)


def _check_number(expr: Expr, scope: Scope) -> None:
    for node in walk(expr):
        if isinstance(node, Text):
            scope.report(
                "E408", f"'{node.value}' stands on the left or is no choice here", node.span, "write flag == 'choice'"
            )
        elif isinstance(node, IsSet) or (isinstance(node, Binary) and node.op in _CONDITIONS):
            scope.report("E305", "this is a condition, but a number is needed", node.span, "use 'and', 'or', 'not'")
        elif isinstance(node, Name) and node.id in scope.flags:
            scope.report(
                "E305", f"flag '{node.id}' is no number", node.span, "write the flag alone, or 'not' before it"
            )


_CONDITIONS = ("<", "<=", ">", ">=", "==", "!=", "and", "or")


def check_guard(guard: Expr, scope: Scope) -> bool:
    """Whether a guard is made of flags, choices, `and`, `or` and `not` only. Reports at most one error for it."""
    before = len(scope.reported)
    names = [n for n in walk(guard) if isinstance(n, Name)]
    if any(n.id in scope.failed for n in names):
        return False
    for node in names:
        if _unquoted(node, guard, scope):
            return False
        if node.id in scope.flags or (node.id == SPARSE and not node.primed):
            continue
        if scope.what(node.id) is None and node.id not in scope.locals:
            scope.unknown(node, [*scope.flags, SPARSE], f"declare 'flag {node.id} = false'")
            return False
        is_param = node.id in scope.params or node.id in RESERVED_PARAMS
        if any(isinstance(n, IsSet) and n.name == node for n in walk(guard)):
            help = f"declare 'flag has_{node.id} = {node.id} set', and write 'if has_{node.id}'"
        elif is_param:
            help = "declare a flag that tests the param, as in 'flag heavy = momentum > 0', and write 'if heavy'"
        elif node.key in DIMENSIONS:
            help = f"declare a flag that tests it, as in 'flag large = {node.key} >= 2', and write 'if large'"
            help = help.replace("large", "matrix") if node.key == "rank" else help
        else:
            help = "a guard chooses code before the step; to choose a value, write where(condition, a, b)"
        what = "a param" if is_param else "no flag" if node.key in DIMENSIONS else "known during the step only"
        scope.report("E405", f"a guard may use flags only, and '{node.key}' is {what}", guard.span, help)
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
    """Check `flag == 'choice'`: a flag with choices, and one of them."""
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


def _unquoted(name: Name, condition: Expr, scope: Scope) -> bool:
    """Report a name that is compared with a flag that has choices: it lacks quotes. Returns whether there is one."""
    for node in walk(condition):
        match node:
            case Binary(op="==" | "!=", left=Name(id=id), right=Name() as right) if right is name:
                flag = scope.flags.get(id)
                if flag is None or not flag.choices:
                    return False
                known = f"the choices are {_quoted(flag.choices)}"
                help = f"write '{name.id}' in single quotes" if name.id in flag.choices else known
                scope.report("E408", f"a choice of '{id}' stands in single quotes", name.span, help)
                return True
    return False


def _choice_needed(span: Span, flag: Flag, scope: Scope) -> None:
    help = f"write {flag.name} == '{flag.choices[0]}'"
    scope.report("E408", f"flag '{flag.name}' is a choice, not true or false", span, help)


def _quoted(choices: Iterable[str]) -> str:
    return ", ".join(f"'{c}'" for c in choices)
