"""How functions are spelled in other languages, against what they mean in NumPy."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from optgen.functions.interval import ALL
from optgen.functions.record import Elementwise, Reduction
from tests.functions.values import (
    ELEMENTWISE,
    OF_NUMBERS,
    REDUCTIONS,
    SPECIAL,
    Array,
    meaning,
    random_values,
    special_values,
)

Evaluated = Callable[[str, Mapping[str, Array]], Array]
"""An expression of another language, with the values of its names."""
ZEROS_OF_EITHER_SIGN = ("max", "min", "clip")
"""Which of two equal zeros these give, the language says, and no library does."""
EDGES = (*SPECIAL, 1e-30, -1e-30, 1e30, -1e30)


def _values(what: Elementwise | Reduction) -> list[Array]:
    """Random arguments and edges; of reductions, rows of ten random ones, and rows that begin with edges."""
    if isinstance(what, Reduction):
        edges = special_values(what, EDGES)
        rows = [np.resize(x, (10 + len(e), 10)) for x, e in zip(random_values(what), edges, strict=True)]
        for x, e in zip(rows, edges, strict=True):
            x[10:, 0] = e
        return rows
    if what.takes_matrix:
        return [np.random.default_rng(0).normal(size=(3, 4))]
    return [np.concatenate(x) for x in zip(random_values(what), special_values(what, EDGES), strict=True)]


def _unlike(name: str, args: list[Array]) -> Array:
    """Where the language alone has NaN, outside of domains and in `mod` of large quotients; and where a bound of `clip`
    is NaN, which is unset here."""
    with np.errstate(all="ignore"):
        match name:
            case "mod":
                return np.asarray(~(np.abs(args[0] / args[1]) < 2**48))
            case "clip":
                return np.asarray(np.isnan(args[1]) | np.isnan(args[2]))
    domain = ELEMENTWISE[name].domain if name in ELEMENTWISE else ALL
    has_ends = bool(np.isfinite(domain).all())  # of one with a single end, as of log, all languages have NaN outside
    return np.asarray((args[0] < domain.low) | (args[0] > domain.high)) if has_ends else np.zeros((), bool)


def _differing(name: str, text: str, args: list[Array], found: Array, wanted: Array) -> str:
    """The first arguments at which a spelling is another number than the language's; empty if there are none."""
    different = ~np.isclose(found, wanted, rtol=1e-9, atol=1e-300, equal_nan=True)
    if name not in ZEROS_OF_EITHER_SIGN:
        different |= (wanted == 0) & (np.signbit(found) != np.signbit(wanted))
    different &= ~_unlike(name, args)
    if not different.any():
        return ""
    at = tuple(np.argwhere(different)[0])
    return f"{name}: {text} of {[x[at].tolist() for x in args]} is {found[at]}, not {wanted[at]}"


def _wrong(language: str, evaluated: Evaluated) -> list[str]:
    """What differs, of all functions that have a spelling."""
    found = []
    for name, what in [*ELEMENTWISE.items(), *REDUCTIONS.items()]:
        if (spelling := getattr(what.spelling, language)) is not None:
            args, text = _values(what), spelling.format(**{x: x for x in what.arguments}, axis="-1")
            value = evaluated(text, dict(zip(what.arguments, args, strict=True)))
            found.append(_differing(name, text, args, value, meaning(what, *args)))
    return [x for x in found if x]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_spellings_in_c(tmp_path: Path) -> None:
    """One program has all of them, and prints what they are."""
    known = [(name, what, what.spelling.c) for name, what in OF_NUMBERS.items() if what.spelling.c is not None]
    lines = []
    for _, what, text in known:
        for values in zip(*_values(what), strict=True):
            names = dict(zip(what.arguments, map(_c_number, values), strict=True))
            lines.append(f'  printf("%.17g\\n", (double)({text.format(**names)}));')
    program = tmp_path / "all.c"
    program.write_text("#include <math.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["cc", "-w", "-O0", "-o", tmp_path / "all", program, "-lm"], check=True)
    output = subprocess.run([tmp_path / "all"], check=True, capture_output=True, text=True).stdout
    numbers = iter(map(float, output.split()))
    for name, what, text in known:
        args = _values(what)
        found = np.array(list(itertools.islice(numbers, len(args[0]))))
        assert _differing(name, text, args, found, meaning(what, *args)) == ""


def _c_number(x: float) -> str:
    return {"inf": "INFINITY", "-inf": "(-INFINITY)", "nan": "NAN"}.get(str(float(x)), f"({float(x)!r})")


def test_spellings_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def evaluated(text: str, args: Mapping[str, Array]) -> Array:
        return np.asarray(eval(text, {"torch": torch}, {name: torch.from_numpy(x) for name, x in args.items()}))

    assert _wrong("torch", evaluated) == []


def test_spellings_in_jax() -> None:
    jax = pytest.importorskip("jax")
    in_float64: AbstractContextManager[None] = (
        jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()
    )

    def evaluated(text: str, args: Mapping[str, Array]) -> Array:
        arrays = {name: jax.numpy.asarray(x) for name, x in args.items()}
        return np.asarray(eval(text, {"jax": jax, "jnp": jax.numpy}, arrays))

    with in_float64:
        assert _wrong("jax", evaluated) == []
