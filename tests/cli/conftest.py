"""Commands that read all specs that come with optgen share what the first one of them has checked."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from optgen import pipeline

CHECKED = cache(pipeline.check)


@pytest.fixture
def checked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands run in an empty folder, as the names of files are relative to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "check", CHECKED)
