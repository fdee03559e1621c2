"""Each spec with each transform: what is refused is in a table, and anything else is a spec without errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

import optgen
from optgen import pipeline, specfiles
from optgen.diagnostics import SpecErrors

TABLE = Path(__file__).parent / "pairs.txt"
Pair = tuple[str, str]


def refused(pairs: Iterator[Pair] | list[Pair], *, parsed: bool) -> dict[Pair, str]:
    """The pairs that are refused, with the first message."""
    found: dict[Pair, str] = {}
    for base, transform in pairs:
        try:
            source = pipeline.chain(f"{base} with {transform}")
            if parsed:
                optgen.parse(source.text)
        except SpecErrors as errors:
            found[base, transform] = errors.diagnostics[0].message
        except ValueError as error:
            found[base, transform] = str(error)
    return found


def every_pair() -> Iterator[Pair]:
    return product(specfiles.all_available(), specfiles.transforms())


def written(found: dict[Pair, str]) -> str:
    """The table: each message, and the transforms and bases of the pairs that it is of."""
    by_message: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (base, transform), message in found.items():
        by_message[message][transform].append(base)
    lines = [f"{len(found)} of {len(list(every_pair()))} pairs"]
    for message, pairs in sorted(by_message.items()):
        of_bases: dict[str, list[str]] = defaultdict(list)
        for transform, bases in pairs.items():
            of_bases[" ".join(bases)].append(transform)
        lines += ["", message]
        lines += [f"  {', '.join(transforms)}: {bases}" for bases, transforms in of_bases.items()]
    return "\n".join(lines) + "\n"


def test_a_sample_of_pairs_is_as_the_table_says() -> None:
    """Each transform with two bases, other ones for each, and each of the refusals once."""
    bases, transforms = specfiles.all_available(), specfiles.transforms()
    table = read(TABLE.read_text(encoding="utf-8"))
    sample = [(bases[(11 * k + j) % len(bases)], x) for k, x in enumerate(transforms) for j in (0, 5)]
    sample += {message: pair for pair, message in table.items()}.values()
    assert refused(sample, parsed=True) == {pair: table[pair] for pair in sample if pair in table}


def read(table: str) -> dict[Pair, str]:
    """The pairs of a table, with their messages."""
    found: dict[Pair, str] = {}
    message = ""
    for line in table.splitlines()[1:]:
        if line.startswith("  "):
            transforms, _, bases = line.strip().partition(": ")
            found |= dict.fromkeys(product(bases.split(), transforms.split(", ")), message)
        else:
            message = line
    return found


@pytest.mark.stress
def test_the_table(golden: Callable[[Path, str], None]) -> None:
    found = refused(every_pair(), parsed=False)
    golden(TABLE, written(found))
    assert read(written(found)) == found


@pytest.mark.stress
@pytest.mark.parametrize("transform", specfiles.transforms())
def test_what_is_not_refused_has_no_errors(transform: str) -> None:
    table = read(TABLE.read_text(encoding="utf-8"))
    pairs = [(base, transform) for base in specfiles.all_available() if (base, transform) not in table]
    assert refused(pairs, parsed=True) == {}
