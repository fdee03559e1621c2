"""Updates of all participants or of none, whatever stops them."""

from __future__ import annotations

import pytest

from optgen.execute.transaction import Transaction


class Account:
    """A participant that adds one in an attempt and ten in a run, and raises where it is told to."""

    may_fail = True

    def __init__(self, **raises: BaseException) -> None:
        self.value, self._before, self._raises = 0, 0, raises

    def attempt(self) -> None:
        self._before = self.value
        self.value += 1
        self._raise("attempt")

    def undo(self) -> None:
        self.value = self._before

    def run(self) -> None:
        self.value += 10
        self._raise("run")

    def _raise(self, where: str) -> None:
        if where in self._raises:
            raise self._raises.pop(where)


class Safe(Account):
    """A participant that has nothing to attempt."""

    may_fail = False

    def attempt(self) -> None:
        raise AssertionError("it says that it has nothing to attempt")

    undo = attempt


def begun(*accounts: Account) -> Transaction:
    transaction = Transaction("a step")
    transaction.begin(accounts)
    return transaction


def test_a_run_attempts_what_was_not_attempted_and_ends_it() -> None:
    accounts = Account(), Safe()
    transaction = begun(*accounts)
    transaction.run()
    assert [x.value for x in accounts] == [11, 10]
    for again in (transaction.attempt, transaction.run):
        with pytest.raises(RuntimeError, match=r"'a step': call prepare\(\) before run\(\), each time"):
            again()
    transaction.begin(accounts)
    transaction.attempt()
    transaction.attempt()
    transaction.run()
    assert [x.value for x in accounts] == [22, 20]


@pytest.mark.parametrize("error", [ArithmeticError("singular"), KeyboardInterrupt()])
def test_whatever_stops_an_attempt_leaves_nothing_of_it(error: BaseException) -> None:
    accounts = Account(), Account(attempt=error), Account()
    transaction = begun(*accounts)
    with pytest.raises(type(error)):
        transaction.run()
    assert [x.value for x in accounts] == [0, 0, 0]
    transaction.run()  # it is still begun
    assert [x.value for x in accounts] == [11, 11, 11]


def test_what_was_attempted_can_be_undone() -> None:
    account = Account()
    transaction = begun(account)
    transaction.undo()
    transaction.attempt()
    transaction.undo()
    assert account.value == 0
    transaction.attempt()
    transaction.cancel()
    assert account.value == 0
    with pytest.raises(RuntimeError, match="prepare"):
        transaction.run()


def test_an_interrupt_waits_until_all_have_run() -> None:
    accounts = Account(run=KeyboardInterrupt()), Account(), Account(run=SystemExit()), Account()
    with pytest.raises(SystemExit):
        begun(*accounts).run()
    assert [x.value for x in accounts] == [11, 11, 11, 11]
