"""A kernel in memory: its signature, its two entry points, and the structure they read."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from optgen.backends.step_struct import STEP_FIELDS, StepField
from optgen.ir import Buffer, Variant, is_gradient
from optgen.objectcode import link
from optgen.pipeline import NativeKernel


def _ctype(field: StepField) -> type[ctypes.c_int64 | ctypes.c_uint64 | ctypes.c_void_p]:
    """A pointer is an address, so that it may be set to an integer or to None."""
    if not field.is_integer:
        return ctypes.c_void_p
    return ctypes.c_uint64 if field.c_type.startswith("u") else ctypes.c_int64


class Step(ctypes.Structure):
    """optgen_step: `STEP_FIELDS` says what each field holds."""

    _fields_ = tuple((field.name, _ctype(field)) for field in STEP_FIELDS)


class Kernel:
    """One variant of an optimizer, loaded; `columns` and `rows` are the places of buffers and of hyper-parameters.

    `states` is what it keeps between steps, by name: the states, their `scales`, and the master weight as "w".
    """

    def __init__(self, variant: Variant, native: NativeKernel) -> None:
        self._describe(variant, native)
        symbols = link.link(native.object, native.symbol, f"{native.symbol}_workspace")
        self.address = symbols[native.symbol]
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)
        self._workspace = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(symbols[f"{native.symbol}_workspace"])

    def _describe(self, variant: Variant, native: NativeKernel) -> None:
        self.variant, self.native = variant, native
        self.columns = {b.name: k for k, b in enumerate(native.buffers)}
        self.rows = {name: k for k, name in enumerate(native.hyper)}
        self.gradients = [k for name, k in self.columns.items() if is_gradient(name)]
        kept = [b for b in native.buffers if b.init is not None or (b.name == "w" and variant.master)]
        self.states: Mapping[str, Buffer] = {b.name: b for b in kept}
        self.scales = [b.name for b in kept if b.is_scale]
        self.is_quantized = any(b.is_quantized for b in native.buffers)

    def workspace(self, step: Step) -> int:
        """How many doubles a step needs."""
        return int(self._workspace(ctypes.addressof(step)))
