"""Lark's parser of a line, made from spec.lark: a second parser, by a table. It shares the tokens with optgen's parser,
and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lark import Lark, UnexpectedToken
from lark import Token as LarkToken

from optgen.lang.syntax import Token


def leaf(x: Any) -> Any:
    """A token of optgen's or lark's as its type and text; lists with all that is in them; trees as they are."""
    if isinstance(x, list):
        return [leaf(y) for y in x]
    return (x.type, str(getattr(x, "text", x))) if isinstance(x, Token | LarkToken) else x


class Tree:
    """Actions that make nested tuples: the name of a rule's action, and what the rule matched."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda items: (name, *map(leaf, items))

    def several(self, items: list[Any]) -> list[Any]:
        return [*items[0], items[-1]] if items and isinstance(items[0], list) else items


TEXT = Path(__file__).with_name("spec.lark").read_text(encoding="utf-8")
LARK = Lark(TEXT, parser="lalr", start="line", lexer="basic", transformer=Tree(), maybe_placeholders=False)  # type: ignore[arg-type]


def declared() -> set[str]:
    """The terminals that the grammar declares."""
    return {word for row in TEXT.splitlines() if row.startswith("%declare") for word in row.split()[1:]}


def read(tokens: Sequence[Token]) -> tuple[Any, int, set[str]]:
    """The tree of a line, its length and nothing. For a line that is wrong: None, the index of the first token that is
    not allowed, and the types that are allowed there."""
    fed = [*(LarkToken(t.type, t.text) for t in tokens), LarkToken("$END", "")]
    parser = LARK.parse_interactive()
    for index, token in enumerate(fed):
        try:
            tree = parser.feed_token(token)
        except UnexpectedToken:
            before = LARK.parse_interactive()
            for t in fed[:index]:
                before.feed_token(t)
            return None, index, before.accepts()
    return tree, len(tokens), set()
