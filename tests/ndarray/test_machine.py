"""No bit depends on the constants that depend on the machine, and `optgen tune` measures those of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

from optgen.tune import SUBJECTS
from tests.machine import EXTREMES, bits, bits_of_defaults, extremes, measured_by, of_subject

pytestmark = pytest.mark.cpu_only("code of the CPU")
BITS = "tests.ndarray.machine_bits"


@pytest.mark.parametrize("which", EXTREMES)
def test_no_bit_depends_on_them(which: str, tmp_path: Path) -> None:
    assert bits(BITS, extremes(which), tmp_path) == bits_of_defaults(BITS)


@pytest.mark.parametrize("subject", [x for x, module in SUBJECTS.items() if module.startswith("runtime.")])
def test_each_constant_is_measured(subject: str) -> None:
    assert measured_by(SUBJECTS[subject]) == of_subject(subject)
