"""Methods of a step that never run twice at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Used(Protocol):
    """An object with such methods."""

    rule: Any
    _users: list[tuple[int]]


AnyStep = TypeVar("AnyStep", bound=Used)
P = ParamSpec("P")
R = TypeVar("R")


def exclusive(method: Callable[Concatenate[AnyStep, P], R]) -> Callable[Concatenate[AnyStep, P], R]:
    """A method of a step that raises RuntimeError while another such method of the same step runs.

    Two at once would write the same memory. The second one does not wait: an exchange that calls its own step would
    wait for ever.
    """

    @functools.wraps(method)
    def called(self: AnyStep, /, *args: P.args, **kwargs: P.kwargs) -> R:
        users, me = self._users, (get_ident(),)
        # A list and no lock: wherever an interrupt (ctrl-C) comes, who has entered leaves.
        try:
            users.append(me)
            first = users[0]
            if first is not me:
                by = "its own exchange" if first == me else "another thread"
                raise RuntimeError(f"{self.rule!r}: this step is in use by {by}")
            return method(self, *args, **kwargs)
        finally:
            users.remove(me)

    return called
