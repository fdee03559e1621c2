"""An interrupt (ctrl-C) that comes behind the native call of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from optgen.execute.steps.step import BoundStep


@contextmanager
def interrupted() -> Iterator[None]:
    """Steps within the block are made, and interrupted then: at least one has to be."""
    run = BoundStep.run

    def run_and_raise(self: Any) -> None:
        run(self)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(BoundStep, "run", run_and_raise)
        yield
