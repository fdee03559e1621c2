"""What an update does with each parameter, as a table: computed of rules and variants, without compiling kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from optgen.axes import Kind
from optgen.execute import buffers, storage
from optgen.execute.rule import UpdateRule
from optgen.expressions import Binary, Expr, Name, Unary, walk
from optgen.model import FlagValue, Optimizer
from optgen.shapes import sizes
from optgen.symbolic.written import expression
from optgen.truth import partial_truth


class PlannedState(NamedTuple):
    """A state of a parameter: the name of its storage, and the bytes that it takes here, those of scales among them. A
    state that all parameters share takes bytes of the first one alone."""

    name: str
    storage: str
    bytes: int


class PlannedParam(NamedTuple):
    """How a parameter is updated.

    `update` is the part of the spec that updates it, `flags` are those of its variant, and `because` says why it is not
    the first part. `values` are rates, the weight decay, and what differs between groups, as far as its equations read
    them. `place` says where a sharded one is updated. `refused` are wishes that did not come true, and why.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    update: str = ""
    because: str = ""
    flags: Mapping[str, FlagValue] = {}
    values: Mapping[str, float | None] = {}
    states: tuple[PlannedState, ...] = ()
    place: str = ""
    refused: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def state_bytes(self) -> int:
        return sum(state.bytes for state in self.states)


class UpdatePlan(tuple[PlannedParam, ...]):
    """The rows of all parameters, in the order of an optimizer; its text is a table of what differs, with totals."""

    def __repr__(self) -> str:
        return f"<plan of {self.summary()}>"

    def __str__(self) -> str:
        kinds = {(row.dtype, row.device) for row in self}
        shown = [{x: cell for x, cell in _cells(row).items() if len(kinds) > 1 or x not in KIND} for row in self]
        of_all = [f"; all {dtype} on {device}" for dtype, device in kinds if len(kinds) == 1]
        return "\n".join([*table(shown), "", self.summary() + "".join(of_all)])

    def summary(self) -> str:
        """How many parameters and elements have which update, and the bytes of all states."""
        found: dict[str, list[PlannedParam]] = {}
        for row in self:
            found.setdefault(row.update, []).append(row)
        words = [
            f"{update}: {len(rows):,} parameter{'s' * (len(rows) != 1)}, {sum(x.elements for x in rows):,} elements"
            for update, rows in found.items()
        ]
        return "; ".join([*words, f"states: {size(sum(row.state_bytes for row in self))}"])


def planned(
    rule: UpdateRule,
    param: PlannedParam,
    here: Sequence[int] | None,
    values: Mapping[str, float | None],
    shown: Iterable[str] = (),
    flags: Mapping[str, FlagValue] | None = None,
) -> PlannedParam:
    """The row of a parameter whose `shape`, `name` and place are known, with these params; of further ones with the
    names `shown`, too. `here` is the shape of what is updated here, None if that is nothing.

    ValueError if the rule refuses such a parameter.
    """
    spec, variant = rule.spec, rule.variant(param.shape, flags)
    read = {e.id for q in spec.program(variant.flags).equations for e in walk(q.value) if isinstance(e, Name)}
    told = [name for name in values if name in read and (name in shown or name in ("lr", "wd", *spec.following))]
    kept = rule.kept(param.shape, flags)
    coded: dict[str, list[str]] = {}  # and not, though they were to be
    for b in kept:
        if b.kind is Kind.ELEM and not b.is_scale and rule.storage.get(b.name, b.storage) != b.storage:
            why = "a history" if b.entries else rule.without_codes(param.shape)
            coded.setdefault(f"{rule.storage[b.name]}: {why}", []).append(b.name)
    refused = [f"{' '.join(names)} in {what}" for what, names in coded.items()]
    return param._replace(
        update=spec.part_of(variant.flags),
        because=why_other(spec, variant.flags, values, param.shape),
        flags=variant.flags,
        values={name: values[name] for name in told},
        states=tuple(_states(rule, param.shape, here, flags)),
        refused=(*param.refused, *refused),
    )


def _states(
    rule: UpdateRule, shape: Sequence[int], here: Sequence[int] | None, flags: Mapping[str, FlagValue] | None
) -> Iterator[PlannedState]:
    kept = rule.kept(shape, flags)
    scales = {b.name: b for b in kept if b.is_scale}
    for b in (b for b in kept if not b.is_scale):
        parts = [b, *([scales[b.scales.name]] if b.is_quantized else [])]
        last_two = rule.spec.last_two
        by_row = rule.restarts_at_rows(shape)
        shapes = [] if here is None else [storage.shape_of(x, here, by_row, last_two) for x in parts]
        own = zip(parts, shapes, strict=bool(shapes))
        nbytes = sum(math.prod(x) * buffers.numpy_dtype(storage.dtype_of(part)).itemsize for part, x in own)
        yield PlannedState("master" if b.name == "w" else b.name, b.storage, nbytes)


def why_other(
    spec: Optimizer, flags: Mapping[str, FlagValue], values: Mapping[str, float | None], shape: Sequence[int]
) -> str:
    """What keeps a parameter from the first of the parts of a spec; empty if nothing does."""
    condition = spec.flag(spec.parts[0]).condition if spec.parts else None
    if condition is None or flags[spec.parts[0]]:
        return ""
    known = {**{name: x for name, x in values.items() if x is not None}, **sizes(shape, spec.last_two)}
    for part in _conjuncts(condition):
        if partial_truth(part, flags, known) is not True:
            if any(isinstance(e, Name) and e.id == "rank" for e in walk(part)) and len(shape) < 2:
                return "1 dimension" if shape else "no dimensions"
            if isinstance(part, Unary) and part.op == "not":
                return expression(part.operand)
            return expression(Unary("not", part, part.span))
    return f"not {spec.parts[0]}"


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Binary) and condition.op == "and":
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def finished(spec: Optimizer, rows: Iterable[PlannedParam]) -> UpdatePlan:
    """The plan of rows: flags that are the same everywhere are left out, a spec without parts has the names of flags
    that differ, and a state that all share is counted once."""
    rows = list(rows)
    every = {name for row in rows for name in row.flags}
    differing = [name for name in every if len({row.flags[name] for row in rows if name in row.flags}) > 1]
    derived = [flag.name for flag in spec.flags if flag.condition is not None and flag.name in differing]
    shared = {s.name for s in spec.states if s.kind is Kind.SHARED}
    found: list[PlannedParam] = []
    for row in rows:
        update = row.update or (", ".join(x for x in derived if row.flags.get(x)) if row.flags else "") or spec.name
        flags = {name: x for name, x in row.flags.items() if name in differing}
        states = tuple(s._replace(bytes=0) if s.name in shared and found else s for s in row.states)
        found.append(row._replace(update=update, flags=flags, states=states))
    return UpdatePlan(found)


# ---------------------------------------------------------------- text


def _cells(row: PlannedParam) -> dict[str, str]:
    by_storage: dict[str, list[str]] = {}
    for state in row.states:
        by_storage.setdefault(state.storage, []).append(state.name)
    per_element = f"{row.state_bytes / row.elements:.4g}" if row.elements else ""
    return {
        "parameter": row.name,
        "shape": " x ".join(map(str, row.shape)) or "()",
        "dtype": row.dtype,
        "device": row.device,
        "update": row.update,
        "because": row.because,
        **{name: "none" if x is None else f"{x:g}" for name, x in row.values.items()},
        "states": "; ".join(f"{' '.join(names)}: {kind}" for kind, names in by_storage.items()),
        "bytes": f"{row.state_bytes:,}",
        "an element": per_element,
        "place": row.place,
        "refused": "; ".join(row.refused),
    }


KIND = ("dtype", "device")
FIRST = ("parameter", "shape", *KIND, "update", "because")
NUMBERS = ("bytes", "an element")
LAST = ("states", *NUMBERS, "place", "refused")
"""The titles of the columns on the left and on the right. Between them are those of values, rates first. NUMBERS are
aligned on the right. The columns of KIND are left out if all parameters have one kind."""


def _place(title: str) -> int:
    return 0 if title in FIRST else 3 if title in LAST else 1 if title.endswith("lr") else 2


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Rows as lines, with a line of titles; columns in which all cells are empty are left out."""
    titles = sorted(dict.fromkeys(x for row in rows for x in row), key=_place)
    columns = [[title, *(row.get(title, "") for row in rows)] for title in titles]
    columns = [column for column in columns if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    numbers = [column[0] in NUMBERS for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(cells, widths, numbers, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def size(nbytes: float) -> str:
    """Bytes in a unit in which they are a short number."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    k = 0
    while nbytes >= 1024 and k + 1 < len(units):
        nbytes, k = nbytes / 1024, k + 1
    return f"{nbytes:,.0f} {units[k]}" if not k else f"{nbytes:,.1f} {units[k]}"
