"""The reference of the language is complete, and every example and table in it is true."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import BoundStep, diagnostics, pipeline, specfiles
from optgen.cli import main
from optgen.diagnostics import Diagnostic, Source, SpecErrors, render
from optgen.execute.buffers import numpy_dtype
from optgen.execute.choice import SMALLEST_QUANTIZED
from optgen.ir import COMPUTE, WEIGHTS, Kernel, Variant
from optgen.ir.storage import QUANT_BLOCK, storages_of
from optgen.lang import builtins, declaration_checks, definitions, kinds, lint, parser, syntax, variants
from optgen.lang.expression_actions import LineError
from optgen.model import MAX_DRAWS, RESERVED_PARAMS, Optimizer
from optgen.stages.plan import KernelStage
from tests.lang import lark_grammar
from tests.lang.reference import (
    EXAMPLES,
    SECTIONS,
    TEXT,
    TUTORIAL,
    Example,
    check,
    codes,
    examples,
    kind_word,
    links,
    tables,
)

LANG = Path(parser.__file__).parent


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecErrors) as caught:
        check(text)
    return caught.value.diagnostics


# ---------------------------------------------------------------- examples


def test_every_example_is_run() -> None:
    known = {"opt", "opt transform", "opt wrong", "opt warns", "step", "python", "sh", "console", "text"}
    assert {x.kind for x in EXAMPLES} == known
    assert TEXT.count("\n```\n") + TUTORIAL.count("\n```\n") == len(EXAMPLES)
    texts = {x.text for x in examples("text")}
    assert texts == {x.shown for x in EXAMPLES if x.kind in ("opt wrong", "opt warns", "python", "sh")}


@pytest.mark.parametrize("example", examples("opt"), ids=str)
def test_a_spec_is_right(example: Example) -> None:
    optimizer = check(example.text)
    assert not optimizer.warnings
    for flags in optimizer.variants():
        for kernel in built(optimizer, Variant(flags)):
            pipeline.plan(kernel)


@pytest.mark.parametrize("example", examples("opt transform"), ids=str)
def test_a_transform_is_right(example: Example) -> None:
    assert not check(pipeline.with_base("sgd", Source("mine.opt", example.text)).text).warnings


def built(optimizer: Optimizer, variant: Variant) -> Iterator[Kernel]:
    """The kernels of a variant, in all updates."""
    if not optimizer.is_staged(variant.flags):
        yield pipeline.build(optimizer, variant)
        return
    for due, first in itertools.product(((), optimizer.timings), (False, True)):
        for stage in pipeline.stages(optimizer, variant, due, first=first).walk():
            if isinstance(stage, KernelStage):
                yield stage.kernel


@pytest.mark.parametrize("example", examples("opt wrong"), ids=str)
def test_a_wrong_spec_has_these_errors(example: Example) -> None:
    with pytest.raises(SpecErrors) as caught:
        check(example.text)
    assert f"{caught.value}\n" == example.shown


@pytest.mark.parametrize("example", examples("opt warns"), ids=str)
def test_a_doubtful_spec_has_these_warnings(example: Example) -> None:
    optimizer = check(example.text)
    assert f"{render(optimizer.warnings, optimizer.source)}\n" == example.shown


@pytest.mark.parametrize("example", examples("python"), ids=str)
def test_a_script_prints_this(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.opt").write_text(example.spec, encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example.text, "example.py", "exec"), {})
    assert out.getvalue() == example.shown


@pytest.mark.parametrize("example", examples("sh"), ids=str)
def test_a_command_prints_this(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.opt").write_text(example.spec, encoding="utf-8")
    program, *arguments = example.text.split()
    assert program == "optgen" and main(arguments) == 0
    assert capsys.readouterr().out == example.shown


@pytest.mark.parametrize("example", examples("step"), ids=str)
def test_a_step_computes_this(example: Example) -> None:
    optimizer = check(example.spec)
    step: BoundStep | None = None
    for line in example.text.splitlines():
        given, expected = (_values(part) for part in re.split(r": (?=\w+'|evaluated)", line, maxsplit=1))
        if step is None or "w" in given:
            step, weight, gradient = _bound(optimizer, given)
            step()
        else:
            gradient[...] = given.pop("grad")
            step(**given)
        for name, value in expected.items():
            found = weight if name == "w'" else None
            if name == "evaluated":
                (found,) = step.evaluate()
            elif found is None:
                found = step.state.arrays[name.removesuffix("'")][0]
            at = (example, line, name)
            np.testing.assert_allclose(np.ravel(found).astype(float), np.ravel(value), rtol=3e-7, err_msg=str(at))


def _bound(optimizer: Optimizer, given: dict[str, Any]) -> tuple[BoundStep, Any, Any]:
    """A step of one parameter, its weight and its gradient; the other values are arguments of `load`, or inputs."""
    dtype = given.get("dtype", "float32")
    weight = np.array(given.pop("w"), numpy_dtype(dtype))
    gradient = np.broadcast_to(np.array(given.pop("grad"), weight.dtype), weight.shape).copy()
    inputs = {i.name: [np.array(given.pop(i.name), weight.dtype)] for i in optimizer.inputs}
    step = optgen.load(optimizer, **given).bind([weight], [gradient], inputs=inputs)
    return step, weight, gradient


def _values(text: str) -> dict[str, Any]:
    """`w = [1, 2], kind = sign` as values by name."""
    pairs = re.findall(r"(\w+'?) = (\[.*?\](?=, \w+'? = |$)|[^,]+)", text)
    assert ", ".join(f"{name} = {value}" for name, value in pairs) == text
    return {name: _value(value) for name, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# ---------------------------------------------------------------- errors and warnings


def test_every_code_has_a_section_that_is_there() -> None:
    sources = [p.read_text(encoding="utf-8") for p in LANG.glob("*.py")]
    used = {code for text in sources for code in re.findall(r'"([EW][0-9]{3})"', text)}
    assert set(diagnostics.SECTIONS) == used
    assert set(diagnostics.SECTIONS.values()) <= set(SECTIONS)


def test_every_link_leads_somewhere() -> None:
    assert set(links(TEXT)) <= set(SECTIONS)


SPECIAL = {
    "a line of 65 open brackets": "  d = " + "("*65 + "g" + ")"*65,
    "a file of 40000 characters": "#" * 40_000,
    "a file of 101 errors": "a line\n" * 101,
    "12 more flags": "".join(f"flag f{i} = false\n" for i in range(12)),
}  # fmt: skip


def _put(frame: str, example: str) -> str:
    """The frame with the lines of an example, each where it belongs."""
    lines = codes(example) or SPECIAL[example].splitlines()
    if "#" * 40_000 in lines:
        return lines[0]
    heads = [line for line in lines if line.startswith(tuple(h for h in syntax.HEADS if h not in ("update", "eval")))]
    above, below = frame.split("update:\n")
    phase = next((k for k, line in enumerate(lines) if line.startswith("phase ")), None)
    if phase is not None:
        return f"{above}phase first:\n{below}\n" + "\n".join(lines) + "\n"
    return "\n".join([above.rstrip("\n"), *heads, "update:", below, *(x for x in lines if x not in heads)]) + "\n"


def _cases() -> list[tuple[str, ...]]:
    return [row for section in ("errors", "warnings") for table in tables(section) for row in table.rows]


@pytest.mark.parametrize("row", _cases(), ids=lambda row: row[0])
def test_a_row_of_the_table_of_codes(row: tuple[str, ...]) -> None:
    code, rule, message, example = row
    (frame,) = (x.text for x in examples("opt") if "optimizer Example" in x.text)
    text = _put(frame, example)
    found = errors(text) if code.startswith("E") else check(text).warnings
    assert (code, message) in [(d.code, d.message) for d in found]
    assert code == "E111" or {d.code for d in found} <= {code, "W501", "W502"}
    assert links(rule) == [diagnostics.SECTIONS[code]]


def test_every_code_is_in_the_table() -> None:
    assert sorted(row[0] for row in _cases()) == sorted(diagnostics.SECTIONS)


def test_the_first_error_of_a_section_names_it() -> None:
    text = str(SpecErrors(Source("f", "a b\nc d\n"), errors("a b\nc d\n")))
    assert text.count("= see: optgen language outline") == 1
    assert text.index("see:") < text.index("unknown declaration 'c'")


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_document_or_a_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["language"]) == 0
    assert capsys.readouterr().out == specfiles.language()
    for name in ("guards", "E405", "e406", "Guards"):
        assert main(["language", name]) == 0
        out = capsys.readouterr().out
        assert out.startswith("### guards\n") and "`otherwise`" in out and out.rstrip().endswith("```")
    assert main(["language", "reserved"]) == 2
    assert "did you mean 'reserved-names'?" in capsys.readouterr().err
    assert main(["language", "the-file"]) == 0
    assert "\n### outline\n" in capsys.readouterr().out
    assert main(["language", "nope"]) == 2
    assert capsys.readouterr().err == "optgen: no section 'nope'; optgen language --list prints the sections\n"
    assert main(["language", "--list"]) == 0
    listed = capsys.readouterr().out.split()
    assert set(diagnostics.SECTIONS.values()) <= set(listed) < set(SECTIONS) and "the-file" not in listed


def test_the_section_that_an_error_names_is_there() -> None:
    named = {
        name
        for path in [*LANG.parent.parent.glob("tests/lang/bad/*.err")]
        for name in re.findall(r"= see: optgen language (\S+)", path.read_text("utf-8"))
    }
    assert {"eval", "unset-params", "input", "not-in-the-language"} < named <= set(SECTIONS)


# ---------------------------------------------------------------- completeness


def test_every_line_and_option_has_an_entry() -> None:
    (outline,) = tables("outline")
    assert outline.named() == {*syntax.HEADS, *syntax.BLOCKS, "NAME = expression"}
    rules = {links(row[0])[0] for row in outline.rows}
    assert rules == {*syntax.HEADS, "repeat"}
    options = {rule.alias for rule in lark_grammar.LARK.rules if rule.origin.name == "option"}
    assert options == {
        "doc",
        "alias",
        "interval",
        "words",
        "parts",
        "condition",
    }
    rows = {section: {row[0] for row in tables(section)[-1].rows} for section in ("param", "flag", "state")}
    text, alias, interval, off = '`"text"`', "`alias A, B`", "`in [low, high)`", "`zero off`"
    follows = "`follows lr`"
    assert rows["param"] == {"`: int`", "`per param`", interval, alias, "`= none`", off, follows, text}
    assert rows["flag"] == {"`per param`", text}
    assert rows["state"] == {"`[n]`", "`: KIND`", "`= start`", "`if GUARD`", "`for users`", text}
    assert len(tables("flag")[0].rows) == 3


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        ("optimizer X {}", {"for", "alias", "text"}),
        ("param p = none {}", {"in", "alias", "zero off", "follows lr", "text"}),
        ("flag f = true {}", {"text"}),
        ("state s = 0 {}", {"if", "text"}),
        ("input i {}", {"text"}),
        ("require r {}", {"text"}),
    ],
)
def test_a_declaration_takes_these_options(line: str, takes: set[str]) -> None:
    options = {
        "text": '"x"',
        "alias": "alias A",
        "in": "in [0, 1]",
        **{words: words for words in ("zero off", "follows lr")},
        "if": "if f",
        "for": "for f otherwise w",
    }
    refused = set()
    for name, option in options.items():
        (cut,), _ = syntax.read_lines(Source("f", line.format(option)))
        try:
            parser.parse_line(cut)
        except LineError as error:
            refused |= {name} if "takes no" in str(error) else set()
    assert refused == set(options) - takes


def test_every_reserved_name_has_an_entry() -> None:
    (table,) = tables("reserved-names")
    assert table.named() == set(builtins.RESERVED)
    base = kinds.base_names(check("optimizer X\nupdate:\n  w' = w\n"), ())
    for name, what, kind, evaluated in ((codes(r[0])[0], *r[1:]) for r in table.rows):
        if name == "sparse":
            assert kind == "flag" and evaluated == "yes"
            check("optimizer X\nupdate:\n  w' = w\neval:\n  w' = 2*w if sparse\n  w' = w otherwise\n")
            continue
        value = base[name]
        assert value is not None and kind_word(value) == kind
        text = f"optimizer X\nupdate:\n  w' = w\neval:\n  w' = w + clip(1, {name})\n"
        assert (evaluated == "yes") == (not _codes(text)), name
        if (param := RESERVED_PARAMS.get(name)) is not None:
            default = "none" if param.default is None else f"{param.default:g}"
            interval = f", in {param.interval}" if param.interval else ""
            assert what.endswith(f"default {default}{interval}"), name


def _codes(text: str) -> set[str]:
    try:
        check(text)
    except SpecErrors as found:
        return {d.code for d in found.diagnostics}
    return set()


def test_operators_bind_so() -> None:
    (table,) = tables("operators")
    operators = {x for row in table.rows for code in codes(row[0]) for x in re.findall(r"[a-z]{2,}|[^\w\s]+", code)}
    assert operators == {x for x, kind in syntax._OPERATORS.items() if kind in OPERATOR_TERMINALS} | {
        "not",
        "and",
        "or",
    }
    assert set(OPERATOR_TERMINALS) <= lark_grammar.declared()
    for row in table.rows:
        for left, right in re.findall(r"`([^`]+)` is `([^`]+)`", row[2]):
            texts = (f"param a = 1\nparam b = 2\nparam c = 3\nupdate:\n  x = {x}\n" for x in (left, right))
            one, two = (check(f"optimizer X\n{x}  w' = where(w > a, b, c)\n").update[0].value for x in texts)
            assert one == two


OPERATOR_TERMINALS = ("ADD", "MULTIPLY", "POWER", "COMPARE")


@pytest.mark.parametrize(
    "name", codes(SECTIONS["reserved-names"].partition("cannot be names of anything else.")[2])[:6]
)
def test_a_word_of_its_place_is_a_name(name: str) -> None:
    assert not check(f"optimizer X\nparam {name} = 1\nupdate:\n  w' = w - {name}*g\n").warnings


def test_every_word_has_an_entry() -> None:
    lists = [x for x in SECTIONS["reserved-names"].split("\n\n") if re.fullmatch(r"(`\w+`\s*)+", x)]
    assert [set(codes(x)) for x in lists] == [syntax.KEYWORDS, builtins.API_NAMES]


def test_limits() -> None:
    (table,) = tables("limits")
    limits = [
        (syntax.MAX_CHARACTERS, "E108"),
        (syntax.MAX_NAME, "E101"),
        (declaration_checks.MAX_ENTRIES, "E404"),
        (syntax.MAX_BRACKETS, "E107"),
        (parser.MAX_DEPTH, "E107"),
        (variants.MAX_VARIANTS, "E412"),
        (variants.MAX_LINES, "E412"),
        (MAX_DRAWS, "E108"),
        (definitions.MAX_NODES, "E107"),
        (syntax.MAX_ERRORS, "E111"),
    ]
    assert [(int(row[1]), row[2]) for row in table.rows] == limits
    assert f"at most {lint.MAX_VARIANTS} combinations of flags" in " ".join(SECTIONS["first-step"].split())
    small = f"a parameter of less than {SMALLEST_QUANTIZED} elements"
    assert f"blocks of {QUANT_BLOCK} elements" in SECTIONS["storage"] and small in SECTIONS["storage"]


def test_what_others_call_otherwise() -> None:
    (table,) = tables("not-in-the-language")
    table_of = {code.partition("(")[0]: codes(row[1])[0] for row in table.rows for code in codes(row[0])}
    assert table_of == {name: instead for name, instead in builtins.COMMON_FUNCTIONS.items() if instead is not None}


def test_storages() -> None:
    (table,) = tables("storage")
    dtypes, _, weights, storages = ([*codes(row[1])] for row in table.rows)
    assert dtypes == list(COMPUTE) and weights == list(WEIGHTS) and storages == list(storages_of("f32"))
