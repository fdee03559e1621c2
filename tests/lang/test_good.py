"""Specs that use every rule of the language: they parse, their values have the right kinds, and the traps warn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from optgen.axes import Kind
from optgen.diagnostics import Source, SpecErrors, render
from optgen.lang import parse
from optgen.lang.kinds import infer
from optgen.model import Interval, Optimizer

HERE = Path(__file__).parent
SHIPPED = sorted((HERE.parents[1] / "specs").glob("*.opt"))
GOOD = sorted((HERE / "good").glob("*.opt"))


def parse_file(path: Path) -> Optimizer:
    return parse(Source(path.name, path.read_text(encoding="utf-8")))


def parse_text(text: str) -> Optimizer:
    return parse(Source("<text>", text))


def report(optimizer: Optimizer) -> str:
    """The kinds of all names that are no params and no plain elements, variant by variant, and the warnings."""
    rows = []
    known = {*optimizer.all_params, "t", "step", "rank", "size", "rows", "cols", "matrices", "machine_epsilon"}
    for flags in optimizer.variants():
        rows.append(" ".join(f"{name}={value}" for name, value in flags.items()) or "(no flags)")
        kinds = infer(optimizer.program(flags), optimizer)
        rows += [f"  {key}: {kind.value}" for key, kind in kinds.items() if key not in known and kind is not Kind.ELEM]
    rows += ["", render(optimizer.warnings, optimizer.source)]
    return "\n".join(rows).rstrip() + "\n"


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_kinds_and_warnings(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(path.with_suffix(".txt"), report(parse_file(path)))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_specs_are_clean(path: Path) -> None:
    optimizer = parse_file(path)
    assert optimizer.warnings == ()
    assert optimizer.cite and optimizer.title
    assert len(optimizer.computing.splitlines()) < 40


def test_what_adam_declares() -> None:
    adam = parse_file(HERE.parents[1] / "specs" / "adam.opt")
    assert adam.name == "Adam"
    beta2 = adam.all_params["beta2"]
    assert (beta2.default, beta2.interval) == (0.999, Interval(0.0, 1.0, False, True))
    clip = adam.all_params["clip_gradient"]
    assert clip.optional and clip.zero_off and clip.interval == Interval(0.0, math.inf, False, True)
    assert adam.flag("amsgrad").default is False
    assert [s.name for s in adam.program({"amsgrad": False}).states] == ["m", "v"]
    lines = adam.program({"amsgrad": True}).equations
    assert [e.target.key for e in lines] == ["lr_t", "d", "m'", "v'", "v_max'", "w'"]
    assert infer(adam.program({"amsgrad": True}), adam)["lr_t"] is Kind.HOST


def test_what_lbsgd_declares() -> None:
    lbsgd = parse_file(HERE / "good" / "lbsgd.opt")
    n = lbsgd.all_params["batch_scale"]
    assert n.is_int and type(n.default) is int
    assert lbsgd.flag("warmup_strategy").choices == ("linear", "power2", "sqrt", "lars")
    assert lbsgd.flag("plain").condition is not None
    variants = list(lbsgd.variants())
    # 4 strategies x heavy; `plain` follows from them.
    assert len(variants) == 8
    assert all(v["plain"] == (v["warmup_strategy"] == "linear" and not v["heavy"]) for v in variants)


def test_reads_follows_g_and_flags() -> None:
    sgd = parse_file(HERE.parents[1] / "specs" / "sgd.opt")
    assert {"lr", "wd", "momentum", "clip_gradient", "rescale_grad", "grad"} <= sgd.reads
    plain = parse_text("optimizer X\nupdate:\n  w' = w - lr*grad\n")
    assert "clip_gradient" not in plain.reads and "wd" not in plain.reads


def test_aliases() -> None:
    novograd = parse_file(HERE / "good" / "novograd.opt")
    assert novograd.aliases == ("novo", "nvgrad")
    assert novograd.all_params["beta1"].aliases == ("momentum", "rho")


def test_precedence_is_kept() -> None:
    def value(text: str) -> object:
        return (
            parse_text(f"optimizer X\nstate a = 1\nstate b = 1\nupdate:\n  a' = a\n  b' = b\n  w' = {text}\n")
            .update[-1]
            .value
        )

    assert value("-a^2") == value("-(a^2)") != value("(-a)^2")
    assert value("a^b^w") == value("a^(b^w)") != value("(a^b)^w")
    assert value("a/b*w") == value("(a/b)*w") != value("a/(b*w)")
    assert value("a - b - w") == value("(a - b) - w") != value("a - (b - w)")
    assert value("2^-a*b") == value("(2^(-a))*b")
    assert value("where(not a == b and a > b or b > w, a, b)") == value(
        "where(((not (a == b)) and (a > b)) or (b > w), a, b)"
    )


def test_two_spellings_of_one_text_are_equal_whatever_their_spans() -> None:
    one = parse_text("optimizer X\nupdate:\n  w' = w - lr*g\n")
    other = parse_text("optimizer X\n# comment\n\nupdate:\n\tw'=w-lr  *  g\n")
    assert one == other
    assert one != replace(other, name="Y")


@pytest.mark.parametrize(
    ("line", "excluded"),
    [('require not (a and b) "no"', 1), ('require a or b "no"', 1), ('require a == a or rank > 1 "no"', None)],
)
def test_require_excludes_variants(line: str, excluded: int | None) -> None:
    text = f"optimizer X\nflag a = false\nflag b = false\n{line}\nupdate:\n  w' = w - g if a or b\n  w' = w otherwise\n"
    if excluded is None:
        with pytest.raises(SpecErrors, match="E305"):
            parse_text(text)
    else:
        assert len(list(parse_text(text).variants())) == 4 - excluded


def test_an_excluded_variant_is_not_checked() -> None:
    text = "optimizer X\nflag a = false\nflag b = false\n{}update:\n  w' = w - g if not (a and b)\n"
    with pytest.raises(SpecErrors, match="w' is not defined when a and b"):
        parse_text(text.format(""))
    parse_text(text.format('require not (a and b) "a excludes b"\n'))


def test_parsing_again_gives_the_same() -> None:
    for path in (*SHIPPED, *GOOD):
        assert parse_file(path) == parse_file(path)
