"""Functions of two variables whose level lines can be drawn, with their gradients: each asks one question of a path.

Another one is a function, its gradient and an entry of FUNCTIONS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Values = NDArray[np.float64]


class PlaneFunction(NamedTuple):
    """A function of two variables; `value` and `gradient` take arrays of x and y of any shape.

    `bounds` are (least x, greatest x, least y, greatest y) of what is drawn. `minimum` is a point of the least value,
    the one nearest to `start`. `title` is what stands behind "on", `question` what a path on it answers. `saddle` is
    the saddle point that a path is to leave, if that is the question.
    """

    value: Callable[[Any, Any], Any]
    gradient: Callable[[Any, Any], tuple[Any, Any]]
    start: Point
    minimum: Point
    bounds: tuple[float, float, float, float]
    title: str
    question: str
    saddle: Point | None = None


def quadratic(x: Any, y: Any) -> Any:
    """Curvatures of 1 and 50, along axes that are turned by 30 degrees."""
    along, across = _turned(x, y)
    return 0.5 * (along**2 + 50 * across**2)


def quadratic_gradient(x: Any, y: Any) -> tuple[Any, Any]:
    along, across = _turned(x, y)
    return _COS * along - 50 * _SIN * across, _SIN * along + 50 * _COS * across


_COS, _SIN = math.cos(math.pi / 6), math.sin(math.pi / 6)


def _turned(x: Any, y: Any) -> tuple[Any, Any]:
    return _COS * x + _SIN * y, _COS * y - _SIN * x


def rosenbrock(x: Any, y: Any) -> Any:
    """Rosenbrock 1960, "An automatic method for finding the greatest or least value of a function"."""
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def rosenbrock_gradient(x: Any, y: Any) -> tuple[Any, Any]:
    return -2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)


def saddle(x: Any, y: Any) -> Any:
    """A saddle at (0, 0), with a minimum on either side."""
    return x**2 - 0.5 * y**2 + 0.25 * y**4


def saddle_gradient(x: Any, y: Any) -> tuple[Any, Any]:
    return 2 * x, y**3 - y


def beale(x: Any, y: Any) -> Any:
    """Beale 1958, "On an iterative method for finding a local minimum of a function of more than one variable"."""
    return sum((c - x * (1 - y**k)) ** 2 for k, c in enumerate(_BEALE, 1))


def beale_gradient(x: Any, y: Any) -> tuple[Any, Any]:
    rests = [(k, y, c - x * (1 - y**k)) for k, c in enumerate(_BEALE, 1)]
    return (
        sum(-2 * rest * (1 - y**k) for k, y, rest in rests),
        sum(2 * rest * k * x * y ** (k - 1) for k, y, rest in rests),
    )


_BEALE = (1.5, 2.25, 2.625)


def rastrigin(x: Any, y: Any) -> Any:
    """Rastrigin 1974: a bowl with a hollow at each whole number."""
    return 20 + x**2 + y**2 - 10 * (np.cos(2 * np.pi * x) + np.cos(2 * np.pi * y))


def rastrigin_gradient(x: Any, y: Any) -> tuple[Any, Any]:
    return 2 * x + 20 * np.pi * np.sin(2 * np.pi * x), 2 * y + 20 * np.pi * np.sin(2 * np.pi * y)


FUNCTIONS = {
    "quadratic": PlaneFunction(
        quadratic, quadratic_gradient, (-4.0, 0.5), (0.0, 0.0), (-5.0, 2.5, -3.0, 2.5),
        "a quadratic of condition 50", "Does the path swing across the valley, or go along it?",
    ),
    "rosenbrock": PlaneFunction(
        rosenbrock, rosenbrock_gradient, (-1.2, 1.0), (1.0, 1.0), (-1.8, 1.8, -0.8, 2.4),
        "Rosenbrock's function", "Does the path follow a valley that bends?",
    ),
    "saddle": PlaneFunction(
        saddle, saddle_gradient, (-1.2, 0.01), (0.0, 1.0), (-1.6, 1.0, -0.8, 1.6),
        "a saddle", "Does the path leave the saddle, and how soon?", saddle=(0.0, 0.0),
    ),
    "beale": PlaneFunction(
        beale, beale_gradient, (1.0, 1.6), (3.0, 0.5), (-0.5, 4.0, -1.0, 2.0),
        "Beale's function", "Do steps suit a cliff and the flat valley below it?",
    ),
    "rastrigin": PlaneFunction(
        rastrigin, rastrigin_gradient, (-2.6, 2.2), (0.0, 0.0), (-3.4, 1.6, -1.6, 3.0),
        "Rastrigin's function", "Does the path stop in the first hollow?",
    ),
}  # fmt: skip
"""By name, in the order in which they are shown."""
