"""Objects whose `with` blocks belong to the thread: `Class.current` is the one whose block the thread is in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Self


class ThreadStack(threading.local):
    """The objects whose blocks this thread is in, after its default, which `make` makes."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.stack = [make()]


class _WithCurrent(type):
    """Makes `current` readable and assignable on the class."""

    entered: ThreadStack

    @property
    def current(cls) -> Any:
        return cls.entered.stack[-1]

    @current.setter
    def current(cls, value: Any) -> None:
        cls.entered.stack[-1] = value


class Scoped(metaclass=_WithCurrent):
    """`with x:` x is its class's `current` inside, in this thread. Subclasses share it with the class they are of.

    A class made directly from this one is its own default: it can be made without arguments.
    """

    entered: ClassVar[ThreadStack]

    def __init_subclass__(cls) -> None:
        if Scoped in cls.__bases__:
            cls.entered = ThreadStack(cls)

    def __enter__(self) -> Self:
        type(self).entered.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        type(self).entered.stack.pop()
