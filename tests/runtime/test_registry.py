"""`mx.registry`: classes by name, for libraries that register their own kinds; and what unknown names are told."""

from __future__ import annotations

import pytest

from runtime import registry
from runtime.base import did_you_mean
from tests.lang.test_nearest import NEAREST


class Shape:
    def __init__(self, size: int = 1) -> None:
        self.size = size


register = registry.get_register_func(Shape, "shape")
alias = registry.get_alias_func(Shape, "shape")
create = registry.get_create_func(Shape, "shape")


@register
@alias("box", "Cube")
class Square(Shape):
    pass


def test_objects_are_made_by_name() -> None:
    assert registry.get_registry(Shape) == dict.fromkeys(("square", "box", "cube"), Square)
    shapes = [
        create("BOX", 3),
        create("box", size=3),
        create(shape="square", size=3),
        create({"shape": "cube", "size": 3}),
    ]
    shapes += [create('["square", {"size": 3}]'), create('{"shape": "square", "size": 3}')]
    assert all(type(shape) is Square and shape.size == 3 for shape in shapes)
    assert create(shapes[0]) is shapes[0]
    register(Shape, "any")
    assert type(create("any")) is Shape
    assert registry.get_registry(Square) == {}


def test_errors() -> None:
    with pytest.raises(TypeError, match="derived from Shape; int is not"):
        register(int)
    with pytest.raises(ValueError, match="unknown shape 'boxx'; did you mean 'box'"):
        create("boxx")
    with pytest.raises(ValueError, match="this shape exists already"):
        create(Square(), 2)
    with pytest.raises(ValueError, match="names it under 'shape'"):
        create(size=2)


@pytest.mark.parametrize(("name", "known", "near"), NEAREST)
def test_unknown_names_are_told_what_is_near_or_all_that_is_known(name: str, known: str, near: str | None) -> None:
    tail = f"; did you mean '{near}'?" if near else f"; known: {', '.join(sorted(known.split()))}"
    assert did_you_mean(name, known.split()) == (tail if known else "")
