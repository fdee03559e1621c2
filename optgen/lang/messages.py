"""The texts of syntax errors, for tokens that the grammar does not allow."""

from __future__ import annotations

from optgen.diagnostics import suggest
from optgen.functions.table import FUNCTIONS
from optgen.lang.expression_actions import LineError
from optgen.lang.syntax import CLAUSES, HEADS, KEYWORDS, TIMINGS, Line, Token

_FORMS = {
    "optimizer": 'optimizer NAME "title"',
    "version": "version 2",
    "cite": 'cite "authors, year, where"',
    "axes": "axes last two",
    "lr_hint": 'lr_hint 0.001 "where this rate comes from"',
    "schedule": 'schedule own "where it says that no decay is needed"',
    "param": 'param beta = 0.9 in [0, 1) "what it is"',
    "flag": "flag amsgrad = false, flag kind = 'a' | 'b' or flag heavy = momentum > 0",
    "state": "state m = 0 or state v: row = 0 if factored",
    "input": 'input h "what it is" or input loss: host "a number of each step"',
    "def": "def f(x, y) = x*y",
    "require": 'require not (a and b) "a excludes b"',
    "update": "'update:' on a line of its own",
    "phase": "phase NAME: on a line of its own",
    "eval": "'eval:' on a line of its own",
    "repeat": "repeat n:, the equations of a turn, and a line 'end'",
    "end": "'end' on a line of its own, behind the equations of a loop",
}
_EXPECTED = {
    "EQUAL": "'='",
    "COLON": "':'",
    "CLOSE": "')'",
    "STRING": 'a text in "quotes"',
    "NAME": "a name",
    "COMMA": "','",
    "OPEN": "'('",
    "NUMBER": "a number",
    "PARAM": "'param'",
}


def syntax_error(line: Line, token: Token, expected: set[str]) -> LineError:
    """The error for the first token of a line that the grammar does not allow. `expected` are the terminals it
    allows."""
    if token.type == "$END":
        return _ends_early(line, expected)
    index = next(i for i, t in enumerate(line.tokens) if t is token)
    if index == 0 or (index == 1 and line.tokens[0].type == "NAME"):
        return _no_statement(line, index)
    previous = line.tokens[index - 1]
    value_wanted = {"NUMBER", "OPEN"} <= expected
    return _value_missing(line, token, previous) if value_wanted else _unexpected(line, token, previous, expected)


def _ends_early(line: Line, expected: set[str]) -> LineError:
    last = line.tokens[-1]
    if {"NUMBER", "OPEN"} <= expected and line.tokens[0].type == "NAME":
        help = f"put a value behind '{last.text}', or brackets around what goes on below"
        return LineError("E105", "the line ends where a value is needed", last.span, help, "lines")
    help = _form(line) if last.type == "NAME" else _wanted(line, expected)
    return LineError("E105", f"the line ends behind {_shown(last)}", last.span, help)


def _no_statement(line: Line, index: int) -> LineError:
    """The error for a line that begins like no statement."""
    first, token = line.tokens[0], line.tokens[index]
    if first.type != "NAME":
        help = "a line is a declaration (param, flag, state ...) or an equation (name = value)"
        if first.type in ("IF", "OTHERWISE"):
            help = "a guard ends its line, as in m' = g if amsgrad; to choose a value, write where(condition, a, b)"
        if first.type in ("ADD", "MULTIPLY", "POWER", "COMPARE", "AND", "OR"):
            help = "a line goes on while a bracket is open: put ( ) around the expression"
            return LineError("E112", f"no line begins with '{first.text}'", first.span, help, "lines")
        return LineError("E112", f"no line begins with '{first.text}'", first.span, help)
    if token.type == "COLON" and len(line.tokens) == 2:
        help = suggest(first.text, ("update", "eval")) or "the sections are 'update:' and 'eval:'"
        return LineError("E112", f"unknown section '{first.text}:'", first.span, help)
    near = suggest(first.text, HEADS)
    if token.type in ("NAME", "STRING", "COLON") or near is not None:
        help = near or f"declarations begin with {', '.join(HEADS[:-3])}"
        if first.text in ("for", "while"):
            help = "a loop is 'repeat n:' or 'repeat n as i:', and ends with 'end'"
        return LineError("E112", f"unknown declaration '{first.text}'", first.span, help)
    if token.type == "COMPARE":
        return LineError("E105", f"'{token.text}' does not define '{first.text}'", token.span, "write '='", "update")
    help = f"an equation is {first.text} = value"
    return LineError("E105", f"'{token.text}' behind '{first.text}'", token.span, help, "update")


def _value_missing(line: Line, token: Token, previous: Token) -> LineError:
    """The error for a token where an expression should begin."""
    if token.type == "STRING" and line.tokens[0].type == "FLAG":
        help = f"choices stand in single quotes: '{token.text[1:-1]}'"
        return LineError("E105", f"the choice {token.text} in double quotes", token.span, help)
    if token.type == "BOOL" and line.tokens[0].type == "STATE":
        help = f"a state is a number: state {line.tokens[1].text} = 0"
        return LineError("E105", f"{_shown(token)} cannot stand behind {_shown(previous)}", token.span, help)
    if token.type == "BOOL" and _in_brackets(line, token):
        help = "true and false are values of flags; a condition is a comparison, as a > b, and a number 1 or 0"
        return LineError("E105", f"'{token.text}' cannot stand in an expression", token.span, help, "conditions")
    if token.type == "BOOL":
        help = "write the flag alone: 'if amsgrad' or 'if not amsgrad'"
        section = "guards" if line.tokens[0].type == "NAME" else None
        return LineError("E105", f"'{token.text}' cannot stand in an expression", token.span, help, section)
    if token.type == "NONE":
        help = "only a default is none; to ask for it, declare flag f = p set"
        return LineError("E105", "'none' cannot stand in an expression", token.span, help, "unset-params")
    if token.type == "POWER" and previous.text == "*":
        return LineError("E106", "'*^' is not an operator", token.span, "write '^'")
    if token.text in KEYWORDS and token.type not in ("IF", "OTHERWISE", "SET", "AND", "OR", "IN"):
        return _keyword(token)
    help = f"write a number, a name or a bracket between '{previous.text}' and {_shown(token)}"
    if token.type == "BAR":
        help = "write abs(x), or norm(x)"
    return LineError("E105", f"a value is missing before {_shown(token)}", token.span, help)


def _unexpected(line: Line, token: Token, previous: Token, expected: set[str]) -> LineError:
    """The error for a token behind a complete expression, or in a declaration."""
    found = _shown(token)
    in_expression = "OR" in expected
    if token.type == "COMPARE" and in_expression:
        return LineError("E109", "comparisons do not chain", token.span, "write a < b and b < c")
    if token.type == "COMPARE" and "EQUAL" in expected:
        return LineError("E105", f"{found} does not define '{previous.text}'", token.span, "write '='")
    if token.type == "EQUAL" and previous.text in ("axis", "dim", "keepdim", "keepdims"):
        help = "mean(x) is of all elements, mean(x, per row) of each row, mean(x, per col) of each column"
        return LineError("E303", f"'{previous.text}' is no scope", previous.span, help)
    if token.type in ("PER", "OVER") and in_expression:
        help = "a reduction's scope stands behind a comma, as in mean(x, per row)"
        return LineError("E303", f"{found} cannot stand behind '{previous.text}'", token.span, help)
    if token.type == "EQUAL" and in_expression and (function := _called(line, token)) not in (None, "where"):
        usage = f": {FUNCTIONS[function].usage}" if function in FUNCTIONS else ", but an order"
        return LineError("E105", f"'{previous.text} =' among the arguments of '{function}'",
                         previous.span.to(token.span), f"arguments have no names{usage}", "functions")  # fmt: skip
    if token.type == "EQUAL" and in_expression:
        help = "write '=='" if "CLOSE" in expected else "a line defines one name; '==' compares"
        return LineError("E105", "'=' defines, it does not compare", token.span, help, "conditions")
    if token.type in CLAUSES and "CLOSE" in expected:
        help, section = "a timing stands behind the value", "every"
        if token.type not in TIMINGS:
            help = "a guard ends the line and chooses code; to choose a value, write where(condition, a, b)"
            section = "guards"
        return LineError("E105", f"{found} inside brackets", token.span, help, section)
    if token.type in ("NAME", "NUMBER", "OPEN") and in_expression and previous.type in ("NAME", "NUMBER", "CLOSE"):
        return _no_operator(line, token, previous)
    behind = f"{found} cannot stand behind {_shown(previous)}"
    if token.type == "CHOICE" and "STRING" in expected:
        return LineError("E105", behind, token.span, f'a text stands in double quotes: "{token.text[1:-1]}"')
    if token.type == "BOOL" and line.tokens[0].type == "PARAM":
        name = line.tokens[1].text
        help = f"a param is a number; what is true or false is a flag: flag {name} = {token.text}"
        return LineError("E105", behind, token.span, help)
    if token.type == "PER" and line.tokens[0].type in ("FLAG", "PARAM"):
        form = {"FLAG": "flag frozen per param = false", "PARAM": "param eta per param = 1"}[line.tokens[0].type]
        return LineError("E105", behind, token.span, f"write {form}")
    if line.tokens[0].type == "PARAM" and token.type in ("ADD", "MULTIPLY", "POWER", "COMMA"):
        help = "a default is one number, and a line has one param"
        return LineError("E105", behind, token.span, help)
    if token.text in KEYWORDS and "NAME" in expected and not in_expression:
        return _keyword(token)
    help = _form(line) if previous.type == "COLON" else _wanted(line, expected)
    if line.tokens[0].type == "STATE" and token.type in ("OPEN", "ADD", "MULTIPLY", "POWER"):
        before = [t.type for t in line.tokens if t.span < token.span]
        if "COLON" in before and "EQUAL" not in before:
            help = "a dimension is rows, cols or an int param: state P: cols x r = 0"
    return LineError("E105", behind, token.span, help)


def _called(line: Line, token: Token) -> str | None:
    """The function among whose arguments `NAME` and this token begin one; None if they do not."""
    index = next(i for i, t in enumerate(line.tokens) if t is token)
    if index < 3 or line.tokens[index - 2].type not in ("OPEN", "COMMA"):
        return None
    depth = 0
    for i in range(index - 2, 0, -1):
        depth += {"OPEN": 1, "CLOSE": -1}.get(line.tokens[i].type, 0)
        if depth == 1:
            return line.tokens[i - 1].text if line.tokens[i - 1].type == "NAME" else None
    return None


def _in_brackets(line: Line, token: Token) -> bool:
    """Whether a bracket is open where a token stands."""
    before = [t.type for t in line.tokens if t.span < token.span]
    return before.count("OPEN") > before.count("CLOSE")


def _no_operator(line: Line, token: Token, previous: Token) -> LineError:
    near = suggest(token.text, ("otherwise",)) or suggest(previous.text, ("where",))
    chooses = token.text in ("else", "unless", "when")
    inside = _in_brackets(line, token)
    if chooses:
        near = "where(condition, a, b) chooses a value"
        near = near if inside else f"a guard is 'if FLAG' or 'otherwise', at the end of the line; {near}"
    called = token if token.text == "where" else previous
    if called.text in FUNCTIONS:
        near = f"write {FUNCTIONS[called.text].usage}"
    if previous.text == "use":
        near = "a use stands alone on the right: x = use adam(); then compute with x"
    help = near or f"write an operator between '{previous.text}' and '{token.text}'"
    if line.tokens[0].type != "NAME":
        help = _form(line)
    section = ("conditions" if inside else "guards") if chooses and line.tokens[0].type == "NAME" else None
    behind = f"{_shown(token)} cannot stand behind {_shown(previous)}"
    return LineError("E105", behind, token.span, help, section)


def _shown(token: Token) -> str:
    """A token in quotes: its own, if it has some."""
    return token.text if token.type in ("CHOICE", "STRING") else f"'{token.text}'"


def _keyword(token: Token) -> LineError:
    return LineError("E201", f"'{token.text}' is a word of the language, not a name", token.span, "choose another name")


def _wanted(line: Line, expected: set[str]) -> str:
    """What is expected, if that is one token, or the expression of a bracket goes on; else the form of the whole
    line."""
    if len(expected) == 1 and (only := next(iter(expected))) in _EXPECTED:
        return f"{_EXPECTED[only]} is needed here"
    if {"OR", "CLOSE"} <= expected:
        return f"write an operator{', a comma' * ('COMMA' in expected)} or a closing bracket here"
    return _form(line)


def _form(line: Line) -> str:
    form = _FORMS.get(line.tokens[0].text)
    if form is None and any(t.type in TIMINGS for t in line.tokens):
        form = "'every k' or 'every k from s', with whole numbers or int params, or 'once'"
        return f"a timing is {form}, and a guard may follow it"
    return f"write {form}" if form else "an equation is name = value, then 'if FLAG' or 'otherwise' where it has cases"
