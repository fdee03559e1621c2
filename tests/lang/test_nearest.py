"""What is suggested for a misspelt name: what is really near, and nothing else."""

from __future__ import annotations

import string

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import optgen
from optgen.diagnostics import MOST_LISTED, listed, nearest, suggest

NEAREST = [
    ("bata1", "beta1 beta2 epsilon", "beta1"),
    ("momentun", "momentum nesterov", "momentum"),
    ("ltsm", "rnn_relu lstm gru", "lstm"),  # neighbours swapped
    ("adm", "sgd adam", "adam"),
    ("LR", "wd lr", "lr"),
    ("dist_sink", "device dist_sync", "dist_sync"),  # two edits, of nine letters
    ("clip_grad", "clip clip_gradient", "clip_gradient"),  # an abbreviation
    ("beta", "beta1 beta2", "beta1"),
    ("atan2", "tanh log", None),
    ("foo", "floor for", None),
    ("m", "v n", None),
    ("lstmp", "gru", None),
    ("", "a b", None),
    ("adam", "", None),
]
"""A name that is not known, those that are, and which of them is near."""


@pytest.mark.parametrize(("name", "known", "near"), NEAREST)
def test_nearest(name: str, known: str, near: str | None) -> None:
    assert nearest(name, known.split()) == near
    assert suggest(name, known.split()) == (f"did you mean '{near}'?" if near else None)


@pytest.mark.parametrize(
    ("name", "known", "same"),
    [
        ("weight_decay", "lr wd", "it is 'wd' here"),
        ("wd", "lr weight_decay", "it is 'weight_decay' here"),
        ("eps", "epsilon lr", "it is 'epsilon' here"),
        ("betas", "beta1 beta2", "it is 'beta1' and 'beta2' here"),
        ("beta1", "lr betas", "it is 'betas' here"),
    ],
)
def test_names_of_other_libraries(name: str, known: str, same: str) -> None:
    assert suggest(name, known.split()) == same


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("adamw sam", "did you mean 'adamw with sam'?"),
        ("sam + adamw", "did you mean 'adamw with sam'?"),
        ("adam, ema, sam", "did you mean 'adam with ema, sam'?"),
        ("lookahead", "lookahead is a transform of others, as in 'adam with lookahead'"),
        ("adam_mini", "did you mean 'adammini'?"),
        ("torch/shampoo", "did you mean 'shampoo'?"),
        ("adadeltagrad", "near are adadelta, adagrad; 'optgen list' shows all"),
        ("xyzzy", "'optgen list' shows all"),
    ],
)
def test_hints_at_names_of_specs(name: str, hint: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        optgen.load(name)
    assert str(caught.value) == f"no spec named {name!r}; {hint}"


def distance(a: str, b: str) -> int:
    """The least number of edits by the textbook's table."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1 : j - 3 if j > 2 else None : -1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a), len(b)]


WORD = st.text("abcd", min_size=1, max_size=12)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(WORD, WORD)
def test_edits_are_counted(a: str, b: str) -> None:
    longest = max(len(a), len(b))
    abbreviates = len(a) >= 4 and b.startswith(a)
    assert (nearest(a, [b]) == b) == (distance(a, b) <= min(2, longest // 4) or abbreviates)


def test_long_lists_are_cut() -> None:
    names = [a + b for a in string.ascii_lowercase for b in "xy"]
    assert listed(names[:MOST_LISTED] * 2) == ", ".join(names[:MOST_LISTED])
    assert listed(names) == f"{', '.join(names[:MOST_LISTED])}, and {len(names) - MOST_LISTED} more"
