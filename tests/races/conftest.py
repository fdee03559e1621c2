"""A cache of its own for each test, so that trials of one are none of another, and races without processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from optgen.races import pool, store
from optgen.races.pool import TrialJob
from optgen.races.trials import Outcome


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder where trials are kept."""
    folder = tmp_path / "races"
    monkeypatch.setattr(store, "folder", lambda: folder)
    return folder


class HereAndNow:
    """A pool of one that runs its job in this process when it is asked for it; after `limit` jobs, Ctrl-C comes."""

    ran: list[TrialJob]
    limit = 1000

    def __init__(self, processes: int) -> None:
        self._job: TrialJob | None = None

    def __enter__(self) -> HereAndNow:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def has_room(self) -> bool:
        return self._job is None

    def submit(self, job: TrialJob) -> None:
        self._job = job

    def finished(self) -> Iterator[tuple[TrialJob, Outcome | str]]:
        job, self._job = self._job, None
        assert job is not None
        if len(self.ran) == self.limit:
            raise KeyboardInterrupt
        self.ran.append(job)
        yield job, pool._outcome(job)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> type[HereAndNow]:
    found = type("Here", (HereAndNow,), {"ran": []})
    monkeypatch.setattr(pool, "TrialPool", found)
    return found
