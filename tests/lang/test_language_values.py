"""What the reference of the language says of kinds and functions is what the compiler does."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.axes import Kind, of_kind
from optgen.expressions import Call, Name
from optgen.functions.table import EXPANSIONS, FUNCTIONS
from optgen.ir import Kernel, Variant
from optgen.ir.interp import TensorUpdate, interpret
from optgen.lang import kinds
from optgen.lang.dimensions import CONSTANT, ValueKind, fits, join
from optgen.model import Optimizer
from tests.ir.test_math import operations
from tests.lang.reference import check, codes, kind_word, tables

# ---------------------------------------------------------------- kinds

VALUES = {k.value: ValueKind(*of_kind(k)) for k in Kind if k not in (Kind.UNIFORM, Kind.MATRIX)} | {
    "constant": CONSTANT
}


def test_kinds_are_all_there_and_join_so() -> None:
    listed, joined, taken = tables("kinds")
    assert listed.named() == joined.named() == set(VALUES) and taken.named() == set(VALUES) - {"constant"}
    columns = [codes(cell)[0] for cell in joined.head[1:]]
    for row in joined.rows:
        for other, result in zip(columns, row[1:], strict=True):
            found = join(VALUES[codes(row[0])[0]], VALUES[other])
            assert found is not None and kind_word(found) == result
    for row in taken.rows:
        kind = VALUES[codes(row[0])[0]]
        assert row[1].split(", ") == [name for name in columns if fits(VALUES[name], kind)]


def test_examples_of_kinds() -> None:
    for row in tables("kinds")[0].rows:
        for text in codes(row[3]):
            optimizer = check(f"optimizer X\nparam beta = 1\nupdate:\n  x = {text}\n  w' = w - x\n")
            program = optimizer.program({})
            names = kinds.infer_values(program, kinds.base_names(optimizer, ()), _no_error)
            value = names["x"]
            assert value is not None and kind_word(value) == codes(row[0])[0], text


def _no_error(code: str, message: str, *_: object) -> None:
    raise AssertionError(message)


def test_reductions_give_these_kinds() -> None:
    _, scopes = tables("reductions")
    assert len(scopes.rows) == 6 and scopes.named() == {
        "per row",
        "per col",
        "per matrix",
        "over params",
        "over workers",
    }
    columns = [codes(cell)[0] for cell in scopes.head[2:]]
    names: dict[str, ValueKind | None] = dict(VALUES)
    for row in scopes.rows:
        scope = f", {codes(row[0])[0]}" if row[0] else ""
        for name, result in zip(columns, row[2:], strict=True):
            found: list[str] = []
            if "workers" in scope:  # a mean alone, of the kind of what is averaged
                assert result == kind_word(VALUES[name])
                continue
            optimizer = check(f"optimizer X\naxes last two\nupdate:\n  x = sum(w{scope})\n  w' = w - x\n")
            call = optimizer.update[0].value
            assert isinstance(call, Call)
            renamed = Call(call.function, (Name(name, False, call.span),), call.scope, call.span)
            value = kinds.value_of(renamed, names, lambda code, *_, to=found: to.append(code))
            assert found == ["E302"] if result == "-" else (not found and value and kind_word(value) == result)


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("section", ["products", "functions", "reductions", "draws"])
def test_the_tables_say_of_every_function_what_its_record_says(section: str) -> None:
    every = {call: text for f in FUNCTIONS.values() for call, text in f.doc.items()}
    found = {code: text for calls in _calls(section) for code, text in calls.items()}
    both = {call for f in FUNCTIONS.values() if f.reduction and f.elementwise for call in f.doc if "," in call}
    own = {call for f in FUNCTIONS.values() if f.section == section for call in f.doc}
    own = own | both if section == "functions" else own - both
    assert found == {call: every[call] for call in own}


def test_the_tables_have_as_many_arguments_as_the_records() -> None:
    def count(call: str) -> int:
        return len([x for x in call.partition("(")[2][:-1].replace(" x ", ",").split(",") if x])

    assert all({count(call) for call in f.doc} == {*f.counts} for f in FUNCTIONS.values())


def _calls(section: str) -> list[dict[str, str]]:
    """What the tables about functions have in their first two columns: calls, and what they are."""
    found = [
        {codes(row[0])[0]: row[1] for row in table.rows} for table in tables(section) if table.head[0] == "function"
    ]
    return [calls for calls in found if all("(" in call for call in calls)]


def _claims() -> dict[str, float | None]:
    """`max(NaN, 1)` and what it is, of every cell about functions of numbers; None: it is not NaN."""
    first, second, _ = tables("functions")
    claims: dict[str, float | None] = {}
    for row in first.rows:
        call = codes(row[0])[0]
        for argument, result in zip(first.head[2:7], row[2:7], strict=True):
            claims[call.replace("(x)", f"({argument})")] = float(result)
        low, high = {
            "x >= 0": (0.0, math.inf),
            "x >= -1": (-1.0, math.inf),
            "abs(x) <= 2^28": (-(2.0**28), 2.0**28),
        }.get(row[7], (-math.inf, math.inf))
        assert row[7] == "all" or math.isfinite(low)
        for x in ("-3", "-0.5", "-1", "0.5", "2", "-268435456", "268435456", "268435488"):
            claims[call.replace("(x)", f"({x})")] = None if low <= float(x) <= high else math.nan
    for row in second.rows:
        found = re.findall(r"`([^`]+)` is (-?(?:NaN|inf|[\d.]*\d))", row[2])
        assert len(found) == row[2].count("`") // 2
        claims |= {call: float(result) for call, result in found}
    return claims


CLAIMS = _claims()
LITERAL = re.compile(r"(?<![\w.])-?(?:NaN|inf|\d+(?:\.\d+)?)")
LITERALS = {text: f"x{k}" for k, text in enumerate(sorted({x for call in CLAIMS for x in LITERAL.findall(call)}))}


def _spec(declarations: Iterable[str], calls: Iterable[str], kind: str) -> Optimizer:
    """Calls as the equations of states."""
    states, equations = [], []
    for k, call in enumerate(calls):
        states.append(f"state s{k}{kind} = 0")
        equations.append(f"  s{k}' = {call}")
    return check("\n".join(["optimizer Claims", *declarations, *states, "update:", *equations, "  w' = w", ""]))


def _of_inputs(call: str) -> tuple[str, list[str]]:
    """A claim with inputs in the place of its numbers, and these."""
    count = itertools.count()
    return LITERAL.sub(lambda _: f"x{next(count)}", call), LITERAL.findall(call)


def _holds(found: Sequence[Any], dtype: type) -> None:
    for number, (call, expected) in zip(found, CLAIMS.items(), strict=True):
        result = dtype(number)
        if expected is None:
            assert not np.isnan(result), (call, result)
        else:  # the zeros differ, and all NaNs are one
            same = result.tobytes() == dtype(expected).tobytes()
            assert same or (np.isnan(result) and math.isnan(expected)), (call, result)


def _interpreted(kernel: Kernel, arrays: dict[str, Any], hyper: dict[str, float], size: int = 1) -> dict[str, Any]:
    for b in kernel.buffers:
        dtype = np.float64 if b.storage == "float64" else np.float32
        arrays.setdefault(b.name, np.zeros(() if b.kind is Kind.HOST else (size,), dtype))
    interpret(kernel, [TensorUpdate(arrays, hyper, 1)])
    return arrays


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_elements(dtype: str) -> None:
    """Each claim is an element, and each function a state, of whose elements those that are its claims count."""
    claims = [_of_inputs(call) for call in CLAIMS]
    calls = list(dict.fromkeys(call for call, _ in claims))
    columns = itertools.zip_longest(*(numbers for _, numbers in claims), fillvalue="1")
    numbers = {f"x{k}": np.array([float(x) for x in column], dtype) for k, column in enumerate(columns)}
    optimizer = _spec([f"input {name}" for name in numbers], calls, "")

    def of_claims(states: Mapping[str, Any]) -> list[Any]:
        return [states[f"s{calls.index(call)}"][k] for k, (call, _) in enumerate(claims)]

    kernel = pipeline.build(optimizer, Variant({}, dtype))
    _holds(of_claims(_interpreted(kernel, dict(numbers), {}, len(claims))), getattr(np, dtype))
    w = np.ones(len(claims), dtype)
    step = optgen.load(optimizer, dtype).bind([w], [w.copy()], inputs={k: [v] for k, v in numbers.items()})
    step()
    _holds(of_claims({name: x[0] for name, x in step.state.arrays.items()}), getattr(np, dtype))


def test_operations_of_functions() -> None:
    counts = tables("functions")[2]
    assert [(codes(row[0])[0], int(row[1])) for row in counts.rows] == [
        (codes(row[0])[0], operations(codes(row[0])[0])) for row in counts.rows
    ]
    assert {codes(row[0])[0] for row in counts.rows} == {*EXPANSIONS}


def test_functions_of_host_values() -> None:
    calls = [LITERAL.sub(lambda m: LITERALS[m[0]], call) for call in CLAIMS]
    kernel = pipeline.build(_spec([f"param {name} = 1" for name in LITERALS.values()], calls, ": host"), Variant({}))
    found = _interpreted(kernel, {}, {name: float(text) for text, name in LITERALS.items()})
    _holds([found[f"s{k}"] for k in range(len(CLAIMS))], np.float64)


@pytest.mark.parametrize("row", tables("reductions")[0].rows, ids=lambda row: row[0])
def test_a_reduction(row: tuple[str, ...]) -> None:
    call = codes(row[0])[0].replace("(x)", "(g)").replace("(x, y)", "(g, g)")
    optimizer = check(f"optimizer X\nstate s: tensor = 0\nupdate:\n  s' = {call}\n  w' = w\n")
    rule = optgen.load(optimizer)
    given = [[math.nan, 1.0], [1.0, math.nan], [], [3.0, -4.0], [math.inf, 1.0]]
    for numbers, expected in zip(given, [row[2], *row[2:]], strict=True):
        w, g = np.zeros(len(numbers), np.float32), np.array(numbers, np.float32)
        step = rule.bind([w], [g])
        step()
        np.testing.assert_allclose(step.state.arrays["s"][0], float(expected), rtol=1e-7)
