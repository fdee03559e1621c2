"""The reference of the language is complete, and every example and table in it is true."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import BoundStep, arguments, pipeline
from optgen.cli import main
from optgen.diagnostics import RULES, Diagnostic, Source, SpecErrors, render
from optgen.execute.buffers import numpy_dtype
from optgen.ir.interp import Tensor, interpret
from optgen.ir.nodes import COMPUTE, Kernel, Variant
from optgen.lang import builtins, kinds, lint, nodes, parse, parser, syntax, variants
from optgen.lang.kinds import Value, fits, join
from optgen.model import MAX_DRAWS, RESERVED_PARAMS, Kind, Optimizer
from tests.lang.reference import EXAMPLES, SECTIONS, TEXT, Example, codes, examples, links, tables

LANG = Path(parser.__file__).parent


def check(text: str, name: str = "mine.opt") -> Optimizer:
    return parse(Source(name, text))


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecErrors) as caught:
        check(text)
    return caught.value.diagnostics


# ---------------------------------------------------------------- examples


def test_every_example_is_run() -> None:
    known = {"opt", "opt wrong", "opt warns", "step", "python", "text"}
    assert {x.kind for x in EXAMPLES} == known and TEXT.count("\n```\n") == len(EXAMPLES)
    texts = {x.text for x in examples("text")}
    assert texts == {x.shown for x in EXAMPLES if x.kind in ("opt wrong", "opt warns", "python")}


@pytest.mark.parametrize("example", examples("opt"), ids=str)
def test_a_spec_is_right(example: Example) -> None:
    optimizer = check(example.text)
    assert not optimizer.warnings
    for flags in optimizer.variants():
        pipeline.plan(pipeline.build(optimizer, Variant(flags)))


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


def test_every_code_has_a_rule_that_is_there() -> None:
    sources = [p.read_text(encoding="utf-8") for p in LANG.glob("*.py")]
    used = {code for text in sources for code in re.findall(r'"([EW][0-9]{3})"', text)}
    assert set(RULES) == used
    assert set(RULES.values()) <= set(SECTIONS)


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
    assert links(rule) == [RULES[code]]


def test_every_code_is_in_the_table() -> None:
    assert sorted(row[0] for row in _cases()) == sorted(RULES)


def test_the_first_error_of_a_rule_names_it() -> None:
    text = str(SpecErrors(Source("f", "a b\nc d\n"), errors("a b\nc d\n")))
    assert text.count("= rule: optgen language outline") == 1
    assert text.index("rule") < text.index("unknown declaration 'c'")


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_document_or_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["language"]) == 0
    assert capsys.readouterr().out == TEXT
    for name in ("guards", "E405", "e406", "Guards"):
        assert main(["language", name]) == 0
        out = capsys.readouterr().out
        assert out.startswith("### guards\n") and "`otherwise`" in out and out.rstrip().endswith("```")
    assert main(["language", "reserved"]) == 2
    assert "did you mean 'reserved-names'?" in capsys.readouterr().err
    assert main(["language", "the-file"]) == 0
    assert "\n### outline\n" in capsys.readouterr().out


# ---------------------------------------------------------------- completeness


def test_every_line_and_option_has_an_entry() -> None:
    (outline,) = tables("outline")
    assert outline.named() == {*syntax.HEADS, "NAME = expression"}
    rules = {links(row[0])[0] for row in outline.rows}
    assert rules == set(syntax.HEADS)
    grammar = list(parser.read_grammar((LANG / "spec.lark").read_text(encoding="utf-8")))
    options = {method: symbols for origin, symbols, method in grammar if origin == "option"}
    assert set(options) == {"doc", "alias", "interval", "zero_off", "condition"}
    rows = {section: {row[0] for row in tables(section)[-1].rows} for section in ("param", "flag", "state")}
    text, alias, interval, off = '`"text"`', "`alias A, B`", "`in [low, high)`", "`zero off`"
    assert rows["param"] == {"`: int`", interval, alias, "`= none`", off, text}
    assert rows["flag"] == {"`per param`", text}
    assert rows["state"] == {"`: KIND`", "`= start`", "`if GUARD`", text}
    assert len(tables("flag")[0].rows) == 3


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        ("optimizer X {}", {"alias", "text"}),
        ("param p = none {}", {"in", "alias", "zero off", "text"}),
        ("flag f = true {}", {"text"}),
        ("state s = 0 {}", {"if", "text"}),
        ("input i {}", {"text"}),
        ("require r {}", {"text"}),
    ],
)
def test_a_declaration_takes_these_options(line: str, takes: set[str]) -> None:
    options = {"text": '"x"', "alias": "alias A", "in": "in [0, 1]", "zero off": "zero off", "if": "if f"}
    refused = set()
    for name, option in options.items():
        (cut,), _ = syntax.read_lines(Source("f", line.format(option)))
        try:
            parser.parse_line(cut)
        except nodes.LineError as error:
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
        assert value is not None and _word(value) == kind
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


def _word(value: Value) -> str:
    return "constant" if value.uniform else value.kind.value


def test_every_word_has_an_entry() -> None:
    paragraphs = [set(codes(x)) for x in SECTIONS["reserved-names"].split("\n\n") if re.match("`[^`]", x)]
    words, arguments_ = paragraphs[:2]
    assert words == syntax.KEYWORDS
    assert arguments_ == builtins.API_NAMES


def test_limits() -> None:
    (table,) = tables("limits")
    limits = [
        (syntax.MAX_CHARACTERS, "E108"),
        (syntax.MAX_NAME, "E101"),
        (syntax.MAX_BRACKETS, "E107"),
        (parser.MAX_DEPTH, "E107"),
        (variants.MAX_VARIANTS, "E412"),
        (variants.MAX_LINES, "E412"),
        (MAX_DRAWS, "E108"),
        (syntax.MAX_ERRORS, "E111"),
    ]
    assert [(int(row[1]), row[2]) for row in table.rows] == limits
    assert f"at most {lint.MAX_VARIANTS}\ncombinations" in SECTIONS["first-step"]


def test_what_others_call_otherwise() -> None:
    (table,) = tables("not-in-the-language")
    table_of = {code.partition("(")[0]: codes(row[1])[0] for row in table.rows for code in codes(row[0])}
    assert table_of == {name: instead for name, instead in builtins.COMMON_FUNCTIONS.items() if instead is not None}


def test_storages() -> None:
    (table,) = tables("storage")
    dtypes, _, storages = ([*codes(row[1])] for row in table.rows)
    assert dtypes == list(COMPUTE) and storages == list(arguments.STORAGES["f32"])


# ---------------------------------------------------------------- kinds

VALUES = {k.value: Value(k) for k in Kind if k is not Kind.UNIFORM} | {"constant": kinds.CONSTANT}


def test_kinds_are_all_there_and_join_so() -> None:
    listed, joined, taken = tables("kinds")
    assert listed.named() == joined.named() == set(VALUES) and taken.named() == set(VALUES) - {"constant"}
    columns = [codes(cell)[0] for cell in joined.head[1:]]
    for row in joined.rows:
        for other, result in zip(columns, row[1:], strict=True):
            assert _word(join(VALUES[codes(row[0])[0]], VALUES[other])) == result
    for row in taken.rows:
        kind = VALUES[codes(row[0])[0]].kind
        assert row[1].split(", ") == [name for name in columns if fits(VALUES[name], kind)]


def test_examples_of_kinds() -> None:
    for row in tables("kinds")[0].rows:
        for text in codes(row[3]):
            optimizer = check(f"optimizer X\nparam beta = 1\nupdate:\n  x = {text}\n  w' = w - x\n")
            program = optimizer.program({})
            names = kinds.infer_values(program, kinds.base_names(optimizer, ()), _no_error)
            value = names["x"]
            assert value is not None and _word(value) == codes(row[0])[0], text


def _no_error(code: str, message: str, *_: object) -> None:
    raise AssertionError(message)


def test_reductions_give_these_kinds() -> None:
    _, scopes = tables("reductions")
    columns = [codes(cell)[0] for cell in scopes.head[2:]]
    names: dict[str, Value | None] = dict(VALUES)
    for row in scopes.rows:
        scope = f", {codes(row[0])[0]}" if row[0] else ""
        for name, result in zip(columns, row[2:], strict=True):
            found: list[str] = []
            optimizer = check(f"optimizer X\nupdate:\n  x = sum(w{scope})\n  w' = w - x\n")
            call = optimizer.update[0].value
            assert isinstance(call, kinds.Call)
            renamed = kinds.Call(call.function, (kinds.Name(name, False, call.span),), call.scope, call.span)
            value = kinds.value_of(renamed, names, lambda code, *_, to=found: to.append(code))
            assert (value is None and found == ["E302"]) if result == "-" else (value and _word(value) == result)


# ---------------------------------------------------------------- functions


def test_every_function_has_an_entry() -> None:
    entries = [code for section in ("functions", "reductions", "draws") for t in _calls(section) for code in t]
    reducing = {(name, n) for name, f in builtins.FUNCTIONS.items() for n in f.reduces}
    every = {(name, n) for name, f in builtins.FUNCTIONS.items() for n in f.counts}
    found = [
        (code.partition("(")[0], len([x for x in code.partition("(")[2][:-1].split(",") if x])) for code in entries
    ]
    assert sorted(found) == sorted(every)
    assert set(found[: len(every - reducing) - len(builtins.DRAWS)]) == every - reducing - {
        (d, 0) for d in builtins.DRAWS
    }


def _calls(section: str) -> list[list[str]]:
    return [[codes(row[0])[0] for row in table.rows] for table in tables(section) if table.head[0] == "function"]


def _claims() -> dict[str, float]:
    """`max(NaN, 1)` and what it is, of every cell about functions of numbers."""
    first, second = tables("functions")
    claims: dict[str, float] = {}
    for row in first.rows:
        call = codes(row[0])[0]
        for argument, result in zip(first.head[2:7], row[2:7], strict=True):
            claims[call.replace("(x)", f"({argument})")] = float(result)
        low = {"all": -math.inf, "x >= 0": 0.0, "x >= -1": -1.0}[row[7]]
        for x in ("-3", "-0.5", "-1", "0.5", "2"):
            claims[call.replace("(x)", f"({x})")] = math.nan if float(x) < low else math.inf  # any number
    for row in second.rows:
        found = re.findall(r"`([^`]+)` is (-?(?:NaN|inf|[\d.]*\d))", row[2])
        assert len(found) == row[2].count("`") // 2
        claims |= {call: float(result) for call, result in found}
    return claims


CLAIMS = _claims()
IS_NUMBER = re.compile(r"\w+\((-3|-0\.5|-1|0\.5|2)\)")
LITERAL = re.compile(r"(?<![\w.])-?(?:NaN|inf|\d+(?:\.\d+)?)")
LITERALS = {text: f"x{k}" for k, text in enumerate(sorted({x for call in CLAIMS for x in LITERAL.findall(call)}))}


def _spec(declare: str, kind: str) -> Optimizer:
    """Every claim as the equation of a state, its numbers as params or inputs."""
    lines = ["optimizer Claims", *(declare.format(name) for name in LITERALS.values())]
    lines += [f"state s{k}{kind} = 0" for k in range(len(CLAIMS))] + ["update:"]
    for k, call in enumerate(CLAIMS):
        lines.append(f"  s{k}' = {LITERAL.sub(lambda m: LITERALS[m[0]], call)}")
    return check("\n".join([*lines, "  w' = w", ""]))


def _holds(found: Mapping[str, Any], dtype: type) -> None:
    for k, (call, expected) in enumerate(CLAIMS.items()):
        result = dtype(np.ravel(found[f"s{k}"])[0])
        if IS_NUMBER.fullmatch(call):
            assert np.isnan(result) == math.isnan(expected), (call, result)
        else:
            assert result.tobytes() == dtype(expected).tobytes() or (result != result and expected != expected), (
                call,
                result,
            )


def _interpreted(kernel: Kernel, arrays: dict[str, Any], hyper: dict[str, float]) -> dict[str, Any]:
    for b in kernel.buffers:
        dtype = np.float64 if b.storage == "float64" else np.float32
        arrays.setdefault(b.name, np.zeros(() if b.kind is Kind.HOST else (1,), dtype))
    interpret(kernel, [Tensor(arrays, hyper, 1)])
    return arrays


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_elements(dtype: str) -> None:
    optimizer = _spec("input {}", "")
    numbers = {name: np.array([float(text)], dtype) for text, name in LITERALS.items()}
    kernel = pipeline.build(optimizer, Variant({}, dtype))
    _holds(_interpreted(kernel, dict(numbers), {}), getattr(np, dtype))
    one = np.ones(1, dtype)
    step = optgen.load(optimizer, dtype).bind([one], [one.copy()], inputs={k: [v] for k, v in numbers.items()})
    step()
    _holds({name: x[0] for name, x in step.state.arrays.items()}, getattr(np, dtype))


def test_functions_of_host_values() -> None:
    kernel = pipeline.build(_spec("param {} = 1", ": host"), Variant({}))
    found = _interpreted(kernel, {}, {name: float(text) for text, name in LITERALS.items()})
    _holds(found, np.float64)


@pytest.mark.parametrize("row", tables("reductions")[0].rows, ids=lambda row: row[0])
def test_a_reduction(row: tuple[str, ...]) -> None:
    call = codes(row[0])[0].replace("(x)", "(g)")
    optimizer = check(f"optimizer X\nstate s: tensor = 0\nupdate:\n  s' = {call}\n  w' = w\n")
    rule = optgen.load(optimizer)
    given = [[math.nan, 1.0], [1.0, math.nan], [], [3.0, -4.0], [math.inf, 1.0]]
    for numbers, expected in zip(given, [row[2], *row[2:]], strict=True):
        w, g = np.zeros(len(numbers), np.float32), np.array(numbers, np.float32)
        step = rule.bind([w], [g])
        step()
        np.testing.assert_allclose(step.state.arrays["s"][0], float(expected), rtol=1e-7)
