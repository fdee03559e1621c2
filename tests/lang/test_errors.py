"""What a user reads when a spec is wrong: one golden file per malformed spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optgen.diagnostics import Source, SpecErrors
from optgen.lang import parse

BAD = sorted((Path(__file__).parent / "bad").glob("*.opt"))


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_error_text(path: Path, golden: Callable[[Path, str], None]) -> None:
    source = Source(path.name, path.read_bytes().decode("utf-8", "surrogatepass"))
    with pytest.raises(SpecErrors) as caught:
        parse(source)
    golden(path.with_suffix(".err"), f"{caught.value}\n")
