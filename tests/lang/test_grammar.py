"""The parser of lines: it reads what lark's parser of the same grammar reads, and where a line fails it allows the same
tokens. It is quick, and leaves room on the stack."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from optgen import specfiles
from optgen.diagnostics import Source
from optgen.lang import grammar, parser
from optgen.lang.actions import Actions
from optgen.lang.syntax import KEYWORDS, Line, Token, read_lines
from tests.compiler.harness import python
from tests.lang import lark_grammar


def lines() -> list[Line]:
    """Lines of all specs and of malformed ones, one of each sequence of types."""
    found = {}
    for path in (*specfiles.folder().rglob("*.opt"), *(Path(__file__).parent / "bad").glob("*.opt")):
        cut, _ = read_lines(Source(path.name, path.read_text(encoding="utf-8", errors="replace")))
        found |= {tuple(t.type for t in line.tokens): line for line in cut if line.tokens and not line.broken}
    return [found[types] for types in sorted(found)]


def changed(line: Line, others: list[Token], draw: random.Random) -> Line:
    """The line with a token removed, added, replaced, or two exchanged, once or twice."""
    tokens = list(line.tokens)
    for _ in range(draw.choice((1, 1, 2))):
        i, j, other = draw.randrange(len(tokens)), draw.randrange(len(tokens)), draw.choice(others)
        match draw.randrange(4):
            case 0 if len(tokens) > 1:
                del tokens[i]
            case 1:
                tokens.insert(i, other)
            case 2:
                tokens[i] = other
            case _:
                tokens[i], tokens[j] = tokens[j], tokens[i]
    return Line(line.number, tuple(Token(*t) for t in tokens), ())  # no token twice


class _Wrong(Exception):
    """The token that is not allowed, and the types that are."""


def read(line: Line) -> tuple[Any, int, set[str]]:
    """As `lark_grammar.read`, by the parser of optgen, with an error that tells what was allowed."""
    try:
        tree = grammar.LineParser(line, lark_grammar.Tree()).statement()  # type: ignore[arg-type]
    except _Wrong as wrong:
        token, allowed = wrong.args
        return None, next((i for i, t in enumerate(line.tokens) if t is token), len(line.tokens)), allowed
    return tree, len(line.tokens), set()


def test_lark_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of specs, and lines that are one or two tokens away from them: the same trees, and of wrong lines the same
    first token that is not allowed, and the same tokens in its place."""
    monkeypatch.setattr(grammar, "syntax_error", lambda line, token, allowed: _Wrong(token, set(allowed)))
    forms, draw = lines(), random.Random(0)
    others = list({t.type: t for line in forms for t in line.tokens}.values())
    tried = [*forms, *(changed(draw.choice(forms), others, draw) for _ in range(1000))]
    found = [(read(line), lark_grammar.read(line.tokens)) for line in tried]
    different = [(line, *both) for line, both in zip(tried, found, strict=True) if both[0] != both[1]]
    assert different == []
    wrong = sum(ours[0] is None for ours, _ in found)
    assert wrong > 500 and len(tried) - wrong > 500  # lines of both kinds were tried


def test_every_terminal_is_declared_and_every_keyword_has_one() -> None:
    used = {symbol.name for rule in lark_grammar.LARK.rules for symbol in rule.expansion if symbol.is_term}
    assert used == lark_grammar.declared()
    shared = {"update", "eval", "true", "false", "inf"}  # these have a terminal in common with others
    assert {k.upper() for k in KEYWORDS - shared} <= used
    assert {rule.alias for rule in lark_grammar.LARK.rules if rule.alias} - {"several"} <= set(dir(Actions))


def test_first_parse_is_quick() -> None:
    """A cold parse and check of adam.opt, imports not included: about 15 ms."""
    code = """
import time, pathlib, sys
from optgen.diagnostics import Source
from optgen.lang import parse
text = pathlib.Path(sys.argv[1]).read_text()
started = time.process_time()
parse(Source("adam.opt", text))
print(time.process_time() - started)
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(root / "specs" / "adam.opt")]
    runs = [subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout for _ in range(2)]
    assert min(map(float, runs)) < 0.1


def test_nested_brackets_leave_room_on_the_stack() -> None:
    """As many as a line may have, around calls: the parser calls itself for each of them."""
    calls = "max(1, 2 or not 3 < 4 + 5*-" * 60
    (line,), _ = read_lines(Source("deep", f"x = {calls}g{')' * 60}"))
    depth = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal depth
        depth += {"call": 1, "return": -1}.get(event, 0)
        most.append(depth)

    most: list[int] = []
    sys.setprofile(count)
    try:
        with pytest.raises(Exception, match="levels"):
            parser.parse_line(line)
    finally:
        sys.setprofile(None)
    assert max(most) < 700  # of 1000


FIRST_PARSES = """
import sys, threading
from importlib.machinery import SourceFileLoader
import optgen

real, begun, second = SourceFileLoader.exec_module, threading.Event(), threading.Event()

def exec_module(self, module):
    if module.__name__ == "optgen.lang.parser" and not begun.is_set():
        begun.set()
        second.wait(0.5)  # until the other thread is at the same package; it may have to wait for this one
    if module.__name__ == "optgen.lang.grammar":
        second.set()
    real(self, module)

def parse():
    print(optgen.parse("optimizer X\\nupdate:\\n  w' = w - lr*g\\n").name, flush=True)

SourceFileLoader.exec_module = exec_module
thread = threading.Thread(target=parse)
thread.start()
begun.wait()
parse()
thread.join()
"""


def test_two_threads_parse_for_the_first_time() -> None:
    done = python(FIRST_PARSES)
    assert ("".join(done.stdout.split()), done.stderr) == ("XX", ""), done.stderr  # lines of threads may mix
