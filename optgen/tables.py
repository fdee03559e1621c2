"""The tables about a spec, as rows of plain text: its declarations, and what a step costs.

`optgen explain` prints them, and pages set them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optgen.axes import ELEMENTS
from optgen.model import Flags, Optimizer, flags_text
from optgen.symbolic.written import expression

if TYPE_CHECKING:
    from optgen.emit.settings import Setting
    from optgen.execute.rule import UpdateRule
    from optgen.ir import Kernel
    from optgen.ir.cost import Cost

EXAMPLES = ((768, 768), (768, 3072), (4096, 4096))
"""The matrices whose updates are explained: two of GPT-2 small, and a large one."""
LARGE = (1024, 1024)
"""The matrix whose memory is computed: large, so that values for each row or column are next to nothing."""
Row = tuple[str, ...]


def dense_variants(optimizer: Optimizer) -> list[Flags]:
    """The variants that are compiled: those for dense gradients."""
    return [flags for flags in optimizer.variants() if not flags.get("sparse")]


# ---------------------------------------------------------------- declarations


def params(optimizer: Optimizer) -> Iterator[Row]:
    """Rows about the params that some equation reads: names, default, values, what it is."""
    read = optimizer.reads
    for param in optimizer.all_params.values():
        if param.name in read:
            default = "none" if param.default is None else f"{param.default:.15g}"
            own = "for each parameter" * param.per_param, "follows lr" * param.follows_lr
            values = ", ".join(filter(None, (str(param.interval or ""), *own)))
            yield " or ".join((param.name, *param.aliases)), default, values, param.doc


def flags(optimizer: Optimizer) -> Iterator[Row]:
    """Those that are arguments with their default and values, the others with their condition."""
    for f in optimizer.flags:
        if f.condition is not None:
            yield f.name, "", expression(f.condition), f.doc
        else:
            values = " or ".join(f.choices or ("true", "false")) + (", for each parameter" if f.per_param else "")
            yield f.name, str(f.default) if f.choices else str(f.default).lower(), values, f.doc


def states(optimizer: Optimizer) -> Iterator[Row]:
    """Name, how many values of what, how it starts, when it is kept, what it is."""
    from optgen.emit.doc import ONE_FOR_EACH

    for s in optimizer.states:
        guard = f"if {expression(s.guard)}" if s.guard is not None else ""
        start = f"starts at {expression(s.init)}" + (" in the first update" if optimizer.start(s) is not None else "")
        each = s.group.described if s.group is not None else ONE_FOR_EACH.get(s.kind, "")
        count = s.declared if not each else f"{s.entries or 'one'} for each {each}"
        yield s.name, count, start, guard, s.doc


def dims(optimizer: Optimizer) -> Iterator[Row]:
    return ((d.name, expression(d.value), d.doc) for d in optimizer.dims)


def inputs(optimizer: Optimizer) -> Iterator[Row]:
    return ((i.name, "" if i.axes == ELEMENTS else i.declared, i.doc) for i in optimizer.inputs)


def requirements(optimizer: Optimizer) -> Iterator[Row]:
    return ((expression(r.condition), r.message) for r in optimizer.requires)


# ---------------------------------------------------------------- costs


def setting_text(setting: Setting) -> str:
    """`amsgrad=false kind=a|b`, of the flags that matter."""
    return flags_text(
        {name: "|".join(map(str, values)) if len(values) > 1 else values[0] for name, values in setting.items()}
    )


def planned(optimizer: Optimizer, *, donated: bool = False) -> Iterator[tuple[Flags, Kernel]]:
    """The planned kernels of all variants that are one kernel, for float32; `donated`: they may write to gradients."""
    from optgen import pipeline
    from optgen.ir import Variant

    return (
        (flags, pipeline.plan(pipeline.build(optimizer, Variant(flags, donated=donated))))
        for flags in dense_variants(optimizer)
        if not optimizer.is_staged(flags)
    )


def costs(optimizer: Optimizer) -> list[tuple[str, Cost]]:
    """What a float32 step costs for each element, by variants; none where all variants are several kernels."""
    from optgen.emit.settings import by_setting
    from optgen.ir.cost import cost

    found = by_setting((flags, cost(kernel)) for flags, kernel in planned(optimizer))
    return [(setting_text(setting) if setting else "all variants", c) for setting, c in found]


def state_bytes(rule: UpdateRule, shape: Sequence[int] = LARGE) -> float:
    """Bytes of states for each element of a parameter, on a CPU."""
    from optgen.execute.planned import PlannedParam, planned

    row = planned(rule, PlannedParam("w", tuple(shape), rule.dtype, "cpu"), shape, {})
    return row.state_bytes / row.elements


@dataclass(frozen=True)
class UpdateWork:
    """What the float32 update of a matrix computes and moves, the mean of many updates, with the default flags.

    `flops` are those of products, and of factorizations by textbook counts. `moved` are the bytes of sweeps.
    """

    shape: tuple[int, ...]
    flops: float
    moved: float

    def seconds(self, memory: float, products: float) -> float:
        """The least time, at `memory` bytes and `products` operations a second."""
        return max(self.flops / products, self.moved / memory)

    def limit(self, memory: float, products: float) -> str:
        return "memory" if self.moved / memory > self.flops / products else "products"


def matrix_work(optimizer: Optimizer) -> list[UpdateWork]:
    """The work for each of EXAMPLES that needs products."""
    import optgen

    rule = optgen.load(optimizer)
    return [UpdateWork(shape, flops, rule.bytes_moved(shape)) for shape in EXAMPLES if (flops := rule.flops(shape))]
