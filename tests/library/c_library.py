"""A library that `optgen build` made, called by ctypes as its manifest says, as a binding of another language does."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from optgen.cli import main
from optgen.loops import numpy_blas

ROOT = Path(__file__).parents[2]
Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "float16", "bfloat16")
ADDRESS, COUNT = ctypes.c_void_p, ctypes.c_int64
TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": COUNT, "uint64_t": ctypes.c_uint64}
"""Those of fields of structures; all others are addresses."""


def schema(name: str) -> jsonschema.Draft202012Validator:
    """That of a manifest, of docs/schema."""
    text = json.loads((ROOT / "docs" / "schema" / name).read_text())
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


class CLibrary:
    """A library in a folder, whose manifest is as its schema says. `spec` is what it has of one spec, by the beginning
    of its functions' names."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.manifest = name, json.loads((folder / f"{name}.json").read_text())
        schema("library.json").validate(self.manifest)
        self.code = ctypes.CDLL(str(folder / f"lib{name}.so"))

    def spec(self, prefix: str) -> CSpec:
        return CSpec(self, next(x for x in self.manifest["specs"] if x["prefix"] == prefix))

    def error(self) -> str:
        function = self.code[f"{self.name}_error"]
        function.restype = ctypes.c_char_p
        return str(function().decode())


class CSpec:
    """The structures of a spec."""

    def __init__(self, library: CLibrary, entry: Mapping[str, Any]) -> None:
        self.library, self.entry, self.prefix = library, entry, entry["prefix"]
        self.inputs = [x["name"] for x in entry["inputs"]]
        doubles = [(h["field"], ctypes.c_double) for h in entry["hyper"]]
        self.Hyper = _structure("Hyper", doubles)
        self.Tensor, self.Options = (
            _structure(name, [(x["field"], TYPES.get(x["type"], ADDRESS)) for x in entry[name]])
            for name in ("tensor", "options")
        )

    def hyper(self, **values: float) -> Any:
        given = {h["field"]: np.nan if h["default"] is None else float(h["default"]) for h in self.entry["hyper"]}
        return self.Hyper(**(given | values))

    def options(self, **values: Any) -> Any:
        own = {"abi": self.entry["abi"], "dtype": DTYPES.index(self.entry["dtypes"][0])}
        types = {x["field"]: x["type"] for x in self.entry["options"]}
        own |= {"device": -1} if "device" in types else {}
        for flag in (x for x in self.entry["flags"] if types[x["field"]] == "int32_t"):
            default = flag["default"]
            own[flag["field"]] = flag["choices"].index(default) if flag["choices"] else int(default)
        return self.Options(**(own | values))

    def call(self, function: str, *arguments: Any, result: Any = ctypes.c_int) -> Any:
        code = self.library.code[f"{self.prefix}_{function}"]
        code.restype = result
        return code(*arguments)

    def must(self, function: str, *arguments: Any) -> None:
        status = self.call(function, *arguments)
        assert status == 0, f"{function}: {status}, {self.library.error()}"


class Context:
    """A context of tensors, which are NumPy's arrays."""

    def __init__(
        self, spec: CSpec, weights: Sequence[Array], grads: Sequence[Array], inputs: Mapping[str, Sequence[Array]],
        hyper: Any, **options: Any,
    ) -> None:  # fmt: skip
        self.spec, self.n = spec, len(weights)
        shapes = [(ctypes.c_int64 * max(1, w.ndim))(*w.shape) for w in weights]
        tensors = (spec.Tensor * self.n)()
        for i, (w, g) in enumerate(zip(weights, grads, strict=True)):
            tensors[i].data, tensors[i].grad = w.ctypes.data, g.ctypes.data
            tensors[i].shape, tensors[i].rank = ctypes.addressof(shapes[i]), w.ndim
            for x in spec.entry["inputs"]:
                setattr(tensors[i], x["field"], inputs[x["name"]][i].ctypes.data)
        self.address, chosen = ADDRESS(), spec.options(**options)
        self.given = (tensors, COUNT(self.n), ctypes.byref(chosen), ctypes.byref(hyper))
        spec.must("create", ctypes.byref(self.address), *self.given)

    def step(self, hyper: Any, phase: str = "") -> None:
        self.spec.must(f"step_{phase}" if phase else "step", self.address, ctypes.byref(hyper))

    def set_rows(self, i: int, values: Array, rows: Array) -> None:
        """Have the next steps read a gradient of some rows."""
        self.spec.must(
            "set_rows", self.address, COUNT(i), ADDRESS(values.ctypes.data), ADDRESS(rows.ctypes.data), COUNT(len(rows))
        )

    def evaluate(self, hyper: Any, out: Sequence[Array]) -> None:
        places = (ADDRESS * self.n)(*(x.ctypes.data for x in out))
        self.spec.must("evaluate", self.address, ctypes.byref(hyper), places)

    def state(self, i: int, name: str, read: Callable[[int, int], bytes] = ctypes.string_at) -> bytes:
        """The bytes of a state, which `read` gives: so many at an address."""
        place, count = ADDRESS(), COUNT()
        self.spec.must("state", self.address, COUNT(i), name.encode(), ctypes.byref(place), ctypes.byref(count))
        return read(place.value or 0, count.value)

    def counts(self) -> list[int]:
        found = self.spec.call("counts", self.address, result=ctypes.POINTER(ctypes.c_int64))
        return list(found[: self.n])

    def destroy(self) -> None:
        self.spec.must("destroy", self.address)


def build(folder: Path, *arguments: str) -> None:
    """`optgen build`, into a folder."""
    assert main(["build", *arguments, "-o", str(folder)]) == 0


def numpy_lapack(monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """Has libraries call the LAPACK and the BLAS that NumPy calls."""
    for library in numpy_blas._libraries():
        for prefix in ("scipy_", ""):
            for suffix, integer in (("64_", "int64_t"), ("", "int")):
                if getattr(library._library, f"{prefix}dsyevd_{suffix}", None) is None:
                    continue
                ctypes.CDLL(library._library._name, mode=ctypes.RTLD_GLOBAL)
                tail = f"##_{suffix}" if suffix else "##_"
                start = f"{prefix}##" if prefix else ""
                blas = f"-DOPTGEN_BLAS_INT={integer} '-DOPTGEN_BLAS_NAME(x)={start}x{'##' + suffix if suffix else ''}'"
                lapack = f"-DOPTGEN_LAPACK_INT={integer} '-DOPTGEN_LAPACK_NAME(x)={start}x{tail}'"
                monkeypatch.setenv("CC", f"cc {lapack} {blas} {more}")
                return
    pytest.skip("NumPy's BLAS comes with no LAPACK that can be called")


SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


def compiled(folder: Path, source: Path, library: str, more: Sequence[str] = ()) -> Path:
    """A program with the source of the library in a folder, checked as it runs if the compiler can do that."""
    program = folder / source.stem
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", str(folder), *_sanitized(folder)]
    sources = [str(source), str(folder / f"{library}.c"), *map(str, folder.glob("kernels/*.o"))]
    command = ["cc", *strict, *sources, *more, "-lm", "-pthread", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def _sanitized(folder: Path) -> list[str]:
    (folder / "nothing.c").write_text("int main(void) { return 0; }\n")
    command = ["cc", *SANITIZED, str(folder / "nothing.c"), "-o", str(folder / "nothing")]
    return [] if subprocess.run(command, capture_output=True, check=False).returncode else SANITIZED


def _structure(name: str, fields: Sequence[tuple[str, Any]]) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})
