"""A spec's `lr_hint` and `schedule own`, what chains make of it, and that no code depends on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import optgen
from optgen import pipeline, spec_identity
from optgen.backends import target
from optgen.diagnostics import Source, SpecErrors
from optgen.ir import Variant
from optgen.lang import format_text
from optgen.model import Optimizer
from optgen.objectcode import cache

PLAIN = """\
optimizer Plain
{}state m = 0
update:
  m' = 0.9*m + g
  w' = w - lr*m'
"""
HINT = 'lr_hint 0.25 "a sweep"\n'
OWN = 'schedule own "theorem 1"\n'


def said(spec: Optimizer) -> tuple[float | None, str, bool, str]:
    return spec.lr_hint, spec.lr_hint_source, spec.has_own_schedule, spec.schedule_source


def test_what_is_said_is_in_the_model_and_stays_when_laid_out() -> None:
    text = PLAIN.format(HINT + OWN)
    assert said(optgen.parse(text)) == (0.25, "a sweep", True, "theorem 1")
    assert said(optgen.parse(PLAIN.format(""))) == (None, "", False, "")
    assert format_text(Source("f", text.replace("lr_hint 0.25", "  lr_hint   0.25"))) == text
    assert "\n".join(optgen.parse(text).advice) == (
        "begin with lr = 0.25: a sweep\nown schedule, no decay of lr is needed: theorem 1"
    )


def test_of_a_chain_the_last_transform_that_says_something_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = PLAIN.format(HINT)
    for name, lines in (("silent", ""), ("slow", 'lr_hint 0.01 "slow.pdf"\n'), ("averaged", OWN)):
        text = f"transform {name.title()}\n{lines}update:\n  w' = use base()\n"
        Path(f"{name}.opt").write_text(text)
    Path("plain.opt").write_text(spec)
    Path("matrices.opt").write_text(spec.replace("state", 'require rank == 2 "a matrix"\nstate').replace("0.25", "2"))
    Path("using.opt").write_text("optimizer Using\nupdate:\n  w' = use plain()\n")
    for chain, expected in {
        "plain.opt with ./silent.opt": (0.25, "a sweep", False, ""),
        "plain.opt with ./slow.opt, ./silent.opt": (0.01, "slow.pdf", False, ""),
        "plain.opt with ./slow.opt, ./averaged.opt": (0.01, "slow.pdf", True, "theorem 1"),
        "matrices.opt otherwise ./plain.opt": (2.0, "a sweep", False, ""),
        "using.opt": (None, "", False, ""),
    }.items():
        assert said(optgen.load(chain).spec) == expected, chain


@pytest.mark.parametrize("rate", ["0", "1e-320", "1e308"])
def test_a_rate_has_neighbours(rate: str) -> None:
    with pytest.raises(SpecErrors, match=r"the rate .*\n.*\n.*\n.*\n.*from 1e-12 to 1e12"):
        optgen.parse(PLAIN.format(f'lr_hint {rate} "a sweep"\n'))


@pytest.mark.parametrize("line", [HINT, OWN, HINT.replace("0.25", "0.5") + OWN])
def test_no_code_depends_on_it(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path))  # which no other test writes to
    without, spec = optgen.parse(PLAIN.format("")), optgen.parse(PLAIN.format(line))
    assert spec.computing == without.source.text == without.computing
    assert spec_identity.identity(spec) == spec_identity.identity(without)
    backend = pipeline.CpuBackend(target.host())
    pipeline.code(backend, without, Variant({}))
    made = set(cache.folder().glob("*"))
    pipeline.code(backend, spec, Variant({}))
    assert set(cache.folder().glob("*")) == made


SPECS = Path(__file__).parents[2] / "specs"


def test_specs_that_come_along_name_their_sources() -> None:
    """A year, an address or PyTorch's documentation, in all of them; the race begins with these rates."""
    lines = [x for path in SPECS.rglob("*.opt") for x in path.read_text("utf-8").splitlines()]
    sources = [x.split('"')[1] for x in lines if x.startswith(("lr_hint ", "schedule "))]
    assert sum(x.startswith("lr_hint ") for x in lines) >= 80
    assert [x for x in sources if re.search(r"\b(19|20)\d\d\b|https://|PyTorch's documentation", x) is None] == []
