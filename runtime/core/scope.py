"""Objects with `with` blocks, one stack of them per thread: `Class.current` is the innermost of this thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Self


class ThreadStack(threading.local):
    """The objects whose `with` blocks this thread is in, innermost last. The first is a default made by `make`."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.stack = [make()]

    @property
    def value(self) -> Any:
        """The innermost object, which may be replaced, as in MXNet's `_current`."""
        return self.stack[-1]

    @value.setter
    def value(self, value: Any) -> None:
        self.stack[-1] = value


class _WithCurrent(type):
    """A metaclass that makes `current` a property of the class."""

    entered: ThreadStack

    @property
    def current(cls) -> Any:
        return cls.entered.value

    @current.setter
    def current(cls, value: Any) -> None:
        cls.entered.value = value

    @property
    def _current(cls) -> ThreadStack:
        """What MXNet calls the stack."""
        return cls.entered


class Scoped(metaclass=_WithCurrent):
    """A base class: inside `with x:`, x is the `current` object of its class, in this thread.

    A direct subclass has a stack of its own, which its subclasses share. The default is an object of the direct
    subclass, which is called without arguments.
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
