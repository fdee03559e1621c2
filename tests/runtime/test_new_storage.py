"""State files of storages that nobody has heard of: their records are all that they need."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.compiler.new_storages import NAMES, registered
from tests.runtime.test_state_files import contents, copy_weights, train, trainer_of
from tests.sweeps import swept


@pytest.fixture(autouse=True)
def new_storages(tmp_path: Path) -> Iterator[None]:
    with registered(tmp_path):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_states_are_saved_and_go_on_bit_by_bit(name: str, tmp_path: Path) -> None:
    first, second = trainer_of("adam", storage=name), trainer_of("adam", storage=name)
    train(first, 3)
    first.save_states(tmp_path / "states")
    copy_weights(first, second)
    second.load_states(tmp_path / "states")
    train(first, 2)
    train(second, 2)
    assert contents(first) == contents(second)


OTHERS = (None, "int8_dynamic", "bfloat16")


@pytest.mark.parametrize(
    ("name", "other"),
    swept(
        itertools.product(NAMES, OTHERS),
        [*zip(NAMES, (*OTHERS, "int8_dynamic"), strict=True), ("int8_even", None)],
    ),
)
def test_states_become_those_of_other_storages(name: str, other: str | None, tmp_path: Path) -> None:
    for source, target in ((name, other), (other, name)):
        first, second = (trainer_of("adam", storage={"m": x} if x else None) for x in (source, target))
        train(first, 4)
        first.save_states(tmp_path / "states")
        copy_weights(first, second)
        second.load_states(tmp_path / "states")
        for a, b in zip(train(first, 1), train(second, 1), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-2, atol=1e-2)
