"""spec.lark is an ordinary grammar of lark, and quick to build a parser from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lark import Lark

from optgen.lang import parser
from optgen.lang.syntax import KEYWORDS

GRAMMAR = Path(parser.__file__).parent / "spec.lark"


def test_lark_reads_the_same_alternatives() -> None:
    text = GRAMMAR.read_text(encoding="utf-8")
    theirs = Lark(text, parser="lalr", start="line", lexer="basic", maybe_placeholders=False).rules
    ours = list(parser.read_grammar(text))
    assert [(r.origin.name, [s.name for s in r.expansion]) for r in theirs] == [(o, s) for o, s, _ in ours]


def test_every_terminal_is_declared_and_every_keyword_has_one() -> None:
    text = GRAMMAR.read_text(encoding="utf-8")
    declared = {word for row in text.splitlines() if row.startswith("%declare") for word in row.split()[1:]}
    used = {s for _, symbols, _ in parser.read_grammar(text) for s in symbols if s.isupper()}
    assert used == declared
    shared = {"update", "eval", "true", "false", "inf"}  # these have a terminal in common with others
    assert {k.upper() for k in KEYWORDS - shared} <= used


def test_first_parse_is_quick() -> None:
    """A cold parse and check of adam.opt, the parser's making included, lark's import not: about 40 ms."""
    code = """
import time, lark, pathlib, sys
from optgen.diagnostics import Source
from optgen.lang import parse
text = pathlib.Path(sys.argv[1]).read_text()
started = time.process_time()
parse(Source("adam.opt", text))
print(time.process_time() - started)
"""
    spec = str(Path(__file__).parents[2] / "specs" / "adam.opt")
    root = Path(__file__).parents[2]
    runs = [
        float(
            subprocess.run(
                [sys.executable, "-c", code, spec], cwd=root, check=True, capture_output=True, text=True
            ).stdout
        )
        for _ in range(2)
    ]
    assert min(runs) < 0.15
