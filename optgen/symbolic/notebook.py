"""What a notebook shows of a spec, and of what is made of it: the equations, and a table of the arguments.

IPython calls `_repr_mimebundle_` of the last value of a cell. It is the method of specs, rules and steps, and of the
optimizers of `optgen.torch` and of `mx.optimizer` and their classes. HTML has the equations as MathML, which browsers
set; LaTeX is for a notebook that becomes a PDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from optgen.expressions import Name
from optgen.model import RESERVED_PARAMS, Flag, FlagValue, Optimizer, Param
from optgen.symbolic.latex import latex
from optgen.symbolic.mathml import formula, mathml
from optgen.symbolic.names import Names
from optgen.symbolic.symbols import GREEK
from optgen.truth import partial_truth

Settings = Mapping[str, Any]
"""Params and flags by name: what some parameters of a model are updated with."""


def bundle(optimizer: Optimizer, settings: Sequence[Settings] = (), line: str = "") -> dict[str, str]:
    """HTML and LaTeX by their MIME types.

    `settings` are those of each group of parameters; what they lack is as in the spec. The equations are those that all
    groups leave, and without settings those of all flags. `line` is what stands above, by default name and title.
    """
    defaults = {p.name: p.default for p in optimizer.all_params.values()}
    groups: list[Settings] = [{**defaults, **group} for group in settings] or [defaults]
    shared = {name: x for name, x in groups[0].items() if all(name in g and g[name] == x for g in groups)}
    values = {name: shared[name] for name in optimizer.all_params if name in shared}
    flags = _flags(optimizer, shared, values) if settings else {}
    head = f"<code>{escape(line)}</code>" if line else _title(optimizer)
    equations = f'<div style="overflow-x: auto">{mathml(optimizer, flags, values)}</div>'
    html = f"<div><p>{head}</p>{equations}{_table(optimizer, groups)}</div>"
    return {"text/html": html, "text/latex": f"$$\n{latex(optimizer, flags, values)}\n$$"}


def _flags(optimizer: Optimizer, shared: Settings, values: Settings) -> dict[str, FlagValue]:
    """The flags that are given, and those that follow from them and from numbers."""
    numbers = {name: x for name, x in values.items() if isinstance(x, int | float)}
    flags: dict[str, FlagValue] = {}
    for flag in optimizer.flags:
        value = shared.get(flag.name)
        if value is None and flag.condition is not None:
            value = partial_truth(flag.condition, flags, numbers)
        if value is not None:
            flags[flag.name] = value
    return flags


def _title(optimizer: Optimizer) -> str:
    return f"<b>{escape(optimizer.name)}</b>" + (f": {escape(optimizer.title)}" if optimizer.title else "")


def _table(optimizer: Optimizer, groups: Sequence[Settings]) -> str:
    rows = list(_rows(optimizer, groups))
    head = "<tr><th></th><th>argument</th><th>value</th><th></th></tr>"
    lines = (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}{''.join(lines)}</table>" if rows else ""


def _rows(optimizer: Optimizer, groups: Sequence[Settings]) -> Iterator[tuple[str, str, str, str]]:
    """Symbol, where that is not the name, then name, value and meaning of each argument that some equation reads."""
    names = Names(optimizer, evaluate=False)
    for param in optimizer.all_params.values():
        found = _found(param, groups)
        plain = param.name in ("rescale_grad", "clip_gradient") and found == [RESERVED_PARAMS[param.name].default]
        if param.name in optimizer.reads and not param.given and not plain:
            name = Name(param.name, False, param.span)
            base = names.of(name)[0].base
            spelled = base == param.name and base not in GREEK
            doc = param.doc or getattr(RESERVED_PARAMS.get(param.name), "doc", "")
            yield "" if spelled else formula(name, optimizer), f"<code>{param.name}</code>", _text(found), escape(doc)
    for flag in optimizer.flags:
        if flag.condition is None:
            found = _found(flag, groups) or list(flag.choices or (False, True))
            yield "", f"<code>{flag.name}</code>", _text(found), escape(flag.doc)


def _found(declared: Param | Flag, groups: Sequence[Settings]) -> list[Any]:
    """The different values of an argument, in the order of the groups."""
    found: list[Any] = []
    for group in groups:
        if declared.name in group and group[declared.name] not in found:
            found.append(group[declared.name])
    return found


def _text(found: Sequence[Any]) -> str:
    texts = [f"{x:.15g}" if isinstance(x, float) else "none" if x is None else str(x) for x in found]
    return escape(", ".join(texts[:4]) + (", ..." if len(texts) > 4 else ""))
