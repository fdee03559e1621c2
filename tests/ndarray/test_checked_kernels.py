"""Every kernel of `runtime.native`, and the products that it shares with optgen, called by the operators that use it:
compiled code gives the bits of its Python, which runs over bounds-checked memory (`optgen.loops.checked`)."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from optgen.loops import trampoline
from optgen.loops.kernel import KERNELS, POOL_MIN_WORK, LoopKernel
from optgen.loops.writes import written
from runtime import native as kernels
from tests.ndarray import kernel_cases, window_kernel_cases
from tests.sweeps import swept

pytestmark = pytest.mark.cpu_only("native kernels")

for _module in pkgutil.iter_modules(kernels.__path__):
    if _module.name != "__main__":
        importlib.import_module(f"{kernels.__name__}.{_module.name}")

CASES = kernel_cases.CASES | window_kernel_cases.CASES
Called = set[tuple[str, str]]


def name_of(kernel: LoopKernel) -> str:
    return f"{kernel.python.__module__.removeprefix('runtime.native.')}.{kernel.name}"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """Kernels run in both ways, and what they write is compared; the names and dtypes of those that were called."""
    trampoline.install(LoopKernel, POOL_MIN_WORK)  # else the first call would replace the method
    compiled = LoopKernel.__call__
    seen: Called = set()

    def both(self: LoopKernel, tasks: int, work: int, *arguments: Any, scratch: int = 0) -> None:
        copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        compiled(self, tasks, work, *arguments, scratch=scratch)
        names = [name for name, _ in self.parameters[-len(copies) :]]
        pairs = zip(names, arguments, copies, strict=True)
        changed = {name for name, x, y in pairs if isinstance(x, np.ndarray) and x.tobytes() != y.tobytes()}
        assert changed <= written(self)
        self.checked(tasks, work, *copies, scratch=scratch)
        for name, x, y in zip(names, arguments, copies, strict=True):
            if isinstance(x, np.ndarray):
                assert_same_bits(x, y, f"{name_of(self)}: {name}")
        if tasks:
            seen.add((name_of(self), arguments[0].dtype.name))

    monkeypatch.setattr(LoopKernel, "__call__", both)
    yield seen


def assert_same_bits(x: np.ndarray, y: np.ndarray, name: str) -> None:
    """All bits; but a NaN is a NaN: which of two an operation hands on is left to the processor."""
    bits = f"u{x.itemsize}"
    same = x.view(bits) == y.view(bits)
    if x.dtype.kind == "f":
        same |= np.isnan(x) & np.isnan(y)
    assert same.all(), f"{name}{np.argwhere(~same)[0].tolist()}: {x[~same][0]!r} compiled, {y[~same][0]!r} checked"


LONG = (
    *("softmaxes", "normalizations", "normalizations_with_relu", "normalizations_with_given_means"),
    *("tiles_of_convolutions", "convolutions", "depthwise_convolutions", "pointwise_convolutions", "poolings"),
    *("recurrent_layers", "dropouts", "gradient_compression", "rows_of_values", "parts"),
)
"""Cases that `make test` runs in one type: no operation in them is another one in the other type, but for the functions
of `elementwise`. All gradients are checked in float64, too."""
CALLS = [pytest.param(case, dtype, id=f"{case.__name__}-{dtype}") for case in CASES for dtype in ("float32", "float64")]


@pytest.mark.parametrize(
    ("case", "dtype"), swept(CALLS, lambda p: p.values[1] == "float32" or p.values[0].__name__ not in LONG)
)
def test_compiled_code_is_what_its_python_says(case: Callable[[str], None], dtype: str, called: Called) -> None:
    case(dtype)
    assert called >= {(name, dtype) for name in CASES[case]}


def test_every_kernel_has_a_case() -> None:
    native = {name_of(k) for k in KERNELS if k.python.__module__.startswith(("runtime.native.", "optgen.linalg."))}
    assert native == {name for names in CASES.values() for name in names}
