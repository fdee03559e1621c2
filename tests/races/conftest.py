"""A cache of its own for each test, so that trials of one are none of another; kernels are those of the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from optgen.races import store


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder where trials are kept."""
    folder = tmp_path / "races"
    monkeypatch.setattr(store, "folder", lambda: folder)
    return folder
