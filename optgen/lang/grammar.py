"""The grammar of one logical line of a spec: a parser by recursive descent, with a method for each rule.

A method reads the tokens of its rule from left to right and hands them, with what the rules inside it made, to a method
of `Actions`, which makes a node. The next token decides which alternative is read. One place looks two tokens ahead:
`rows x cols` among the arguments of a call.

Every question about the next token is remembered. Where a line fails, the answers that would have been right are the
tokens that the language allows there; the error is chosen by them. `tests/lang/spec.lark` has the same grammar in the
notation of lark; a test compares both parsers, in what they accept and in what they would have allowed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from optgen.expressions import Expr
from optgen.lang.actions import Actions
from optgen.lang.expression_actions import GroupToken, LineError
from optgen.lang.messages import syntax_error
from optgen.lang.statements import Statement
from optgen.lang.syntax import Line, Token

BINARY = {"OR": 1, "AND": 2, "COMPARE": 4, "ADD": 5, "MULTIPLY": 6}
"""Operators between two values, by their tokens, with how tightly they bind. `^`, signs and `^T` bind tighter."""
NOT, SUM, TIGHTEST = 3, BINARY["ADD"], max(BINARY.values())
"""How tightly `not` binds, the operators of a sum, and the tightest of BINARY."""
OPTIONS = ("STRING", "ALIAS", "IN", "NAME", "IF")
"""The tokens that an option of a declaration begins with."""
END = "$END"
"""The type of the token behind the last one of a line."""

Match = tuple[Callable[[list[Any]], Statement], list[Any]]
"""An action, and what it makes a statement of."""


class LineParser:
    """Reads one line. Every method that reads a rule raises LineError where the tokens do not have its form."""

    def __init__(self, line: Line, actions: Actions) -> None:
        self._line, self._actions = line, actions
        self._tokens = (*line.tokens, Token(END, "", line.tokens[-1].span))
        self._next = 0
        self._allowed: defaultdict[int, set[str]] = defaultdict(set)  # types that were asked for, by the token's index

    def statement(self) -> Statement:
        """The whole line."""
        action, items = self._statement()
        self._take(END)
        return action(items)

    # ------------------------------------------------------------ tokens

    def _at(self, *types: str, ahead: int = 0) -> bool:
        """Whether the next token, or one further on, has one of these types."""
        index = self._next + ahead
        self._allowed[index].update(types)
        return self._tokens[index].type in types

    def _take(self, *types: str) -> Token:
        """The next token, which must have one of these types, and is read."""
        if not self._at(*types):
            raise self._error()
        self._next += 1
        return self._tokens[self._next - 1]

    def _error(self) -> LineError:
        """The error of a line whose next token is none that is allowed."""
        return syntax_error(self._line, self._tokens[self._next], self._allowed[self._next])

    # ------------------------------------------------------------ statements

    def _statement(self) -> Match:
        take, actions = self._take, self._actions
        if self._at("NAME"):
            name, index = take("NAME"), self._bracketed()
            return actions.equation, [name, *index, take("EQUAL"), self.expr(), self._timing(), self._guard()]
        if self._at("OPTIMIZER"):
            return actions.optimizer, [take("OPTIMIZER"), take("NAME"), self._options()]
        if self._at("VERSION"):
            return actions.version, [take("VERSION"), take("NUMBER")]
        if self._at("CITE"):
            return actions.cite, [take("CITE"), take("STRING")]
        if self._at("AXES"):
            return actions.axes, [take("AXES"), take("NAME"), take("NAME")]
        if self._at("LR_HINT"):
            return actions.lr_hint, [take("LR_HINT"), *self._number(), take("STRING")]
        if self._at("SCHEDULE"):
            return actions.schedule, [take("SCHEDULE"), take("NAME"), take("STRING")]
        if self._at("PARAM"):
            head = [take("PARAM"), take("NAME"), self._kind("PER", "EQUAL"), self._per_param()]
            return actions.param, [*head, take("EQUAL"), self._value(), self._options()]
        if self._at("FLAG"):
            head = [take("FLAG"), take("NAME"), self._per_param()]
            return actions.flag, [*head, take("EQUAL"), self._choices(), self._options()]
        if self._at("STATE"):
            head = [take("STATE"), take("NAME"), actions.entries(self._bracketed()), self._kind("EQUAL")]
            return actions.state, [*head, take("EQUAL"), self._start(), self._options()]
        if self._at("INPUT"):
            return actions.input, [take("INPUT"), take("NAME"), self._kind(*OPTIONS, END), self._options()]
        if self._at("DIM"):
            return actions.dim, [take("DIM"), take("NAME"), take("EQUAL"), self.expr(), self._options()]
        if self._at("REQUIRE"):
            return actions.require, [take("REQUIRE"), self.expr(), self._options()]
        if self._at("DEF"):
            head = [take("DEF"), take("NAME"), take("OPEN"), self._names(), take("CLOSE")]
            return actions.definition, [*head, take("EQUAL"), self.expr()]
        if self._at("SECTION"):
            return actions.section, [take("SECTION"), take("COLON")]
        if self._at("PHASE"):
            return actions.phase, [take("PHASE"), take("NAME"), take("COLON")]
        if self._at("REPEAT"):
            head = [take("REPEAT"), self.expr()]
            number = [take("AS"), take("NAME")] if self._at("AS") else []
            return actions.repeat, [*head, *number, take("COLON")]
        return actions.end, [take("END")]

    # ------------------------------------------------------------ the parts of statements

    def _bracketed(self) -> list[Any]:
        """`[expr]` or nothing."""
        return [self._take("OPEN"), self.expr(), self._take("CLOSE")] if self._at("OPEN") else []

    def _number(self) -> list[Token]:
        """`1` or `-1`."""
        return [self._take("ADD"), self._take("NUMBER")] if self._at("ADD") else [self._take("NUMBER")]

    def _value(self) -> Any:
        """A number, `none` or a name."""
        alone = self._at("NONE", "NAME")
        return self._actions.value([self._take("NONE", "NAME")] if alone else self._number())

    def _kind(self, *behind: str) -> list[Token | GroupToken]:
        """`: NAME ...`, which a number may end, or nothing; then a token of one of the types `behind`."""
        if not self._at("COLON"):
            return self._actions.kind([])
        colon, names = self._take("COLON"), [self._take("NAME")]
        while self._at("NAME"):
            names.append(self._take("NAME"))
        number = self._number() if self._at("NUMBER", "ADD") else []
        if not self._at(*behind):
            raise self._error()
        return self._actions.kind([colon, names, *number])

    def _per_param(self) -> bool:
        """`per param` or nothing."""
        return self._actions.per_param([self._take("PER"), self._take("PARAM")] if self._at("PER") else [])

    def _start(self) -> Any:
        """`none` or an expression."""
        return self._actions.value([self._take("NONE")]) if self._at("NONE") else self.expr()

    def _choices(self) -> Any:
        """`true`, `false`, or expressions with `|` between them."""
        if self._at("BOOL"):
            return self._take("BOOL")
        found = [self.expr()]
        while self._at("BAR"):
            self._take("BAR")
            found.append(self.expr())
        return found

    def _timing(self) -> Any:
        """`every k`, `every k from s`, `once` or nothing."""
        if self._at("ONCE"):
            return self._actions.timing([self._take("ONCE")])
        if not self._at("EVERY"):
            return self._actions.timing([])
        items = [self._take("EVERY"), self.expr(SUM)]
        start = [self._take("FROM"), self.expr(SUM)] if self._at("FROM") else []
        return self._actions.timing([*items, *start])

    def _guard(self) -> Any:
        """`if expr`, `otherwise` or nothing."""
        if self._at("IF"):
            return self._actions.guard([self._take("IF"), self.expr()])
        return self._actions.guard([self._take("OTHERWISE")] if self._at("OTHERWISE") else [])

    def _names(self) -> list[Token]:
        """Names with commas between them."""
        found = [self._take("NAME")]
        while self._at("COMMA"):
            self._take("COMMA")
            found.append(self._take("NAME"))
        return found

    def _options(self) -> list[Any]:
        """What may follow a declaration, in any order."""
        found = []
        while self._at(*OPTIONS):
            found.append(self._option())
        return found

    def _option(self) -> Any:
        """`"text"`, `alias A, B`, `in [low, high]`, `if expr`, `zero off` or `for FLAG otherwise WORD`."""
        take, actions = self._take, self._actions
        if self._at("STRING"):
            return actions.doc([take("STRING")])
        if self._at("ALIAS"):
            return actions.alias([take("ALIAS"), self._names()])
        if self._at("IN"):
            low = [take("IN"), take("OPEN"), self._value()]
            return actions.interval([*low, take("COMMA"), self._value(), take("CLOSE")])
        if self._at("IF"):
            return actions.condition([take("IF"), self.expr()])
        words = [take("NAME"), take("NAME")]
        if self._at("OTHERWISE"):
            return actions.parts([*words, take("OTHERWISE"), take("NAME")])
        return actions.words(words)

    # ------------------------------------------------------------ expressions

    def expr(self, level: int = 1) -> Expr:
        """An expression of operators that bind at least as tightly as `level`; those of one level from the left.

        Comparisons do not chain: behind one, there are only operators that bind less tightly.
        """
        most = TIGHTEST
        signs = []
        while level <= NOT and self._at("NOT"):
            signs.append(self._take("NOT"))
            most = NOT
        left = self.expr(NOT + 1) if signs else self._factor()
        for sign in reversed(signs):
            left = self._actions.unary([sign, left])
        while self._at(*(types := [t for t, tightness in BINARY.items() if level <= tightness <= most])):
            operator = self._take(*types)
            tightness = BINARY[operator.type]
            left = self._actions.binary([left, operator, self.expr(tightness + 1)])
            most = tightness - (operator.type == "COMPARE")
        return left

    def _factor(self) -> Expr:
        """Values with signs and `^`, which bind from the right: `-a^-b^c` is `-(a^(-(b^c)))`."""
        outer: list[list[Any]] = []  # what waits for the value behind it: a sign, or a base and `^`
        while True:
            if self._at("ADD"):
                outer.append([self._take("ADD")])
                continue
            value = self._postfix()
            if not self._at("POWER"):
                break
            outer.append([value, self._take("POWER")])
        for items in reversed(outer):
            value = self._actions.unary([*items, value]) if len(items) == 1 else self._actions.binary([*items, value])
        return value

    def _postfix(self) -> Expr:
        """A value, which `^T` may follow."""
        value = self._atom()
        while self._at("TRANSPOSE"):
            value = self._actions.transpose([value, self._take("TRANSPOSE")])
        return value

    def _atom(self) -> Expr:
        """A number, a choice, an expression in brackets, a name, `NAME set`, or a call."""
        take, actions = self._take, self._actions
        if self._at("NUMBER"):
            return actions.number([take("NUMBER")])
        if self._at("CHOICE"):
            return actions.choice([take("CHOICE")])
        if self._at("OPEN"):
            return actions.brackets(self._bracketed())
        name = take("NAME")
        if self._at("SET"):
            return actions.is_set([name, take("SET")])
        if not self._at("OPEN"):
            return actions.name([name])
        opening = take("OPEN")
        arguments = [] if self._at("CLOSE") else [self._arguments()]
        return actions.call([name, opening, *arguments, take("CLOSE")])

    def _arguments(self) -> list[Any]:
        """Arguments with commas between them."""
        found = [self._argument()]
        while self._at("COMMA"):
            self._take("COMMA")
            found.append(self._argument())
        return found

    def _argument(self) -> Any:
        """An expression, `per row`, `per axis 1`, `over params`, or `rows x cols`."""
        take, actions = self._take, self._actions
        if self._at("PER"):
            scope = [take("PER"), take("NAME")]
            if self._at("NAME"):
                return actions.scope([*scope, take("NAME")])
            return actions.scope([*scope, *(self._number() if self._at("NUMBER", "ADD") else [])])
        if self._at("OVER"):
            return actions.scope([take("OVER"), take("NAME")])
        if self._at("NAME") and self._at("NAME", ahead=1):
            return actions.dimensions([take("NAME"), take("NAME"), take("NAME")])
        return self.expr()
