"""An update rule on real tensors: state, and the bound step that is one native call."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen import arguments, pipeline
from optgen.arguments import UNSET, Arguments
from optgen.execute import buffers, jit, pool
from optgen.execute.buffers import Tensor
from optgen.ir.cost import Cost, cost
from optgen.model import Optimizer
from optgen.pipeline import NativeKernel

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class State:
    """What a rule keeps: `arrays[name][i]`, of the shape of parameter i, and `t[i]`, its update count (int64)."""

    arrays: Mapping[str, list[Array]]
    t: Array


class _Step(ctypes.Structure):
    """optgen_step of backends/cpu.py."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("size", ctypes.c_void_p),
        ("buffers", ctypes.c_void_p),
        ("t", ctypes.c_void_p),
        ("hyper", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    )


class UpdateRule:
    """An optimizer compiled for one variant and dtype: makes state, and binds it to parameters and gradients."""

    def __init__(self, spec: Optimizer, args: Arguments, kernel: NativeKernel) -> None:
        self.spec = spec
        self.values = args.values
        self.flags = args.flags
        self.kernel = kernel
        self._symbols = jit.link(kernel.object, kernel.symbol, f"{kernel.symbol}_workspace")
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._symbols[kernel.symbol])

    def __repr__(self) -> str:
        flags = "".join(f", {name}={value!r}" for name, value in self.flags.items())
        return f"<optgen {self.spec.name}, {self.kernel.dtype}{flags}>"

    @property
    def dtype(self) -> str:
        return self.kernel.dtype

    @property
    def cost(self) -> Cost:
        """Streams, bytes and operations per parameter element and step, and the number of sweeps."""
        return cost(pipeline.plan(pipeline.build(self.spec, self.flags, self.dtype)))

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(b.name for b in self.kernel.buffers if b.init is not None)

    def init(self, params: Sequence[Any]) -> State:
        """The state before the first update, for parameters of any shapes; their dtype must be the kernel's."""
        tensors = self.tensors(params, "params")
        arrays: dict[str, list[Array]] = {}
        for b in self.kernel.buffers:
            if b.init == "w":
                arrays[b.name] = [_copy(t) for t in tensors]
            elif b.init is not None:
                start = self.values[b.init] if isinstance(b.init, str) else b.init
                assert start is not None
                arrays[b.name] = [buffers.aligned(t.shape, self.dtype, start) for t in tensors]
        return State(arrays, np.zeros(len(tensors), np.int64))

    def bind(
        self, params: Sequence[Any], grads: Sequence[Any] | None = None, state: State | None = None
    ) -> BoundStep:
        """Resolve all pointers once. Without `grads`, each call reads `p.grad` of every parameter anew; without `state`
        the step starts from `init(params)`, which it then holds as `step.state`.

        Parameters, gradients and states must be C-contiguous CPU tensors of the kernel's dtype, states and gradients of
        their parameter's shape; what is written must be writable and share memory with nothing else. TypeError and
        ValueError name the tensor. The step keeps all of them alive.
        """
        return BoundStep(self, params, grads, self.init(params) if state is None else state)

    def tensors(self, objects: Sequence[Any], what: str) -> list[Tensor]:
        if isinstance(objects, np.ndarray) or not isinstance(objects, Sequence):
            raise TypeError(f"{what}: expected a list of tensors, not {type(objects).__name__}")
        found = [buffers.tensor(x, f"{what}[{i}]") for i, x in enumerate(objects)]
        for t in found:
            buffers.check_same(t, t.shape, self.dtype)
        return found

    def workspace(self, sizes: Array) -> int:
        """How many doubles a step over tensors of these sizes needs."""
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        return int(call(self._symbols[f"{self.kernel.symbol}_workspace"])(sizes.size, sizes.ctypes.data))


class BoundStep:
    """A step over fixed tensors: calling it updates all of them in place, in one native call.

    Keyword arguments are hyper-parameters: a number, or a sequence with one for each tensor. They stay until changed.
    """

    def __init__(self, rule: UpdateRule, params: Sequence[Any], grads: Sequence[Any] | None, state: State) -> None:
        self.rule = rule
        self.state = state
        kernel = rule.kernel
        self._params = rule.tensors(params, "params")
        self._sources = list(params) if grads is None else None
        self._states = [self._state_tensors(name) for name in rule.state_names]
        n = len(self._params)
        if state.t.dtype != np.int64 or state.t.shape != (n,) or not state.t.flags.c_contiguous:
            raise ValueError(f"state.t: expected int64 of shape ({n},), got {state.t.dtype} of {state.t.shape}")
        self._columns = {b.name: k for k, b in enumerate(kernel.buffers)}
        self._pointers = np.zeros((n, len(kernel.buffers)), np.uintp)
        self._sizes = np.array([t.size for t in self._params], np.int64)
        self._hyper = np.full((max(len(kernel.hyper), 1), n), UNSET)
        self._rows = {name: k for k, name in enumerate(kernel.hyper)}
        self._values: dict[str, Any] = dict(rule.values)
        for name, row in self._rows.items():
            value = rule.values[name]
            self._hyper[row] = UNSET if value is None else value
        self._workspace = buffers.aligned((rule.workspace(self._sizes),), "float64")
        for name, tensors in zip(("w", *rule.state_names), (self._params, *self._states), strict=True):
            self._set_column(name, tensors)
        self._grads: list[Tensor] = []
        if grads is not None:
            self.rebind(grads)
        else:
            self._check_apart()
        self._step = self._native_step(n)
        self._address = ctypes.addressof(self._step)
        self._run = rule.run

    def __call__(self, **changes: Any) -> None:
        """One update of every tensor; each update count advances by one before it is used."""
        for name, value in changes.items():
            if self._values.get(name, self) is not value:
                self._change(name, value)
        if self._sources is not None:
            self._read_gradients(self._sources)
        self._run(self._address)

    def rebind(self, grads: Sequence[Any]) -> None:
        """Take the gradients from other tensors of the same shapes."""
        self._take_gradients(self.rule.tensors(grads, "grads"))

    def _take_gradients(self, tensors: list[Tensor]) -> None:
        if len(tensors) != len(self._params):
            raise ValueError(f"grads: {len(tensors)} tensors for {len(self._params)} parameters")
        for t, p in zip(tensors, self._params, strict=True):
            buffers.check_same(t, p.shape, self.rule.dtype)
        self._grads = tensors
        self._check_apart()
        self._set_column("grad", tensors)

    def _read_gradients(self, sources: list[Any]) -> None:
        grads = [getattr(p, "grad", None) for p in sources]
        if any(g is None for g in grads):
            missing = next(i for i, g in enumerate(grads) if g is None)
            raise ValueError(f"params[{missing}].grad: there is no gradient; pass grads to bind, or run backward first")
        self._take_gradients(self.rule.tensors(grads, "grads"))

    def _state_tensors(self, name: str) -> list[Tensor]:
        if name not in self.state.arrays:
            raise ValueError(f"state: no '{name}'; it was made by another rule than {self.rule!r}")
        found = [buffers.tensor(x, f"state[{name!r}][{i}]") for i, x in enumerate(self.state.arrays[name])]
        if len(found) != len(self._params):
            raise ValueError(f"state[{name!r}]: {len(found)} tensors for {len(self._params)} parameters")
        for t, p in zip(found, self._params, strict=True):
            buffers.check_same(t, p.shape, self.rule.dtype)
        return found

    def _check_apart(self) -> None:
        written = [t for tensors in (self._params, *self._states) for t in tensors]
        for t in written:
            buffers.check_writable(t)
        buffers.check_apart([(t, True) for t in written] + [(t, False) for t in self._grads])

    def _set_column(self, name: str, tensors: list[Tensor]) -> None:
        self._pointers[:, self._columns[name]] = [t.address for t in tensors]

    def _native_step(self, n: int) -> _Step:
        run = address = None
        if int(self._sizes.sum()) >= pool.SMALL and pool.num_threads() > 1:
            threads = pool.pool()
            threads.start()
            run, address = threads.run, threads.address
        tables = (self._sizes, self._pointers, self.state.t, self._hyper, self._workspace)
        return _Step(n, *(table.ctypes.data for table in tables), run, address)

    def _change(self, name: str, value: Any) -> None:
        """Check a hyper-parameter and write it to the table the kernel reads."""
        spec = self.rule.spec
        param = arguments.find(spec, name)
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            if len(value) != len(self._params):
                raise ValueError(f"{spec.name}: '{name}' has {len(value)} values for {len(self._params)} parameters")
            checked = [arguments.check(spec, param, x) for x in value]
        else:
            checked = [arguments.check(spec, param, value)]
        for x in set(checked):
            self._check_flags(param.name, x)
        row = self._rows.get(param.name)
        if row is not None:
            self._hyper[row] = [UNSET if x is None else x for x in checked] if len(checked) > 1 else checked[0]
        self._values[name] = value

    def _check_flags(self, name: str, value: float | None) -> None:
        """A derived flag chose this kernel; a value that would choose another is an error."""
        rule = self.rule
        before = rule.flags
        if all(f.condition is None for f in rule.spec.flags):
            return
        after = arguments.decide(rule.spec, {**rule.values, name: value}, before)
        for flag, old in before.items():
            if after[flag] != old:
                raise ValueError(
                    f"{rule.spec.name}: {name}={value} would change the flag '{flag}' from {old} to {after[flag]}, "
                    "which is fixed when the rule is loaded; load it again with the new value"
                )


def _copy(t: Tensor) -> Array:
    """A new array with the elements of `t`."""
    copy = buffers.aligned(t.shape, t.dtype)
    ctypes.memmove(copy.ctypes.data, t.address, t.nbytes)
    return copy
