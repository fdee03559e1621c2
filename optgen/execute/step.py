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
from optgen.model import Optimizer, Param
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
        self.deciding = arguments.deciding(spec)
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

    def bind(self, params: Sequence[Any], grads: Sequence[Any] | None = None, state: State | None = None) -> BoundStep:
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
        if not isinstance(state, State):
            raise TypeError(f"state: expected what init() returns, not {type(state).__name__}")
        self.rule = rule
        self.state = state
        kernel = rule.kernel
        self._params = rule.tensors(params, "params")
        self._sources = list(params) if grads is None else None
        if set(state.arrays) != set(rule.state_names):
            names = [", ".join(x) or "nothing" for x in (state.arrays, rule.state_names)]
            raise ValueError(f"state: holds {names[0]}, but {rule!r} keeps {names[1]}; it was made by another rule")
        self._states = [self._state_tensors(name) for name in rule.state_names]
        n = len(self._params)
        self._counts = buffers.tensor(state.t, "state.t")
        buffers.check_writable(self._counts)
        if (self._counts.dtype, self._counts.shape) != ("int64", (n,)):
            raise ValueError(f"state.t: expected int64 of shape ({n},), got {state.t.dtype} of {state.t.shape}")
        self._columns = {b.name: k for k, b in enumerate(kernel.buffers)}
        self._pointers = np.zeros((n, len(kernel.buffers)), np.uintp)
        self._sizes = np.array([t.size for t in self._params], np.int64)
        self._hyper = np.full((max(len(kernel.hyper), 1), n), UNSET)
        self._rows = {name: k for k, name in enumerate(kernel.hyper)}
        self._values: dict[str, float | list[float | None] | None] = dict(rule.values)
        for name, row in self._rows.items():
            self._hyper[row] = _unset_as_nan(rule.values[name])
        self._workspace = buffers.aligned((rule.workspace(self._sizes),), "float64")
        for name, tensors in zip(("w", *rule.state_names), (self._params, *self._states), strict=True):
            self._set_column(name, tensors)
        self._grads: list[Tensor] = []
        if grads is not None:
            self.rebind(grads)
        else:
            self._check_apart([])
        self._step = self._native_step(n)
        self._address = ctypes.addressof(self._step)
        self._run = rule.run

    def __call__(self, **changes: Any) -> None:
        """One update of every tensor; each update count advances by one before it is used."""
        changed = {}
        for name, value in changes.items():
            # Only a number cannot have changed its value while it stayed the same object.
            if self._values.get(name, self) is not value or not isinstance(value, float | int):
                changed[name] = value
        if changed:
            self._change(changed)
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
        self._check_apart(tensors)
        self._grads = tensors
        self._set_column("grad", tensors)

    def _read_gradients(self, sources: list[Any]) -> None:
        grads = [getattr(p, "grad", None) for p in sources]
        if any(g is None for g in grads):
            missing = next(i for i, g in enumerate(grads) if g is None)
            raise ValueError(f"params[{missing}].grad: there is no gradient; pass grads to bind, or run backward first")
        self._take_gradients(self.rule.tensors(grads, "grads"))

    def _state_tensors(self, name: str) -> list[Tensor]:
        found = [buffers.tensor(x, f"state[{name!r}][{i}]") for i, x in enumerate(self.state.arrays[name])]
        if len(found) != len(self._params):
            raise ValueError(f"state[{name!r}]: {len(found)} tensors for {len(self._params)} parameters")
        for t, p in zip(found, self._params, strict=True):
            buffers.check_same(t, p.shape, self.rule.dtype)
        return found

    def _check_apart(self, grads: list[Tensor]) -> None:
        written = [t for tensors in (self._params, *self._states) for t in tensors]
        for t in written:
            buffers.check_writable(t)
        buffers.check_apart([(t, True) for t in (*written, self._counts)] + [(t, False) for t in grads])

    def _set_column(self, name: str, tensors: list[Tensor]) -> None:
        self._pointers[:, self._columns[name]] = [t.address for t in tensors]

    def _native_step(self, n: int) -> _Step:
        run = address = None
        if int(self._sizes.sum()) >= pool.SMALL and pool.num_threads() > 1:
            threads = pool.pool()
            threads.start()
            run, address = threads.run, threads.address
        sizes, pointers, hyper, workspace = (
            table.ctypes.data for table in (self._sizes, self._pointers, self._hyper, self._workspace)
        )
        return _Step(n, sizes, pointers, self._counts.address, hyper, workspace, run, address)

    def _change(self, given: Mapping[str, Any]) -> None:
        """Check hyper-parameters, all of them before any is written to the table that the kernel reads."""
        spec = self.rule.spec
        changes: dict[str, float | list[float | None] | None] = {}
        for name, value in given.items():
            param = arguments.find(spec, name)
            if param.name in changes:
                raise TypeError(f"{spec.name}: '{param.name}' is given twice, once as '{name}'")
            changes[param.name] = self._checked(param, value)
        self._check_flags(changes)
        for name, checked in changes.items():
            if name in self._rows:
                self._hyper[self._rows[name]] = _unset_as_nan(checked)
        self._values |= changes

    def _checked(self, param: Param, value: Any) -> float | list[float | None] | None:
        spec = self.rule.spec
        several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        if not several and not (isinstance(value, np.ndarray) and value.ndim):
            checked = arguments.check(spec, param, value)
            arguments.check_read(spec, param, checked)
            return checked
        if len(value) != len(self._params):
            raise ValueError(f"{spec.name}: '{param.name}' has {len(value)} values for {len(self._params)} parameters")
        each = [arguments.check(spec, param, x) for x in value]
        for x in each:
            arguments.check_read(spec, param, x)
        return each

    def _check_flags(self, changes: Mapping[str, Any]) -> None:
        """A derived flag chose this kernel; values that would choose another are an error."""
        rule = self.rule
        if not any(name in rule.deciding for name in changes):
            return
        values = {**self._values, **changes}
        for i in range(len(self._params)):
            here = {name: x[i] if isinstance(x, list) else x for name, x in values.items()}
            after = arguments.decide(rule.spec, here, rule.flags)
            for flag, old in rule.flags.items():
                if after[flag] != old:
                    causes = ", ".join(f"{name}={here[name]}" for name in changes if name in rule.deciding)
                    raise ValueError(
                        f"{rule.spec.name}: {causes} would change the flag '{flag}' from {old} to {after[flag]}, "
                        "which is fixed when the rule is loaded; load it again with the new value"
                    )


def _unset_as_nan(value: float | list[float | None] | None) -> float | list[float]:
    """What the table of hyper-parameters holds."""
    if isinstance(value, list):
        return [UNSET if x is None else x for x in value]
    return UNSET if value is None else value


def _copy(t: Tensor) -> Array:
    """A new array with the elements of `t`."""
    copy = buffers.aligned(t.shape, t.dtype)
    ctypes.memmove(copy.ctypes.data, t.address, t.nbytes)
    return copy
