"""The table of `optgen show SPEC --times`: what each step of the compiler takes, and how much it leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from optgen.diagnostics import Source
from optgen.ir import Kernel, Variant
from optgen.model import Optimizer
from optgen.observer import Observer, ignore
from optgen.stages.plan import KernelStage, LoopStage

COLUMNS = ("operations", "sweeps", "LLVM instructions", "bytes")
NOTE = """\
of a matrix of {} x {}
times: of a second compilation; they vary from run to run, the counts do not
operations: of check, equations; of cut and fold, stages; of others, kernels'
bytes: of layout, the arrays between kernels; of object code, machine code"""


@dataclass
class Step:
    """What a step of the compiler took, and of COLUMNS what it left, summed over kernels."""

    seconds: float = 0.0
    left: dict[str, int] = field(default_factory=dict)


class Stopwatch:
    """An observer of the compiler, whose `steps` are in the order in which data flows."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self._begin = time.perf_counter()

    def __call__(self, name: str, made: object) -> None:
        seconds = time.perf_counter() - self._begin
        step = self.steps.setdefault(name, Step())
        step.seconds += seconds
        for column, count in counts(made).items():
            step.left[column] = step.left.get(column, 0) + count
        self._begin = time.perf_counter()  # what counting took belongs to no step


def table(source: Source, variant: Variant, values: Mapping[str, float | None], shape: tuple[int, ...]) -> str:
    """The table of one variant, for this machine, past the cache. `values` has the params, and the sizes of a parameter
    of this shape, for which arrays between kernels get places."""
    compile_and_load(source, variant, values, "first", ignore)
    watch = Stopwatch()
    compile_and_load(source, variant, values, "second", watch)
    total = sum(step.seconds for step in watch.steps.values())
    rows: list[tuple[str, ...]] = [("step", "ms", *COLUMNS)]
    for name, step in watch.steps.items():
        numbers = (f"{step.left[column]:,}" if column in step.left else "" for column in COLUMNS)
        rows.append((name, f"{step.seconds * 1e3:.1f}", *numbers))
    rows.append(("all", f"{total * 1e3:.1f}", *[""] * len(COLUMNS)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(x.rjust(n) for x, n in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), NOTE.format(*shape)])


def compile_and_load(
    source: Source, variant: Variant, values: Mapping[str, float | None], symbol: str, observe: Observer
) -> None:
    """Compile a variant of a spec, and link its code, whose symbols begin with `symbol`: code that is linked already
    would not be linked again."""
    from optgen import pipeline
    from optgen.backends import target
    from optgen.objectcode import link

    optimizer = pipeline.check(source)
    observe("check", optimizer)
    for k, kernel in enumerate(_kernels(optimizer, variant, values, observe)):
        observe("build", kernel)
        name = f"{symbol}{k}"
        code = pipeline.object_code(pipeline.plan(kernel, observe), name, target.host(), observe)
        observe("link", link.link(code, name, f"{name}_workspace"))


def _kernels(
    optimizer: Optimizer, variant: Variant, values: Mapping[str, float | None], observe: Observer
) -> Iterator[Kernel]:
    """The kernels of an update, of one that computes everything."""
    from optgen import pipeline
    from optgen.execute.stages.stage_run import places_of

    if not optimizer.is_staged(variant.flags):
        yield pipeline.build(optimizer, variant)
        return
    plan = pipeline.stages(optimizer, variant, optimizer.timings, first=False, observe=observe)
    _, end = places_of(plan, variant.dtype, values)
    observe("layout", end)
    for section in dict.fromkeys(x for x in plan.walk() if isinstance(x, KernelStage)):
        yield section.kernel


def counts(made: object) -> dict[str, int]:
    """The numbers of COLUMNS of what a step made."""
    from optgen.backends import target
    from optgen.backends.target import Compiled

    match made:
        case Optimizer(update=update):
            return {"operations": len(update)}
        case list() | tuple():
            return {"operations": _number(made)}
        case int():
            return {"bytes": made}
        case Kernel():
            sweeps = sum(phase.kind == "sweep" for phase in made.phases)
            return {"operations": sum(1 for _ in made.instrs())} | ({"sweeps": sweeps} if sweeps else {})
        case str():
            return {"LLVM instructions": target.compile_ir(made, target.host(), "none").instructions}
        case Compiled():
            return {"LLVM instructions": made.instructions}
        case bytes():
            return {"bytes": target.code_bytes(made)}
    return {}


def _number(stages: Sequence[object]) -> int:
    """How many stages there are, with those in loops."""
    return sum(1 + _number(x.body if isinstance(x, LoopStage) else ()) for x in stages)
