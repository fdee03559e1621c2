"""Commands that read all specs that come along share what the first one of them has checked."""

from __future__ import annotations

from functools import cache

import pytest

from optgen import pipeline

CHECKED = cache(pipeline.check)


@pytest.fixture
def checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "check", CHECKED)
