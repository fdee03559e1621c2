"""Attributes of classes: properties that are computed once, and methods of a class as well as of its objects."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class fact(Generic[Value]):
    """A cached property of an object that never changes, as a frozen dataclass: after the first time it is an attribute
    like any other, which takes no call.

    There is no lock, on which a forked child could wait: two threads that ask first may both compute it.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._compute(instance)
        return value


class either:
    """A method of objects and of their class: its first argument is what it is called on."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: object | None, owner: type) -> MethodType:
        return MethodType(self._method, owner if instance is None else instance)
