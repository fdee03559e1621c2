"""What the compiler's tests share: every way to load every spec, awkward numbers, and the interpreter as the judge."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import optgen
from optgen import RowSparse, State, arguments, pipeline, specfiles
from optgen.axes import Kind
from optgen.execute.buffers import numpy_dtype
from optgen.ir import GRADIENT_FACTOR, Kernel, Variant, gradient
from optgen.ir.interp import TensorUpdate, interpret
from optgen.model import Optimizer
from optgen.passes.expand_math import expand_math
from optgen.shapes import matrix_view
from tests.compiler.features import FEATURES
from tests.process import run

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
_PLAIN = """
accsgd acprop adabound adagrad_norm adahessian adalomo adam_atan2 adam_hd adamc adamod adapnm addsign adopt aggmo alig
apollodqn cautious_lion cocob dadaptlion diffgrad dowg ef_signsgd extra_adam extragradient fadam focus fromage grams
gravity ivon kate laprop larc ldog madgrad mezo nadamw noisysgd nsgd optimistic_adam optimistic_sgd padam pid pnm
powersign psgld qhm schedulefree_radam sgd_hd sgdp sgdw sghmc simplified_ademamix sinkgd smorms3 spam stableadamw
stablespam swats tiger
"""
PLAIN = frozenset(_PLAIN.split())
"""Specs without a construct that no other has. The matrices of tests leave them out; tests/optimizers has them all."""
assert set(specfiles.available()) >= PLAIN


def parsed(family: str = "") -> dict[str, Optimizer]:
    """The specs of a family that are one kernel, by name."""
    found = {name: optgen.parse(specfiles.spec_path(name).read_text()) for name in specfiles.available(family)}
    return {name: spec for name, spec in found.items() if not spec.has_stages}


EVERY, TORCH = parsed(), parsed("torch")
SPECS = {name: spec for name, spec in EVERY.items() if name not in PLAIN}

SHAPES: tuple[Shape, ...] = ((), (0,), (3,), (129,), (8193,), (0, 4), (1, 5), (130, 1), (65, 257), (2, 3, 4, 5))
"""Of every rank; no multiples of a vector, of a block of the reductions or of a block of 8-bit codes."""
MORE: tuple[Shape, ...] = ((1,), (31,), (127,), (128,), (4095,), (4096,), (4097,), (20001,), (64, 33), (7, 5000))
"""And some that are such multiples, or one off; with rows longer than a block, too."""


@dataclass(frozen=True)
class Case:
    """A spec, and arguments that choose among its code."""

    spec: Optimizer
    values: Mapping[str, Any]

    def __str__(self) -> str:
        flags = arguments.resolve(self.spec, self.values).flags
        return "-".join([self.spec.name.lower(), *(f if v is True else str(v) for f, v in flags.items() if v)])

    def load(self, dtype: str = "float32", **values: Any) -> optgen.UpdateRule:
        return optgen.load(self.spec, dtype, **{**self.values, **values})

    def shapes(self, *given: Shape) -> list[Shape]:
        """Those of the given ones that the spec takes, and the interpreter, which is slow with thousands of rows."""
        rule = self.load()

        def fits(shape: Shape) -> bool:
            try:
                states = self.spec.program(rule.variant(shape).flags).states
            except ValueError:  # a `require` over the rank
                return False
            return math.prod(shape[:1]) < 1000 or all(s.kind not in (Kind.ROW, Kind.COL) for s in states)

        return list(filter(fits, given))

    @cached_property
    def is_shared(self) -> bool:
        return any(s.kind is Kind.SHARED for s in self.spec.states)

    @cached_property
    def own(self) -> list[str]:
        """The flags that are set for each parameter."""
        return [f.name for f in self.spec.flags if f.per_param]

    def flags(self, n: int) -> dict[str, list[bool]]:
        """Values of these for n parameters: no two neighbours are alike."""
        return {name: [bool(i >> k & 1) for i in range(n)] for k, name in enumerate(self.own)}

    def variants(self) -> list[Variant]:
        """What is compiled for float32 parameters of all shapes, with whatever flags of their own."""
        rule = self.load()
        choices = itertools.product((False, True), repeat=len(self.own))
        found: list[Variant] = []
        for shape, flags, sparse in itertools.product(self.shapes(*SHAPES), choices, (False, True)):
            variant = rule.variant(shape, dict(zip(self.own, flags, strict=True)), sparse=sparse)
            if variant not in found:
                found.append(variant)
        return found


def has_histories(spec: Optimizer) -> bool:
    return any(s.entries for s in spec.states)


def is_of_one_gradient(spec: Optimizer) -> bool:
    """Whether a step takes one gradient and nothing else, and what is kept is of the last update."""
    return not (spec.phases or spec.given or has_histories(spec))


def cases(*specs: Optimizer) -> Iterator[Case]:
    """Every combination of flags that arguments can select: free ones by name, others by the params they test."""
    for spec in specs:
        choices = {f.name: f.choices or (False, True) for f in spec.flags if f.condition is None and not f.per_param}
        params = spec.all_params
        numbers = {name: (p.default, 0.0, 0.9, 2.0) for name, p in params.items() if name in spec.deciding}
        seen = set()
        for values in itertools.product(*choices.values(), *numbers.values()):
            case = Case(spec, dict(zip((*choices, *numbers), values, strict=True)))
            try:
                flags = tuple(arguments.resolve(spec, case.values).flags.items())
            except ValueError:  # outside of an interval, or against a `require`
                continue
            if flags not in seen:
                seen.add(flags)
                yield case


CASES = tuple(cases(*SPECS.values()))
TORCH_CASES = tuple(case for case in cases(*TORCH.values()) if not case.values["maximize"])
"""Those that climb differ in one sign; tests/optimizers/test_torch_specs.py has them."""
ALL = (*CASES, *TORCH_CASES, *cases(*FEATURES))


def covering(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases in which a flag of a spec has a value for the first time."""
    seen, found = set[tuple[str, str, Any]](), list[Case]()
    for case in cases:
        flags = {(case.spec.name, *flag) for flag in arguments.resolve(case.spec, case.values).flags.items()}
        if not flags <= seen or not flags:
            found.append(case)
        seen |= flags
    return tuple(found)


_DIFFERENT = """
adam adam-amsgrad adafactor adafactor-relative_step adashift-spatial groupadagrad lamb lars-heavy lbsgd-linear-gathers
lbsgd-power2 nadam novograd prodigy-safeguard_warmup radam rprop schedulefreeadamw sgd sgld signum sophia
torchasgd-single torchnadam-single
"""
DIFFERENT = (*(case for case in ALL if str(case) in _DIFFERENT.split()), *covering(tuple(cases(*FEATURES))))
"""Those that have constructs, or ways to combine them, that the others have not: what is run on an emulated GPU."""
assert len(DIFFERENT) == len(_DIFFERENT.split()) + len(covering(tuple(cases(*FEATURES))))

PLAIN_CASES = tuple(cases(*(EVERY[name] for name in sorted(PLAIN))))


def kernels(*cases: Case) -> dict[str, tuple[Case, Variant]]:
    """What they are compiled to in float32, by symbol."""
    return {pipeline.symbol(c.spec, v): (c, v) for c in cases for v in c.variants()}


KERNELS = kernels(*ALL)


@cache
def by_name(name: str) -> Case:
    """The case of that name, as `str` gives it."""
    return next(c for c in ALL if str(c) == name)


# ---------------------------------------------------------------- numbers


def numbers(rng: np.random.Generator, shape: Shape, dtype: str, *, special: bool) -> Array:
    """Ordinary numbers, zeros of both signs, subnormals, the smallest normal number, its root, 1e±18 and, if `special`,
    infinities, NaN and the largest."""
    info: Any = ml_dtypes.finfo(numpy_dtype(dtype))  # type: ignore[no-untyped-call]
    tiny, large = float(info.smallest_subnormal), min(1e18, float(info.max) / 8)
    least = float(info.smallest_normal)
    strange = [0.0, -0.0, tiny, -3 * tiny, 1e5 * tiny, large, -large, 1 / large, -1 / large, 1.0, -1.0]
    strange += [least, -math.sqrt(least)]
    if special:
        strange += [math.inf, -math.inf, math.nan, float(info.max)]
    x = rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape)
    return np.array(np.where(rng.random(shape) < 0.2, rng.choice(strange, shape), x), numpy_dtype(dtype))


def row_sparse(rng: np.random.Generator, shape: Shape, dtype: str, *, special: bool) -> RowSparse:
    """Some rows, in any order, some of them more than once."""
    count = int(rng.integers(0, shape[0] + 1)) if shape[0] else 0
    indices = rng.integers(0, max(shape[0], 1), count)
    return RowSparse(indices, numbers(rng, (count, *shape[1:]), dtype, special=special))


def same_bits(a: Array, b: Array) -> bool:
    """Equality that tells -0 from +0 and takes all NaNs as one."""
    return a.shape == b.shape and a.dtype == b.dtype and not different(a, b).size


def different(a: Array, b: Array) -> Array:
    """The places where a and b, which are alike, differ in bits."""
    bits = np.dtype(f"u{a.itemsize}")
    found = a.reshape(-1).view(bits) != b.reshape(-1).view(bits)
    if a.dtype.kind not in "iu":
        found &= ~((a != a) & (b != b)).reshape(-1)
    return np.flatnonzero(found)


def copies(arrays: Sequence[Array]) -> list[Array]:
    return [a.copy() for a in arrays]


def copy_state(state: State) -> State:
    """A copy, in which those arrays that are one stay one."""
    memo = {id(a): a.copy() for arrays in state.arrays.values() for a in arrays if a is not None}
    arrays = {name: [None if a is None else memo[id(a)] for a in arrays] for name, arrays in state.arrays.items()}
    return State(arrays, state.t.copy())


def arrays_of(state: State, i: int) -> dict[str, Array]:
    """What a state holds for parameter i."""
    return {name: a for name, arrays in state.arrays.items() if (a := arrays[i]) is not None}


# ---------------------------------------------------------------- the interpreter


Build = Callable[[Optimizer, Variant], Kernel]
_KERNELS: dict[tuple[str, str], tuple[Kernel, Kernel]] = {}


def _stages(spec: Optimizer, variant: Variant) -> tuple[Kernel, Kernel]:
    key = (spec.source.text, repr(variant))
    if key not in _KERNELS:
        kernel = pipeline.build(spec, variant)
        _KERNELS[key] = expand_math(kernel), expand_math(pipeline.plan(kernel))
    return _KERNELS[key]


def built(spec: Optimizer, variant: Variant) -> Kernel:
    """The kernel as it is before any pass, but for its elementary functions, which are expanded once and for all."""
    return _stages(spec, variant)[0]


def planned(spec: Optimizer, variant: Variant) -> Kernel:
    """The kernel as the backend takes it."""
    return _stages(spec, variant)[1]


def interpret_step(
    rule: optgen.UpdateRule,
    params: Sequence[Array],
    grads: Sequence[Array | RowSparse | Sequence[Array]],
    state: State,
    values: Mapping[str, Any],
    *,
    build: Build = built,
    seed: int = 0,
    inputs: Mapping[str, Sequence[Array]] | None = None,
    flags: Mapping[str, Sequence[Any]] | None = None,
    ids: Sequence[int] | None = None,
    lazy: bool = True,
) -> None:
    """What a bound step does, done by the interpreter. `values`: a number, a list of one per tensor, or None.

    In place of a gradient there may be a list of several.
    """
    state.t[...] += 1
    together: dict[str, tuple[Kernel, list[TensorUpdate]]] = {}
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        own = {name: x[i] for name, x in (flags or {}).items()}
        by_row = lazy and isinstance(grad, RowSparse)
        several = list(grad) if isinstance(grad, list) else [grad]
        variant = rule.variant(param.shape, own, sparse=by_row, gradients=len(several))
        if by_row and not build(rule.spec, variant).rows_independent:
            variant = rule.variant(param.shape, own)
        kernel, tensors = together.setdefault(repr(variant), (build(rule.spec, variant), []))
        arrays = arrays_of(state, i) | {name: arrays[i] for name, arrays in (inputs or {}).items()}
        arrays["copy" if rule.master else "w"] = param
        for k, one in enumerate(several):
            rows, arrays[gradient(k)] = _rows(kernel, param, one, arrays, lazy)
        hyper = _hyper(kernel, param.shape, {name: x[i] if isinstance(x, list) else x for name, x in values.items()})
        hyper["step"] = float(state.t.max())
        tensors.append(TensorUpdate(arrays, hyper, int(state.t[i]), i if ids is None else ids[i], rows))
    for kernel, tensors in together.values():
        interpret(kernel, tensors, seed)


def interpret_eval(
    rule: optgen.UpdateRule,
    params: Sequence[Array],
    state: State,
    flags: Mapping[str, Sequence[Any]] | None = None,
    values: Mapping[str, Any] | None = None,
) -> list[Array]:
    """What `evaluate` does, done by the interpreter. `values` are as for `interpret_step`, or the rule's."""
    found = []
    for i, param in enumerate(params):
        own = {name: x[i] for name, x in (flags or {}).items()}
        kernel = built(rule.spec, rule.variant(param.shape, own, evaluate=True))
        out = np.empty_like(param)
        arrays = {"w": param} | arrays_of(state, i) | {"out": out}
        given = {name: x[i] if isinstance(x, list) else x for name, x in (values or rule.values).items()}
        hyper = _hyper(kernel, param.shape, given) | {"step": float(state.t.max())}
        interpret(kernel, [TensorUpdate(arrays, hyper, int(state.t[i]), rows=_always(kernel, param, arrays))])
        found.append(out)
    return found


def _hyper(kernel: Kernel, shape: Shape, values: Mapping[str, Any]) -> dict[str, float]:
    matrices, rows, cols = matrix_view(shape, last_two=kernel.last_two)
    sizes = {
        "rank": len(shape),
        "size": math.prod(shape),
        "rows": rows,
        "cols": cols,
        "matrices": matrices if cols else 0,
    }
    known = {**sizes, "step": 0, GRADIENT_FACTOR: 1.0, **values}
    return {name: math.nan if known[name] is None else float(known[name]) for name in kernel.hyper}


def _rows(
    kernel: Kernel, param: Array, grad: Array | RowSparse, arrays: Mapping[str, Array], lazy: bool
) -> tuple[Array | None, Array]:
    """The rows that are updated (None: all of the tensor at once), and the gradient of these."""
    by_row = _always(kernel, param, arrays)
    if not isinstance(grad, RowSparse):
        return by_row, grad
    total: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for k, row in zip(grad.indices, grad.values.astype(np.result_type(param.dtype, np.float32)), strict=True):
            total[int(k)] = total[int(k)] + row if int(k) in total else row
        rows = np.array(sorted(total), np.int64)
        compact = np.array([total[k] for k in rows]).reshape(len(rows), *param.shape[1:]).astype(param.dtype)
    if lazy and kernel.rows_independent:
        return rows, compact
    dense = np.zeros(param.shape, param.dtype)
    dense[rows] = compact
    return by_row, dense


def _always(kernel: Kernel, param: Array, arrays: Mapping[str, Array]) -> Array | None:
    """All rows where 8-bit blocks restart at each; None: the tensor is one."""
    scales = [a for name, a in arrays.items() if name.endswith(".scale")]
    _, rows, _ = matrix_view(param.shape, last_two=kernel.last_two)
    return np.arange(rows) if any(a.ndim == 2 for a in scales) else None


def assert_same(label: str, params: Sequence[Array], state: State, others: Sequence[Array], other: State) -> None:
    """Parameters, states and counts are equal to the bit."""
    for i, (ours, theirs) in enumerate(zip(params, others, strict=True)):
        expected = {"param": theirs} | arrays_of(other, i)
        for name, a in ({"param": ours} | arrays_of(state, i)).items():
            b = expected[name]
            if not same_bits(a, b):
                at = different(a, b)[:3]
                where = f"{name}[{i}] of shape {a.shape} at {at}"
                raise AssertionError(f"{label}: {where}: {a.reshape(-1)[at]} and {b.reshape(-1)[at]}")
    assert np.array_equal(state.t, other.t), label


def python(code: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, in the root of the repository."""
    return run([sys.executable, "-c", code], timeout=timeout, env=environment, cwd=Path(__file__).parents[2])
