"""Constants that depend on the machine: their table, the file of their values, and that no bit depends on them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from optgen.backends import machine
from optgen.objectcode import cache
from tests.machine import EXTREMES, bits, bits_of_defaults, extremes

NAME = "threads.min_wake_elements"
IN_KERNELS = "sweeps.prefetch_bytes"
BITS = "tests.compiler.machine_bits"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place of the file in a cache of its own."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(folder))
    monkeypatch.delenv("OPTGEN_MACHINE")
    machine.changed.cache_clear()
    yield folder / machine.FILE
    monkeypatch.undo()
    machine.changed.cache_clear()


def value() -> int:
    machine.changed.cache_clear()
    return machine.value(NAME)


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("name", machine.CONSTANTS)
def test_a_default_and_the_ends_of_its_range_are_values(name: str) -> None:
    constant = machine.CONSTANTS[name]
    assert re.fullmatch("[a-z]+[.][a-z_]+", name)
    assert all(map(constant.allows, (constant.least, constant.default, constant.most)))
    assert constant.least < constant.most
    assert not any(map(constant.allows, (constant.least - 1, constant.most + 1, True, 1.0, "1", None)))
    assert constant.multiple == 1 or not constant.allows(constant.least + 1)


@pytest.mark.parametrize("name", machine.CONSTANTS)
def test_a_constant_is_used_once(name: str) -> None:
    """Where its value is read; other files import it from there."""
    root = Path(__file__).parents[2]
    paths = [path for package in ("optgen", "runtime") for path in (root / package).rglob("*.py")]
    found = [path for path in paths if f'machine.value("{name}")' in path.read_text("utf-8")]
    assert len(found) == 1


def test_constants_that_enter_kernels_are_those_of_code_that_emits_them() -> None:
    """Kernels of specs may depend on no others, as the key of the cache has these alone."""
    texts = [x.read_text("utf-8") for x in (Path(__file__).parents[2] / "optgen" / "backends" / "cpu").rglob("*.py")]
    for name, constant in machine.CONSTANTS.items():
        assert any(f'"{name}"' in text for text in texts) == constant.in_kernels, name


# ---------------------------------------------------------------- the file


def test_without_a_file_there_are_the_defaults(file: Path) -> None:
    assert value() == machine.CONSTANTS[NAME].default and machine.changed() == {}


def test_a_file_is_read(file: Path) -> None:
    file.write_text(machine.text({NAME: 5000}))
    assert value() == 5000
    assert machine.read(file) == {NAME: 5000} == machine.changed()


def test_the_environment_names_a_file_or_none(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file.write_text(machine.text({NAME: 5000}))
    named = tmp_path / "named.json"
    named.write_text(machine.text({NAME: 6000}))
    monkeypatch.setenv("OPTGEN_MACHINE", str(named))
    assert value() == 6000
    monkeypatch.setenv("OPTGEN_MACHINE", "")
    assert value() == machine.CONSTANTS[NAME].default


def test_another_cpu_has_the_defaults(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine.identity()
    for other in ({**here, "cpu": "another"}, {**here, "features": "+another"}):
        with monkeypatch.context() as patch:
            patch.setattr(machine, "identity", lambda other=other: other)
            file.write_text(machine.text({NAME: 5000}))
        assert value() == machine.CONSTANTS[NAME].default


def test_a_folder_open_to_others_is_not_used(file: Path) -> None:
    file.write_text(machine.text({NAME: 5000}))
    file.parent.chmod(0o755)
    assert value() == machine.CONSTANTS[NAME].default


GOOD: dict[str, Any] = {NAME: 5000}
DAMAGED = {
    "": "is no JSON object with cpu, features, constants",
    "{": "is no JSON object with",
    "[]": "is no JSON object with",
    "[" * 60_000: "is no JSON object with",
    '{"cpu": "x"}': "is no JSON object with",
    '{"cpu": 1, "features": "", "constants": {}}': "cpu is no text",
    '{"cpu": "", "features": "", "constants": []}': "constants is no object",
    " " * machine.MOST_BYTES + "{}": "is no JSON object with",
    '{NAME: "5000"}': f"{NAME} must be a whole number from 1024 to 67108864, not '5000'",
    "{NAME: 1}": f"{NAME} must be a whole number from 1024 to 67108864, not 1",
    "{NAME: True}": "not True",
    "{NAME: 5000.0}": "not 5000.0",
    "{IN_KERNELS: 100}": f"{IN_KERNELS} must be a multiple of 64 from 64 to 8192, not 100",
    '{"threads.many": 1}': "there is no constant 'threads.many'",
}
"""Contents, or the values in a file of this machine, and what is said of them."""


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_named_and_leaves_the_defaults(content: str, file: Path) -> None:
    values = {
        '{NAME: "5000"}': {NAME: "5000"},
        "{NAME: 1}": {NAME: 1},
        "{NAME: True}": {NAME: True},
        "{NAME: 5000.0}": {NAME: 5000.0},
        "{IN_KERNELS: 100}": {IN_KERNELS: 100},
        '{"threads.many": 1}': {"threads.many": 1},
    }
    file.write_text(machine.text(values[content]) if content in values else content)
    with pytest.warns(UserWarning, match=re.escape(DAMAGED[content])) as said:
        assert value() == machine.CONSTANTS[NAME].default
    assert str(file) in str(said[0].message) and "`optgen tune` measures anew" in str(said[0].message)


def test_what_is_no_file_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(file)
    for path in (file, file.parent, file.parent / "missing"):
        monkeypatch.setenv("OPTGEN_MACHINE", str(path))
        with pytest.warns(UserWarning, match="is no file"):
            assert value() == machine.CONSTANTS[NAME].default


def test_the_key_of_the_cache_has_what_enters_kernels(file: Path) -> None:
    before = cache.key("x")
    for values, same in (({NAME: 5000}, True), ({IN_KERNELS: 1024}, True), ({IN_KERNELS: 512}, False)):
        file.write_text(machine.text(values))
        machine.changed.cache_clear()
        assert (cache.key("x") == before) == same


# ---------------------------------------------------------------- bits


@pytest.mark.parametrize("which", EXTREMES)
def test_no_bit_depends_on_them(which: str, tmp_path: Path) -> None:
    assert bits(BITS, extremes(which), tmp_path) == bits_of_defaults(BITS)
