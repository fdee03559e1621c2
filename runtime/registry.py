"""Registries of classes by name: they make objects from names such as 'adam' or 'xavier'."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from runtime.base import ArgumentError, did_you_mean


class Registry:
    """Classes by name, in any case. `kind` is the word for them in error messages."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type] = {}

    def register(self, cls: type, *names: str) -> type:
        """Enter `cls` under its own name and under `names`; an earlier entry is replaced. Returns `cls`."""
        for name in (cls.__name__, *names):
            self.enter(name, cls)
        return cls

    def enter(self, name: str, cls: type) -> type:
        """Enter `cls` under `name` alone. Returns `cls`."""
        self._classes[name.lower()] = cls
        return cls

    def get(self, name: str) -> type:
        """The class called `name`; ArgumentError, with the nearest known name, if there is none."""
        try:
            return self._classes[name.lower()]
        except KeyError:
            raise ArgumentError(f"unknown {self.kind} '{name}'{self.hint(name.lower())}") from None

    def hint(self, name: str) -> str:
        """The tail of the message about an unknown name: what may be meant."""
        return did_you_mean(name, self)

    def create(self, config: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """A new object: of the class of that name, with these arguments; or as a configuration describes it, which is
        `{kind: name, argument: value, ...}` or `[name, {argument: value, ...}]`, as a dict or in JSON."""
        if isinstance(config, str) and config[:1] in ("[", "{"):
            config = self._parsed(config)
        if isinstance(config, dict):
            kwargs = {**config, **kwargs}
            if self.kind not in kwargs:
                raise ArgumentError(f"a configuration of a {self.kind} names it under '{self.kind}': {config}")
            config = kwargs.pop(self.kind)
        if not isinstance(config, str):
            raise TypeError(f"expected the name of a {self.kind}, not {type(config).__name__}")
        return self.get(config)(*args, **kwargs)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            config = json.loads(text)
            if isinstance(config, list):
                name, arguments = config
                config = {self.kind: name, **arguments}
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"this is no configuration of a {self.kind}: {text!r}: {error}") from None
        return config

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)


_of_classes: dict[type, Registry] = {}


def _registry_of(base_class: type, nickname: str) -> Registry:
    if base_class not in _of_classes:
        _of_classes[base_class] = Registry(nickname)
    return _of_classes[base_class]


def get_registry(base_class: type) -> dict[str, type]:
    """The classes registered as kinds of `base_class` so far, by their names in lower case."""
    registry = _of_classes.get(base_class, ())
    return {name: registry.get(name) for name in registry}


def get_register_func(base_class: type, nickname: str) -> Callable[..., type]:
    """A function, or decorator, that registers a class derived from `base_class` under its own name or a given one;
    `nickname` is what the errors call such classes."""
    registry = _registry_of(base_class, nickname)

    def register(cls: type, name: str | None = None) -> type:
        if not issubclass(cls, base_class):
            raise TypeError(f"a {nickname} is derived from {base_class.__name__}; {cls.__name__} is not")
        return registry.register(cls) if name is None else registry.enter(name, cls)

    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[type], type]]:
    """A decorator whose arguments are the names to register a class under."""
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[type], type]:
        def decorator(cls: type) -> type:
            for name in names:
                register(cls, name)
            return cls

        return decorator

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function that makes an object as `Registry.create` does, of the kind that its first argument, or the keyword
    argument `nickname`, names. An object of such a class is returned as it is."""
    registry = _registry_of(base_class, nickname)

    def create(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return registry.create(kwargs)
        if not isinstance(args[0], base_class):
            return registry.create(*args, **kwargs)
        if len(args) > 1 or kwargs:
            raise ArgumentError(f"this {nickname} exists already; it takes no arguments")
        return args[0]

    return create
