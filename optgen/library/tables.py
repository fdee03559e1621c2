"""The tables of a library: which kernels there are, which arrays each takes, and what states start as."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optgen.axes import ELEMENTS, Axes, Axis, Kind, length_of
from optgen.execute import buffers, storage
from optgen.facts import fact
from optgen.ir import Buffer, is_gradient
from optgen.library.c_text import quoted, real
from optgen.library.calls import CALLS
from optgen.library.conditions import ConditionWriter, chooser
from optgen.library.kernels import LibraryKernel, LibraryProgram, Made
from optgen.library.specs import LibrarySpec
from optgen.library.stages import CallPlace, CallStep, KernelStep, StageProgram, Step
from optgen.model import flags_text
from optgen.spec_identity import identity

_KINDS = {
    Kind.ELEM: "KIND_ELEM",
    Kind.ROW: "KIND_ROW",
    Kind.COL: "KIND_COL",
    Kind.SHARED: "KIND_SHARED",
    Kind.MATRIX: "KIND_MATRIX",
}
_FILE_DTYPES = ("uint8", "float16", "bfloat16", "float32", "float64")
"""In the order of `file_dtypes` in saved.c."""
_NO_CODES = "a library in C has no such states yet: store it in float32"


@dataclass(frozen=True)
class BuiltSpec:
    """A spec and its kernels: by dtype, whether they are for small parameters, section and variant; those that were
    not built are missing."""

    own: LibrarySpec
    kernels: Mapping[tuple[str, bool, int, int], Made]

    @fact
    def states(self) -> list[str]:
        """The arrays that contexts own, by name: states, scales of codes, and masters as "w"."""
        every = (b for kernel in self.kernels.values() for b in kernel.buffers)
        return list(dict.fromkeys(b.memory for b in every if self.is_state(b)))

    @fact
    def programs(self) -> list[StageProgram]:
        """Its updates in stages."""
        return [x.program for x in self.kernels.values() if isinstance(x, LibraryProgram)]

    def is_state(self, buffer: Buffer) -> bool:
        """Whether a buffer is kept between steps."""
        return buffer.init is not None or bool(buffer.of) or (buffer.name == "w" and self.own.master)


def tables(built: BuiltSpec, dtypes: Sequence[str]) -> str:
    """The tables of a spec, as C. Kernels stand in the order of `dtypes`."""
    m, p = built.own, f"table_{built.own.prefix}"
    lines: list[str] = []
    names: dict[str, str] = {}
    for made in built.kernels.values():
        if (key := _key(made)) not in names:
            names[key] = name = f"{p}_kernel_{len(names)}"
            if isinstance(made, LibraryKernel):
                lines += _kernel(built, made, name, {}, ())
            else:
                lines += _program(built, made, name)
    hypers = [_hyper_info(m, name) for name in m.hyper_defaults]
    lines += [f"static const hyper_info {p}_hypers[] = {{", *hypers, "};"]
    lines += [_texts(f"{p}_inputs", [i.name for i in m.spec.inputs]), _texts(f"{p}_states", built.states)]
    lines += [_texts(f"{p}_variants", map(flags_text, m.variants)), _texts(f"{p}_phases", m.phases)]
    places = [
        names[_key(made)] if made is not None else None
        for dtype in dtypes
        for small in m.sizes
        for section in range(m.sections)
        for made in (built.kernels.get((dtype, small, section, v)) for v in range(len(m.variants)))
    ]
    lines += [f"static const kernel *const {p}_kernels[] = {{{', '.join(f'&{x}' if x else 'NULL' for x in places)}}};"]
    lines += [chooser(m), _spec(built)]
    return "\n".join([*lines, ""])


def _key(made: Made) -> str:
    """A text that kernels and programs have in common if one table is for both."""
    symbols = [(kernel.symbols, kernel.gpu and kernel.gpu.symbol) for kernel in made.kernels]
    return repr((symbols, None if isinstance(made, LibraryKernel) else made.program))


def _kernel(
    built: BuiltSpec, kernel: LibraryKernel, name: str, places: Mapping[str, int], turns: Sequence[str]
) -> Iterator[str]:
    """The table of a kernel. `places` are the numbers of its work arrays, and `turns` what it calls those of turns."""
    native, order = kernel.natives[0], list(built.own.hyper_defaults)

    def number(x: str) -> str:
        if x in turns:
            return f"HYPER_TURN - {turns.index(x)}"
        if x.startswith("parameter."):
            return f"HYPER_OF_TENSOR + HYPER_{x.removeprefix('parameter.').upper()}"
        return str(order.index(x)) if x in order else f"HYPER_{x.upper()}"

    yield _buffers(built, kernel, name, places)
    yield f"static const int32_t {name}_hyper[] = {{{', '.join(map(number, native.hyper)) or '0'}}};"
    levels = ", ".join(f"{{{x}, {'NULL' if kernel.gpu else f'{x}_workspace'}}}" for x in kernel.symbols)
    own = f".n_buffers = {len(native.buffers)}, .n_hyper = {len(native.hyper)}, .is_lazy = {int(native.lazy)}"
    own += f", .levels = {{{levels}}}" + (f", .on_device = &{kernel.gpu.symbol}_code" if kernel.gpu else "")
    yield f"static const kernel {name} = {{{name}_buffers, {name}_hyper, {own}}};"


def _buffers(built: BuiltSpec, made: Made, name: str, places: Mapping[str, int]) -> str:
    rows = [f"    {_buffer(built, b, made, places)}," for b in made.buffers]
    return "\n".join([f"static const buffer {name}_buffers[] = {{", *rows, "};"])


def _program(built: BuiltSpec, made: LibraryProgram, name: str) -> Iterator[str]:
    """The table of an update in stages."""
    program, turns = made.program, made.program.turns
    for k, step in enumerate(program.kernel_steps()):
        yield from _kernel(built, made.kernels[step.kernel], f"{name}_{k}", step.places, turns)
    number = 0
    for k, call in enumerate(program.calls):
        yield f"static const call {name}_call_{k} = {_call(built, made, call, number)};"
        number += len(call.call.numbers)
    rows: list[str] = []
    plans = []
    kernels, calls = itertools.count(), itertools.count()
    for steps, may_fail in zip(program.plans, program.fallible, strict=True):
        begin = len(rows)
        _stages(steps, turns, name, rows, kernels, calls)
        plans.append(f"{{{begin}, {len(rows)}, {int(may_fail)}}}")
    yield f"static const stage {name}_stages[] = {{\n" + "\n".join(f"    {row}," for row in rows) + "\n};"
    yield f"static const plan {name}_plans[] = {{{', '.join(plans)}}};"
    arrays = [
        f"{{.kind = {_KINDS.get(x.kind, 'KIND_NUMBER')}, .bytes = {4 if x.storage == 'float32' else 8}, "
        f".per = 1, .entries = {x.entries}{_axes(x.axes)}}}"
        for x in program.arrays
    ]
    yield f"static const buffer {name}_arrays[] = {{{', '.join(arrays) or '{0}'}}};"
    yield from _numbers(built, program, name)
    yield f"static const program {name}_program = {{{_program_fields(made, name, len(rows))}}};"
    yield _buffers(built, made, name, {})
    own = f".program = &{name}_program, .n_buffers = {len(made.buffers)}"
    yield f"static const kernel {name} = {{{name}_buffers, {own}}};"


def _program_fields(made: LibraryProgram, name: str, rows: int) -> str:
    program = made.program
    fields = {
        "stages": f"{name}_stages",
        "arrays": f"{name}_arrays",
        "plans": f"{name}_plans",
        "numbers": f"{name}_numbers" if program.numbers else "NULL",
        "n_stages": rows,
        "n_kernels": program.n_kernel_steps,
        "n_arrays": len(program.arrays),
        "n_numbers": len(program.numbers),
        "n_timings": len(program.timings),
        "is_wide": int(made.dtype == "float64"),
        "starts": int(program.starts),
        "may_fail": int(any(program.fallible)),
        "alone": int(program.alone),
    }
    return ", ".join(f".{k} = {x}" for k, x in fields.items())


def _numbers(built: BuiltSpec, program: StageProgram, name: str) -> Iterator[str]:
    """The function that computes the numbers of an update."""
    if not program.numbers:
        return
    writer = ConditionWriter(built.own)
    yield f"static void {name}_numbers(const double *h, const dimensions *of, double *out)"
    yield "{\n    (void)h, (void)of;"
    yield from (f"    out[{k}] = {writer.number(x)};" for k, x in enumerate(program.numbers))
    yield "}"


def _call(built: BuiltSpec, made: LibraryProgram, step: CallStep, number: int) -> str:
    """The row of a call, whose numbers begin with this one."""
    operands = [_place(built, made, x) for x in step.places]
    turned = [int(x.transposed) for x in step.call.operands]
    parts = ", ".join(f"{{{x}, {t}}}" for x, t in zip(operands[:-1], turned, strict=True))
    run, size = CALLS[step.call.function]
    fields = {
        "run": run,
        "bytes": size,
        "operands": f"{{{parts}}}",
        "target": f"{{{operands[-1]}, 0}}",
        "n_operands": len(turned),
        "first_number": number,
        "symmetric": int(step.call.symmetric),
        "turned": int(step.call.turned),
    }
    return f"{{{', '.join(f'.{k} = {x}' for k, x in fields.items())}}}"


def _place(built: BuiltSpec, made: LibraryProgram, place: CallPlace) -> str:
    """The role, number and axes of a matrix of a call."""
    axes = f"{{{', '.join(map(_axis, place.axes))}}}"
    if place.array is not None:
        return f"ROLE_ARRAY, {place.array}, {axes}"
    own = next(b for b in made.buffers if b.memory == place.name)
    return ", ".join([*map(str, _role(built, own, {})), axes])


def _axis(axis: Axis) -> str:
    return {"rows": "AXIS_ROWS", "cols": "AXIS_COLS"}.get(str(axis), str(axis))


def _axes(axes: Axes) -> str:
    return f", .axes = {{{', '.join(map(_axis, axes))}}}" if axes else ""


def _stages(
    steps: Sequence[Step],
    turns: Sequence[str],
    name: str,
    rows: list[str],
    kernels: Iterator[int],
    calls: Iterator[int],
) -> None:
    """Append the rows of steps; `kernels` and `calls` are the numbers of both kinds of calls."""
    for step in steps:
        if isinstance(step, KernelStep):
            number, domain = next(kernels), ", ".join(map(_axis, step.domain))
            rows.append(f"{{.kernel = &{name}_{number}, .number = {number}, .domain = {{{domain}}}}}")
            continue
        if isinstance(step, CallStep):
            rows.append(f"{{.call = &{name}_call_{next(calls)}}} /* {step.call.function} */")
            continue
        place, begins = len(rows), []
        rows.append("")
        for body in step.bodies:
            begins.append(len(rows))
            _stages(body, turns, name, rows, kernels, calls)
        begins += [len(rows)] * (4 - len(begins))
        turn = turns.index(step.turn) if step.turn else -1
        rows[place] = f"{{.turns = {step.turns}, .turn = {turn}, .bodies = {{{', '.join(map(str, begins))}}}}}"


def _role(built: BuiltSpec, b: Buffer, places: Mapping[str, int]) -> tuple[str, int]:
    """The role and the number of an array. `places` are the numbers of work arrays, by name."""
    inputs = [i.name for i in built.own.spec.inputs]
    if b.name in places:
        return "ROLE_ARRAY", places[b.name]
    if b.memory in built.states:
        return "ROLE_STATE", built.states.index(b.memory)
    if is_gradient(b.name):
        return "ROLE_GRAD", 0
    if b.name in inputs:
        return "ROLE_INPUT", inputs.index(b.name)
    if b.name == "out":
        return "ROLE_OUT", 0
    if b.name not in ("w", "copy"):
        raise ValueError(f"{built.own.prefix}: a library in C has no array '{b.name}' yet")
    return "ROLE_DATA", 0


def _buffer(built: BuiltSpec, b: Buffer, made: Made, places: Mapping[str, int]) -> str:
    m = built.own
    role, number = _role(built, b, places)
    fields: dict[str, object] = {
        "role": role,
        "kind": _KINDS.get(b.kind, "KIND_NUMBER"),
        "number": number,
        "bytes": _itemsize(b),
        "per": b.block or (2 if b.format.is_packed else 1),
    }
    if b.kind is Kind.MATRIX:
        axes = [x if x in ELEMENTS else length_of(x, m.args.values) for x in b.axes]
        fields["axes"] = f"{{{', '.join(map(_axis, [*axes, 'AXIS_NONE'][:2]))}}}"
    if role == "ROLE_ARRAY" and b.kind is Kind.ROW and b.written:
        fields["is_made"] = 1
    if m.on_gpu and b.kind is Kind.HOST:
        if role != "ROLE_STATE":
            raise ValueError(f"{m.prefix}: a library for GPUs has no array '{b.name}' of the host yet")
        fields["is_host"] = 1
    if role == "ROLE_STATE":
        fields["entries"] = int(b.entries or 0) if not b.of else 0
        fields["file_dtype"] = _FILE_DTYPES.index(b.format.array_dtype)
        fields |= _start(m, b, made)
    return f"{{{', '.join(f'.{name} = {x}' for name, x in fields.items())}}} /* {b.name} */"


def _itemsize(b: Buffer) -> int:
    return {"float64": 8, "float32": 4, "uint8": 1}.get(b.format.array_dtype, 2)


def _start(m: LibrarySpec, b: Buffer, made: Made) -> dict[str, object]:
    """What a state starts as."""
    if b.of:
        return {"start": "START_NONE"}
    if b.init == "w" or b.name == "w":
        if b.is_quantized or b.format.array_dtype not in (made.dtype, "float32"):
            raise ValueError(f"{m.prefix}: state '{b.name}' starts as the weight, in codes; {_NO_CODES}")
        return {"start": "START_WEIGHT"}
    if isinstance(b.init, str):
        if b.format.array_dtype not in ("float32", "float64"):
            raise ValueError(f"{m.prefix}: state '{b.name}' starts as '{b.init}', in 16 bits or in codes; {_NO_CODES}")
        return {"start": "START_HYPER", "number_of_hyper": list(m.hyper_defaults).index(b.init)}
    item = _item(b, made.buffers)
    if not any(item):
        return {"start": "START_ZERO"}
    return {"start": "START_ITEM", "item": "{" + ", ".join(map(str, item)) + "}"}


def _item(b: Buffer, others: Sequence[Buffer]) -> bytes:
    """The bytes of an item of a state that starts as a number."""
    codes = next((c for c in others if b.is_scale and b.name == f"{c.name}.scale"), b)
    value: float = float(codes.init or 0)
    if codes.is_quantized:
        value = storage.encode_equal(value, codes)[int(b.is_scale)]
    with np.errstate(over="ignore"):
        return np.full((), value, buffers.numpy_dtype(b.format.array_dtype)).tobytes()


def _hyper_info(m: LibrarySpec, name: str) -> str:
    param = m.spec.all_params[name]
    own = param.interval
    fields: dict[str, object] = {"name": quoted(name)}
    if own is not None:
        fields |= {"interval": quoted(str(own)), "low": real(own.low), "high": real(own.high)}
        fields |= {"low_open": int(own.low_open), "high_open": int(own.high_open)}
    fields |= {"fixed": real(m.args.values[name]) if name in m.fixed else "NAN", "whole": int(param.is_int)}
    fields |= {"optional": int(param.optional), "zero_off": int(param.zero_off)}
    fields |= {"given": int(param.given), "per_tensor": int(name in m.spec.per_parameter)}
    return f"    {{{', '.join(f'.{k} = {x}' for k, x in fields.items())}}},"


def _texts(name: str, texts: Iterator[str] | Sequence[str]) -> str:
    return f"static const char *const {name}[] = {{{', '.join([*map(quoted, texts), 'NULL'])}}};"


def _spec(built: BuiltSpec) -> str:
    m, p = built.own, f"table_{built.own.prefix}"
    fields = {
        "name": quoted(m.prefix),
        "written": quoted(m.written),
        "identity": quoted("-".join(str(x) for x in identity(m.spec).values())),
        "hypers": f"{p}_hypers",
        "inputs": f"{p}_inputs",
        "states": f"{p}_states",
        "variants_text": f"{p}_variants",
        "phase_names": f"{p}_phases",
        "kernels": f"{p}_kernels",
        "choose": f"choose_{m.prefix}",
        "n_hypers": len(m.hyper_defaults),
        "n_inputs": len(m.spec.inputs),
        "n_states": len(built.states),
        "n_flags": len(m.chosen_flags),
        "variants": len(m.variants),
        "phases": len(m.phases),
        "sections": m.sections,
        "reads_grad": int("grad" in m.spec.reads),
        "joins": int(m.spec.joins_params),
        "shares": int(m.spec.joins_params or any(x.kind is Kind.SHARED for x in m.spec.states)),
        "last_two": int(m.spec.last_two),
        "small_differ": int(m.small_differ),
        "most_kernels": max([1, *(x.n_kernel_steps for x in built.programs)]),
        "alone": int(any(x.alone for x in built.programs)),
    }
    rows = [f"    .{k} = {x}," for k, x in fields.items()]
    return "\n".join([f"static const spec {p}_spec = {{", *rows, "};"])
