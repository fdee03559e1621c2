"""An update that is made whole or not at all: what takes part in it, and in which order it is asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Participant(Protocol):
    """A part of an update, which a `Transaction` calls in order: it needs no flags of its own."""

    @property
    def may_fail(self) -> bool:
        """Whether there is something to attempt; if not, neither `attempt` nor `undo` need be called."""

    def attempt(self) -> None:
        """Make what may fail, as factorizations may, before anything else is made."""

    def undo(self) -> None:
        """Have everything be as before `attempt`, however far that came."""

    def run(self) -> None:
        """Make the rest."""


class Infallible:
    """A participant that has nothing to attempt."""

    may_fail = False

    def attempt(self) -> None:
        """Nothing."""

    def undo(self) -> None:
        """Nothing."""


class Transaction:
    """Updates of some participants: each time of all of them, or of none.

    First, participants are prepared, each by whoever has it: they look at what they need, and refuse what they cannot
    use, before any weight, state or count has changed. Then the transaction is begun. `attempt` has them make what may
    fail: whatever it raises, an interrupt too, has been undone then. `run` has them make the rest. An interrupt that
    comes behind the native call of a participant is raised once all have run, and the update is whole. What comes
    elsewhere within `run` leaves a part of one, as an exchange that raises, a GPU that is lost, or an interrupt between
    two native calls of a participant that makes several: matrices one after the other, or tables on a GPU.

    What was attempted is undone if it is begun anew. `has_run` says whether all have run since it was begun, even if an
    interrupt was raised then. `subject` is what errors call the step.
    """

    def __init__(self, subject: object) -> None:
        self._subject = subject
        self._participants: Sequence[Participant] = ()
        self.is_begun = self._is_attempted = self.has_run = False

    def begin(self, participants: Sequence[Participant]) -> None:
        """Take part, all of these, which were prepared."""
        self._participants, self.is_begun, self.has_run = participants, True, False

    def attempt(self) -> None:
        """Have all participants make what may fail, or none; RuntimeError if this was not begun."""
        if not self.is_begun:
            raise RuntimeError(f"{self._subject!r}: call prepare() before run(), each time")
        if self._is_attempted:
            return
        self._is_attempted = True  # set first, as an interrupt may come at any time and has to be undone
        try:
            for participant in self._participants:
                if participant.may_fail:
                    participant.attempt()
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Have everything be as before `attempt`."""
        if self._is_attempted:
            for participant in self._participants:
                if participant.may_fail:
                    participant.undo()
            self._is_attempted = False

    def cancel(self) -> None:
        """Have everything be as before this was begun."""
        self.undo()
        self.is_begun = self.has_run = False

    def run(self) -> None:
        """Have all participants make what is left, and what may fail if it was not attempted."""
        if not self._is_attempted:
            self.attempt()
        self.is_begun = self._is_attempted = False
        interrupt = None
        for participant in self._participants:
            try:
                participant.run()
            except (KeyboardInterrupt, SystemExit) as error:
                interrupt = error
        self.has_run = True
        if interrupt is not None:
            raise interrupt
