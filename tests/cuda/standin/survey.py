"""Writes what CuPy has, which the stand-in beside this file offers and nothing else, to `cupy/api.txt`.

Run it where CuPy itself is installed (a GPU is not needed): python tests/cuda/standin/survey.py

A line is a kind (`ufunc`, `method`, `function`, or `linalg` for a function of that module), a name, and the types of a
ufunc or the parameters of anything else: `axis=` has a default, `*tup` takes any number, and what follows a lone `*` is
given by name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

UNSIGNED = {  # in Cython, without a text that says what they take
    "from_dlpack": "x * device= copy=",
    "min_scalar_type": "a",
    "size": "a axis=",
}


def parameters(signature: inspect.Signature) -> str:
    words = []
    named_only = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not named_only:
            named_only = True
            if not any(word.startswith("*") for word in words):
                words.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(star + p.name + ("" if p.default is p.empty else "="))
    return " ".join(words)


def functions(module: ModuleType, kind: str) -> Iterator[str]:
    for name in sorted(vars(module)):
        function = getattr(module, name)
        if name.startswith("_") or not callable(function) or isinstance(function, type):
            continue
        try:
            yield f"{kind} {name} {parameters(inspect.signature(function))}"
        except ValueError:
            if name in UNSIGNED:
                yield f"{kind} {name} {UNSIGNED[name]}"


def methods(kind: type) -> Iterator[str]:
    """The methods, whose parameters the first line of their documentation states."""
    for name in sorted(dir(kind)):
        method: Any = getattr(kind, name)
        stated = re.match(r"\w+\.\w+\(self(?:, )?(.*?)\)( ->|$)", (method.__doc__ or "").split("\n")[0])
        if name.startswith("_") or not callable(method) or stated is None:
            continue
        words = [word.split()[-1] for word in stated[1].split(", ") if word]
        yield f"method {name} {' '.join(re.sub(r'=.*', '=', word) for word in words)}"


def main() -> None:
    import cupy

    ufuncs = {n: f for n, f in vars(cupy).items() if isinstance(f, cupy.ufunc) and not n.startswith("_")}
    lines = [f"# CuPy {cupy.__version__}"]
    lines += [f"ufunc {name} {' '.join(ufuncs[name].types)}" for name in sorted(ufuncs)]
    lines += methods(cupy.ndarray)
    lines += [line for line in functions(cupy, "function") if line.split()[1] not in ufuncs]
    lines += functions(cupy.linalg, "linalg")
    path = Path(__file__).parent / "cupy" / "api.txt"
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
