"""One Markdown document about many optimizers: equations, arguments, states, and what a step of each variant moves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optgen.axes import Kind, shown
from optgen.emit.settings import by_setting
from optgen.expressions import Expr, Number
from optgen.ir import Kernel
from optgen.ir.cost import cost, sweeps
from optgen.model import RESERVED_PARAMS, Flag, Flags, FlagValue, Optimizer, Param, StateDecl
from optgen.symbolic.latex import latex
from optgen.symbolic.written import expression

INTRODUCTION = """\
# Optimizers

`optgen doc` writes this file from the specs that it names. To change the file, change the specs.

**Equations.** In a spec, `x` is a value before the step and `x'` the value after it; as formulas, these are
$`x_{{t-1}}`$ and $`x_t`$. `w` is the weight. `grad` is the gradient as it comes, and `g` is the gradient to use,
`clip(rescale_grad*grad, clip_gradient)`. The formulas have these two arguments at their defaults, so that both
are $`g_t`$. [Formulas](arithmetic.md#formulas) says how names are set. `t` is the number of the update, 1 at the first.
What is written is what is computed, in the written order. Remarks below the equations say where they depart from the
paper or from MXNet. [docs/language.md](language.md), which `optgen language` prints, describes the language.

**NaN and infinity.** A function of NaN is NaN, also `sign`, `clip`, `max(a, b)` and `min(a, b)`; only `x^0` and `1^x`
are always 1. A comparison with NaN is false, except `!=`. The equations test for special cases by comparisons that are
false for NaN (`where(total == 0, ...)`), so a NaN in a gradient is seen in the weight at the update it is for.
Infinities follow the arithmetic. `sign` is +0 for both zeros. `clip(x, low, high)` is `high` where `x` exceeds it; the
result is then `low` where it is below `low`. So with `low > high` every number becomes `low`. A bound that is None or
NaN has no effect. `clip(x, bound)` is `clip(x, -bound, bound)`. The [table of functions](language.md#functions) has
all functions.

**Arguments.** The table of each optimizer has its own arguments. All optimizers also take the following ones, unless
their section says that they have no use for them:

{common}

`optgen.load` takes these names. In `runtime.optimizer`, `lr` is `learning_rate`, and a schedule may set it. A
`clip_gradient` of 0 makes every gradient 0, unless the optimizer's table says that 0 stands for no bound.

**MXNet.** The optimizers of MXNet 1.9.1 compute what they compute there, except where remarks say otherwise, and except
for roundings. Numbers such as `1 - beta2` are computed in double here, and in float32 by some of MXNet's operators.
Weights of 16 bits without a float32 master are updated in float32 here, with each stored value rounded once, and in
float16 there.

**Cost** is for a float32 kernel: the arrays that each sweep over memory reads and writes, and the bytes and
floating-point operations for each element of a parameter. Values for each row, column or parameter are not counted.
Variants differ by flags; flags that make no difference to the cost are not shown. A state that is stored in 16 or 8
bits counts 2 or 1 bytes instead of 4, wherever it is read or written. *Rows alone* says whether a row-sparse gradient
touches only the rows that are present; if not, the gradient is made dense first.

**Rates.** "Begin with lr" is the rate that a source recommends for a network of PyTorch's default initialization. It is
no default: that of `lr` is in the table of arguments. [choosing.md](choosing.md) says what to begin with, by use.

**PyTorch.** The optimizers of torch.optim are specs of their own, [at the end](#the-optimizers-of-torchoptim). So
`adamw` has an epsilon of 1e-6, as MXNet's master branch, and PyTorch's, with 1e-8, is `torch/adamw`.
"""

FAMILIES = {
    "matrix": """\
# Optimizers with products of matrices

`optgen.load("muon")` finds these as well. They update matrices; a parameter of another rank is an error that names it.
A step is several kernels with products and factorizations between them: `optgen explain muon` lists these. Bytes are
those of variants without products. They run from Python.
""",
    "torch": """\
# The optimizers of torch.optim

`optgen.load("torch/adam")` computes what `torch.optim.Adam` computes, with its arguments, defaults and states, in its
order of operations. A tuple of torch's is an argument for each number: `betas` are `beta1` and `beta2`, `etas` are
`etaminus` and `etaplus`, `step_sizes` are `step_size_min` and `step_size_max`, and `eps` of Adafactor is `eps1` and
`eps2`, and `ns_coefficients` of Muon are `a`, `b` and `c`. The state `sum` of Adagrad is `accumulator`. `single` is
true where torch keeps scalars in float32, which is so unless its default dtype is float64; `rounded` is true where
torch computes in bfloat16. The weight decay is `weight_decay`, and `rescale_grad` and `clip_gradient` act before all
else. `runtime.optimizer` does not have these optimizers.

After 100 steps of PyTorch 2.13, with each argument, float64 weights and states agree to 1e-12, and float32 weights
are at most twice as far from torch's float64 run as torch's own are (`tests/optimizers/test_torch_specs.py`). An
update of Muon, which torch computes in bfloat16, is within 2e-2 of torch's (`tests/torch/test_muon.py`).

All but Muon have `maximize`. What else differs from the specs above:

- **SGD**: the buffer starts as the first gradient and does not contain the rate; above, the velocity starts at 0 and
  does. `dampening` and `nesterov` are arguments.
- **Adam, AdamW**: `eps` is added to the root of the corrected second moment, above to that of the moment as it is.
  `amsgrad` keeps the largest uncorrected moment, and corrects that.
- **Adamax**: `eps` is added to the size of each gradient; above, there is none.
- **NAdam**: the product of the momenta is float32, above float64. `decoupled_weight_decay` is an argument.
- **Adagrad**: `eps` is added to the root of the sum, and weight decay to the gradient; above, epsilon is added under
  the root, and weight decay to the step. `lr_decay` and `initial_accumulator_value` are arguments.
- **Adadelta**: there is a rate, and weight decay is added to the gradient, above to the step.
- **Muon**: what is multiplied, and each product, is rounded to bfloat16; above, `matmul` chooses that for factors.
- **RMSprop**: `eps` is added to the root, above under it. `centered` and `momentum` are independent of each other, and
  the buffer does not contain the rate; above, `centered` has a velocity that does.
- **Rprop**: two gradients are multiplied, above their signs are, which does not underflow.
- **ASGD**: a step is as long as the rate of the step before said, above as the present one says.
- **Adafactor**: the last two axes are factored, above the first axis and all others. `eps1` bounds the estimate from
  below; above, it is added to the squared gradient.
""",
    "optax": """\
# The optimizers of optax

`optgen.load("optax/adam")` computes what `optax.adam` computes, with its arguments: [from-optax.md](from-optax.md) has
the names that differ, chains, and how closely the weights agree. `rescale_grad` and `clip_gradient` act before all
else. `runtime.optimizer` does not have these optimizers.
""",
}
"""What the document says about each family of specs."""


@dataclass(frozen=True)
class DocEntry:
    """An optimizer in the document: the name of its spec file, and the planned float32 kernels of its variants.

    `evaluate` are the kernels of its `eval:` section. `family` is that of its name, torch of torch/adam.
    """

    optimizer: Optimizer
    file: str
    update: Sequence[tuple[Flags, Kernel]]
    evaluate: Sequence[tuple[Flags, Kernel]] = ()
    family: str = ""


def document(entries: Sequence[DocEntry]) -> str:
    """The text of the document, optimizers in alphabetical order, families at the end."""
    common = _table(("argument", "default", "values", ""), map(_param, RESERVED_PARAMS.values()))
    parts = [INTRODUCTION.format(common=common)]
    for family in ("", *FAMILIES):
        members = sorted((e for e in entries if e.family == family), key=lambda e: e.optimizer.name.lower())
        overview = _table(("optimizer", "", "states", "bytes"), map(_summary, members))
        parts += [FAMILIES.get(family, ""), overview, sections(members)] if members else []
    return _paragraphs(parts)


def sections(entries: Sequence[DocEntry]) -> str:
    """The sections of some optimizers, without an introduction."""
    return _paragraphs([part for entry in entries for part in _section(entry)])


def _paragraphs(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _summary(entry: DocEntry) -> tuple[str, ...]:
    o = entry.optimizer
    bytes = [cost(kernel).bytes for _, kernel in entry.update if kernel]
    ends = dict.fromkeys(f"{b:g}" for b in (min(bytes), max(bytes))) if bytes else ()
    states = " ".join(f"`{s.name}`" for s in o.states)
    return f"[{o.name}](#{o.name.lower()})", _plain(o.title), states, " to ".join(ends)


def _section(entry: DocEntry) -> Iterator[str]:
    o = entry.optimizer
    yield f"## {o.name}"
    also = f", also called {' and '.join(f'`{a}`' for a in o.aliases)}" if o.aliases else ""
    head = (f"*{_plain(o.title)}*" if o.title else "", _plain(o.cite), f"`{entry.file}`{also}")
    yield "  \n".join(filter(None, head))
    yield "  \n".join(_plain(f"{x[:1].upper()}{x[1:]}.") for x in o.advice)
    yield f"```math\n{latex(o)}\n```"
    yield f"```\n{_as_written(o)}\n```"
    yield from map(_plain, o.notes)
    yield _table(("argument", "default", "values", ""), _arguments(o))
    yield _remarks(o)
    yield _table(("state", "one for each", "starts as", ""), (_state(o, s) for s in o.states))
    numbers = [(f"`{p.name}`", _joined(p.doc, "a number that each step is given")) for p in o.params if p.given]
    yield _table(("dimension", "value", ""), ((f"`{d.name}`", _written(d.value), _plain(d.doc)) for d in o.dims))
    yield _table(("input", ""), [*((f"`{x.name}`", _plain(x.doc)) for x in o.inputs), *numbers])
    yield _table(("variant", "sweeps", "bytes", "operations", "rows alone"), _costs(entry))


# ---------------------------------------------------------------- text of the spec


def _as_written(optimizer: Optimizer) -> str:
    """The sections with equations as they are written, without notes."""
    lines = optimizer.source.lines
    first = next(i for i, line in enumerate(lines) if re.match(r"update\s*:|phase\s", line))
    return "\n".join(line.rstrip() for line in lines[first:] if not line.startswith("#")).strip()


def _written(expr: Expr) -> str:
    return f"`{expression(expr)}`"


# ---------------------------------------------------------------- rows of tables


def _arguments(optimizer: Optimizer) -> Iterator[tuple[str, ...]]:
    """Parameters and flags in the order of the spec, which is that of constructors."""
    declared: list[Param | Flag] = [
        *(p for p in optimizer.params if not p.given),
        *(f for f in optimizer.flags if f.condition is None),
    ]
    for x in sorted(declared, key=lambda x: x.span.line):
        yield _param(x) if isinstance(x, Param) else _flag(x)


def _param(p: Param) -> tuple[str, ...]:
    names = " or ".join(f"`{name}`" for name in (p.name, *p.aliases))
    default = "None" if p.default is None else f"{p.default:.15g}"
    values = ("integer " if p.is_int else "") + (f"in {p.interval}" if p.interval else "")
    reserved = RESERVED_PARAMS.get(p.name)
    doc = p.doc or (reserved.doc if reserved else "")
    off = ("None or 0 for none" if p.zero_off else "None for none") if p.optional else ""
    each = "may differ between parameters" if p.per_param else ""
    follows = "follows the changes of lr" if p.follows_lr else ""
    return names, default, values.strip(), _joined(doc, "; ".join(filter(None, (off or each, follows))))


def _flag(f: Flag) -> tuple[str, ...]:
    values = " or ".join(map(repr, f.choices or (True, False)))
    return f"`{f.name}`", repr(f.default), values, _joined(f.doc, "set for each parameter" if f.per_param else "")


ONE_FOR_EACH = {
    Kind.ELEM: "element",
    Kind.ROW: "row",
    Kind.COL: "column",
    Kind.SHARED: "optimizer",
    Kind.TENSOR: "parameter",
    Kind.HOST: "parameter",
}
"""How many values a state has, in words."""


def _state(optimizer: Optimizer, s: StateDecl) -> tuple[str, ...]:
    start = s.init.text if isinstance(s.init, Number) else f"`{expression(s.init)}`"
    start += " at the first update" if optimizer.start(s) is not None else ""
    kept = s.group.described if s.group is not None else ONE_FOR_EACH.get(s.kind) or shown(s.axes)
    kept = f"`{s.entries}` for each {kept}" if s.entries else kept
    guard = f"(if {_written(s.guard)})" if s.guard is not None else ""
    return f"`{s.name}`", kept, start, f"{_plain(s.doc)} {guard}".strip()


def _remarks(optimizer: Optimizer) -> str:
    """Derived flags, requirements, what rows are, and common arguments that are not read."""
    lines = [f"`{f.name}` is {_written(f.condition)}." for f in optimizer.flags if f.condition is not None]
    lines += [f"Needs {_written(r.condition)}: {_plain(r.message)}." for r in optimizer.requires]
    lines += ["Rows and columns are those of each matrix of the last two axes."] if optimizer.last_two else []
    unread = [f"`{name}`" for name in RESERVED_PARAMS if name not in optimizer.reads]
    lines += [f"No use for {' and '.join(unread)}."] if unread else []
    return "  \n".join(lines)


def _costs(entry: DocEntry) -> Iterator[tuple[str, ...]]:
    for label, variants in (("", entry.update), ("to evaluate", entry.evaluate)):
        for setting, row in by_setting((flags, _cost(kernel)) for flags, kernel in variants):
            words = [label, *(_setting(name, values) for name, values in setting.items())]
            yield ", ".join(filter(None, words)) or "all", *row


def _cost(kernel: Kernel) -> tuple[str, ...]:
    c = cost(kernel)
    moved = "; ".join(f"`{' '.join(s.reads)}`" + f" → `{' '.join(s.writes)}`" * bool(s.writes) for s in sweeps(kernel))
    # An evaluation reads no gradient, so that nothing can be said of its rows.
    rows_alone = ("yes" if kernel.rows_independent else "no") if kernel.advances else ""
    return moved or "none", f"{c.bytes:g}", str(c.flops), rows_alone


def _setting(name: str, values: tuple[FlagValue, ...]) -> str:
    if isinstance(values[0], bool):
        return f"`{name}`" if values[0] else f"not `{name}`"
    return f"`{name}` {' or '.join(map(repr, values))}"


# ---------------------------------------------------------------- Markdown


def _plain(text: str) -> str:
    """The text with Markdown's characters escaped. An underscore within a word needs no escape."""
    return re.sub(r"[\\`*<>\[\]|$]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def _joined(*texts: str) -> str:
    return _plain("; ".join(filter(None, texts)))


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    """A table; an empty text if there are no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines]) if lines else ""
