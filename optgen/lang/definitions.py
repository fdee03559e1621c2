"""Puts constants and functions that a spec defines (`def`) in their place: later stages see neither.

A definition is a pattern, not a computation: each call becomes its expression, with arguments for parameters. So a call
means what its expression means there, element by element, and equal parts are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optgen.axes import AXES, ELEMENTS, Kind
from optgen.diagnostics import Span
from optgen.expressions import WORKERS, Call, Expr, Name, Number, children, walk, with_children
from optgen.functions.table import FUNCTIONS, is_draw
from optgen.lang.builtins import CONSTANTS, RESERVED, SPARSE
from optgen.lang.parser import MAX_DEPTH, Broken, Declaration, Draft, too_deep
from optgen.lang.statements import Definition
from optgen.model import Dim, Equation, Flag, Param, StateDecl

MAX_NODES = 10_000
"""The largest number of operations and operands that the calls of a file stand for."""


def place_definitions(draft: Draft) -> None:
    """Replace constants and calls of definitions in all expressions of a draft; errors are added to it."""
    equations = [x for x in (*draft.update, *draft.evaluate) if isinstance(x, Equation)]
    own = {x.name for x in draft.declarations} | {x.target.id for x in equations}
    constants = {name: Number(x, name, Span(0, 0, 0)) for name, x in CONSTANTS.items() if name not in own}
    place = _Placing(draft, constants)
    place.read(own)
    draft.update[:] = map(place.equation, draft.update)
    draft.evaluate[:] = map(place.equation, draft.evaluate)
    draft.declarations[:] = map(place.declaration, draft.declarations)
    draft.requires[:] = [replace(x, condition=place.expr(x.condition)) for x in draft.requires]


class _Placing:
    """Puts constants in the place of their names, and expressions in the place of calls."""

    def __init__(self, draft: Draft, constants: Mapping[str, Number]) -> None:
        self.draft = draft
        self.constants = constants
        self.definitions: dict[str, Definition] = {}
        self.dims: dict[str, Expr] = {}
        """What dimensions are, as numbers."""
        for dim in (x for x in draft.declarations if isinstance(x, Dim)):
            self.dims[dim.name] = _substitute(dim.value, self.dims)
        self.placed = 0  # nodes that stand in the place of calls

    def read(self, own: set[str]) -> None:
        """Check the definitions of the draft, in the names of which are none of `own`. Each is kept with the ones above
        it in place."""
        for definition in self.draft.definitions:
            name = definition.name
            if name in self.definitions:
                help = f"the first is on line {self.definitions[name].span.line}; rename or remove one"
                self.draft.error("E202", f"a second definition of '{name}'", definition.span, help)
            elif name in RESERVED:
                message = f"'{name}' is reserved for {RESERVED[name]}"
                self.draft.error("E201", message, definition.span, "choose another name")
            elif name in own:
                help = "a value and a function cannot have the same name"
                self.draft.error("E202", f"a second definition of '{name}'", definition.span, help)
            elif self._is_sound(definition):
                self.definitions[name] = replace(definition, body=self.expr(definition.body, definition.parameters))
            else:
                self.draft.broken.add(name)

    def _is_sound(self, definition: Definition) -> bool:
        """Whether a definition reads its parameters, params and reserved names only, draws nothing, and does not call
        itself."""
        params = {x.name for x in self.draft.declarations if isinstance(x, Param)}
        known = {*definition.parameters, *params, *RESERVED, *CONSTANTS} - {SPARSE}
        before = len(self.draft.errors)
        for node in walk(definition.body):
            if isinstance(node, Name) and (node.primed or node.id not in known) and node.id not in self.draft.broken:
                help = f"it reads {', '.join(definition.parameters)}, params and reserved names; make it an argument"
                self.draft.error("E206", f"unknown name '{node.key}' in the definition of a function", node.span, help)
            elif is_draw(node):
                help = "draw in an equation, and make the numbers an argument"
                self.draft.error("E306", "a draw in the definition of a function", node.span, help)
            elif isinstance(node, Call) and node.function in {*definition.parameters} - FUNCTIONS.keys():
                help = f"'{node.function}' is an argument here: write '*' to multiply"
                self.draft.error("E207", f"unknown function '{node.function}'", node.span, help)
            elif isinstance(node, Call) and node.function == definition.name:
                self.draft.error(
                    "E204", f"{node.function} is defined by itself", node.span, "it may call those above it"
                )
        return len(self.draft.errors) == before

    # ------------------------------------------------------------ expressions

    def declaration(self, line: Declaration) -> Declaration:
        match line:
            case StateDecl():
                init = self.expr(line.init)
                if is_draw(init) and not (init.dims or init.args or init.scope):
                    init = replace(init, dims=() if line.axes == ELEMENTS else line.axes)
                return replace(line, init=init)
            case Dim():
                return replace(line, value=self.dims[line.name])
            case Flag(condition=condition) if condition is not None:
                return replace(line, condition=self.expr(condition))
        return line

    def equation(self, line: Equation | Broken) -> Equation | Broken:
        return replace(line, value=self.expr(line.value)) if isinstance(line, Equation) else line

    def expr(self, expr: Expr, hidden: tuple[str, ...] = ()) -> Expr:
        """The expression with everything in place, but for constants whose names are `hidden`."""
        if isinstance(expr, Name) and not expr.primed and expr.at is None:
            if expr.id in self.dims and expr.id not in hidden:
                return self.dims[expr.id]
            is_constant = expr.id in self.constants and expr.id not in hidden
            return replace(self.constants[expr.id], span=expr.span) if is_constant else expr
        if isinstance(expr, Call) and (is_draw(expr) or expr.function == "identity"):
            hidden = (*hidden, *self.dims)  # which are its dimensions
        placed = with_children(expr, [self.expr(x, hidden) for x in children(expr)])
        return self._call(placed) if isinstance(placed, Call) else placed

    def _call(self, call: Call) -> Expr:
        definition = self.definitions.get(call.function)
        if definition is None:
            return _with_dimensions(call) if is_draw(call) else call
        count, usage = len(definition.parameters), f"{call.function}({', '.join(definition.parameters)})"
        if call.scope is not None:
            scope = f"{'over' if call.scope in ('params', WORKERS) else 'per'} {call.scope}"
            self._fail(call, "E303", f"'{scope}' on {call.function}, which reduces nothing", f"write {usage}")
            return call
        if len(call.args) != count:
            takes = f"{count} argument{'' if count == 1 else 's'}"
            self._fail(call, "E208", f"{call.function} takes {takes}, and has {len(call.args)} here", f"write {usage}")
            return call
        values = dict(zip(definition.parameters, call.args, strict=True))
        self.placed += _size(definition.body, {name: _size(x, {}) for name, x in values.items()})
        placed = _substitute(definition.body, values) if self.placed <= MAX_NODES else None
        if placed is None or too_deep(placed) is not None:
            limit = f"{MAX_NODES} parts" if placed is None else f"{MAX_DEPTH} levels"
            help = "name a part on a line of its own"
            self._fail(call, "E107", f"with definitions in place, this has more than {limit}", help)
            return call
        return placed

    def _fail(self, call: Call, code: str, message: str, help: str) -> None:
        """Report a call, and mark its function as failed, so that later errors about it are left out."""
        self.draft.error(code, message, call.span, help)
        self.draft.broken.add(call.function)


def _size(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The number of nodes, where names stand for expressions of these sizes."""
    return sum(sizes.get(x.id, 1) if isinstance(x, Name) else 1 for x in walk(expr))


def _substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Name) and expr.at is None:
        return values.get(expr.id, expr)
    return with_children(expr, [_substitute(x, values) for x in children(expr)])


def _with_dimensions(draw: Call) -> Call:
    """A draw with what its brackets say as dimensions: `per row`, `r` or `rows x r`."""
    dims = draw.dims
    match draw:
        case Call(scope="row" | "col", args=()):
            dims = AXES[Kind(draw.scope)]
        case Call(scope=None, args=(Name(id=name, primed=False, at=None),)):
            dims = (name,)
        case Call(scope=scope, args=args) if scope is not None or args:
            return draw  # which is reported as a call
    return replace(draw, args=(), scope=None, dims=() if dims == ELEMENTS else dims)
