"""spec.lark is an ordinary grammar of lark, and quick to build a parser from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lark import Lark

from optgen.lang import parser
from optgen.lang.syntax import KEYWORDS
from tests.compiler.harness import python

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


FIRST_PARSES = """
import sys, threading
from importlib.machinery import SourceFileLoader
import optgen

real, begun, second = SourceFileLoader.exec_module, threading.Event(), threading.Event()

def exec_module(self, module):
    if module.__name__ == "lark.lark" and not begun.is_set():
        begun.set()
        second.wait(0.5)  # until the other thread is at the same library; it may have to wait for this one
    if module.__name__ == "lark.parsers.lalr_parser":
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
