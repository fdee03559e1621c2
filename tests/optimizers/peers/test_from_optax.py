"""docs/from-optax.md: it names all that optax has, and what it says of arguments and transforms is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import optgen
from optgen import specfiles

HERE = Path(__file__).parent
GUIDE = (HERE.parents[2] / "docs" / "from-optax.md").read_text("utf-8")
CONSTRUCTORS: dict[str, list[str]] = json.loads((HERE / "data" / "optax.json").read_text("utf-8"))
NAME = re.compile(r"`((?:contrib\.)?[A-Za-z_]\w*)(?:\([^`]*\))?`")


def rows(section: str) -> list[list[str]]:
    """The cells of the tables of a section."""
    text = re.split(r"^## ", GUIDE, flags=re.M)
    lines = next(part for part in text if part.startswith(section + "\n")).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] not in ("optax", "argument of optax")]


def names(section: str) -> set[str]:
    return {name for row in rows(section) for name in NAME.findall(row[0])}


TABLES = rows("Optimizers")
FIRST = next(i for i, row in enumerate(TABLES) if row[0].startswith("`learning_rate`"))
OPTIMIZERS = {name for row in TABLES[:FIRST] for name in NAME.findall(row[0])}


def test_everything_in_optax_is_named_once_or_more() -> None:
    named = names("Optimizers") | names("Chains") | names("What is not here")
    assert set(CONSTRUCTORS) - named == set()
    assert {
        name for name in CONSTRUCTORS if f"optax/{name.split('.')[-1]}" in specfiles.available("optax")
    } == OPTIMIZERS


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_arguments_are_those_of_optax(name: str) -> None:
    """An argument that the spec does not have is in the second table, for all optimizers or for this one."""
    word = name.split(".")[-1]
    spec = optgen.parse(specfiles.source(specfiles.spec_path(f"optax/{word}")).text)
    ours = {x.name for x in (*spec.params, *spec.flags)}
    excepted = set()
    for row in TABLES[FIRST:]:
        of = re.search(r" of (`\w+`(?:(?:, | and )`\w+`)*)", row[0])
        if of is None or f"`{word}`" in of[1]:
            excepted |= set(re.findall(r"`(\w+)", row[0]))
    assert set(CONSTRUCTORS[name]) - ours <= excepted


def test_transforms_are_those_of_the_guide() -> None:
    ours = {name.removeprefix("optax/") for name in specfiles.transforms() if name.startswith("optax/")}
    theirs = {name.split(".")[-1] for name in names("Chains") - {"MultiSteps"}} | {"multi_steps"}
    assert ours <= theirs
    for spec in re.findall(r'"((?:optax/)?\w+ with [^"]+)"', GUIDE):
        optgen.load(spec)
    for call in re.findall(r"`(optax/\w+(?:\([^`]*\))?)`", "\n".join(row[1] for row in rows("Chains"))):
        spec = f"sgd with {call}" if call.partition("(")[0] in specfiles.transforms() else call
        optgen.load(spec.replace("= k)", "= 2)"))
