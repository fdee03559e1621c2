"""Random specs of the whole language, most of which `check` accepts: trees, so that a smaller one is easily made."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

HOST, TENSOR, ROW, COL, ELEM = "host", "tensor", "row", "col", "elem"
SQUARE, SQUARE_COLS, THIN, SHORT = "rows x rows", "cols x cols", "cols x r", "r"
VECTORS = {SQUARE: (ROW, ROW), SQUARE_COLS: (COL, COL), THIN: (COL, SHORT), ELEM: (ROW, COL)}
"""The kinds of vectors that rows and columns of a matrix are multiplied by."""
GROUPS = ("axis 1", "axis -1", "block 2")
SMALLER = {TENSOR: (HOST,), ROW: (TENSOR, HOST), COL: (TENSOR, HOST), ELEM: (ROW, COL, TENSOR, HOST)}
"""The kinds of values that meet one of a kind, and are repeated."""
SMALLER |= {HOST: (), SQUARE: (TENSOR,), SQUARE_COLS: (TENSOR,), THIN: (TENSOR,), SHORT: (TENSOR, HOST)}
SMALLER |= {"axis 1": (TENSOR,), "axis -1": (TENSOR,), "block 2": (TENSOR,)}
UNARY = (
    "-{}", "sqrt(abs({}))", "cbrt({})", "abs({})", "sign({})", "floor({})", "tanh({})", "exp(-abs({}))", "sin({})",
    "log(abs({}) + 1)", "log1p(abs({}))", "expm1(clip({}, -2, 2))", "({})^2", "({})^3", "cos({})", "atan({})",
    "sigmoid({})", "erf({})", "ceil({})", "round({})", "(abs({}) + 0.5)^-0.5", "1/(1 + ({})^2)", "clip({}, 0.5)",
    "{}/2", "float32({})", "cosh(clip({}, 3))", "softplus({})",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{}*{}", "{}/(1 + abs({}))", "max({}, {})", "min({}, {})", "clip({}, abs({}))",
    "atan2({}, {})", "mod({}, 1 + abs({}))", "clip({}, {}, 0.5)", "max({}, {}, 0.1)", "pow(1 + abs({}), tanh({}))",
)  # fmt: skip
CONDITIONS = ("{} > {}", "{} <= {}", "not {} < {}", "{} > 0 and {} < 1", "{} == 0 or {} != 1", "t > 1 and {} >= {}")
REDUCTIONS = ("sum({})", "mean({})", "norm({})", "rms({})", "std({})", "logsumexp({})", "max({})", "min({})")
OVER = ("sum({}, over params)", "mean({}, over params)", "norm({}, over params)", "max({}, over params)",
    "logsumexp({}, over params)",
)  # fmt: skip
STYLES = ("plain", "plain", "shared", "matrices", "matrices", "loops", "loops", "timings", "groups", "batch")
"""What a spec has much of; not all can stand in one."""
TIMINGS = ("every 2", "every 2 from 1", "every k", "every 3 from 2", "every k from 1", "once")
GUARDS = ("f", "not f", "big", "c == 'x'", "f and big")
DIMS = ("dim r = min(k, cols)", "dim r = ceil(b*cols)", "dim r = max(1, floor((rows + cols)/4))")
TRANSFORMS = ("centralize", "cautious", "ema", "lookahead(k = 2)", "grokfast", "schedule_free", "sam", "decoupled")
# Factors of sums and products, as the numbers of turns are, and products by their kinds.
FACTORS = ("0.5", "-0.5", "b", "-b", "(1 - b)", "lr*b", "rows", "k", "t")
PRODUCTS = {ELEM: ("({0}@{1}^T)@g", "g@({0}^T@{1})", "({0}@{0}^T)@{1}"), SQUARE_COLS: ("{0}^T@{1}", "{0}^T@{0}")}
PRODUCTS |= {SQUARE: ("{0}@{1}^T", "{0}@{0}^T", "({0}@{0}^T)@({1}@{1}^T)"), THIN: ("{0}^T@({1}@identity(cols x r))",)}
DRAWS = {ELEM: "{}()", ROW: "{}(per row)", COL: "{}(per col)", THIN: "{}(cols x r)", SHORT: "{}(r)"}


@dataclass(frozen=True)
class Node:
    """A piece of an expression: its text, with a `{}` for each part."""

    text: str
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return self.text.format(*(f"({x})" if x.parts else str(x) for x in self.parts))

    def walk(self) -> Iterator[Node]:
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class Line:
    """`head value tail`; one without a value is `head` alone."""

    head: str
    value: Node | None = None
    tail: str = ""

    def __str__(self) -> str:
        return self.head if self.value is None else f"{self.head}{self.value}{self.tail}"


@dataclass(frozen=True)
class Spec:
    """A random spec, and what it is loaded with: a transform, and the rank that parameters need."""

    declared: tuple[Line, ...]
    lines: tuple[Line, ...]
    transform: str = ""
    rank: int = 0

    @property
    def text(self) -> str:
        body = "\n".join([*map(str, self.declared), *map(str, self.lines)])
        return f'optimizer Random "random"\n{body}\n'


@dataclass
class Maker:
    """Makes a spec.

    `known` are the names of each kind that the next line may read, and `conditions` those of conditions. `set_here` are
    the states that a section sets, and `turns` the numbers of the turns of loops around a line.
    """

    rng: random.Random
    size: int
    known: dict[str, list[str]] = field(default_factory=dict)
    conditions: dict[str, list[str]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    declared: list[Line] = field(default_factory=list)
    count: int = 0
    style: str = "plain"
    kinds: list[str] = field(default_factory=list)
    with_loops: bool = False
    with_timings: bool = False
    with_sums: bool = False
    with_definition: bool = False
    states: dict[str, str] = field(default_factory=dict)
    histories: list[str] = field(default_factory=list)
    set_here: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)

    def spec(self) -> Spec:
        rng = self.rng
        self.style = rng.choice(STYLES)
        self.with_loops = self.style == "loops" or rng.random() < (0.4 if self.style == "matrices" else 0.2)
        self.with_timings = self.style == "timings" or (self.style in ("matrices", "loops") and rng.random() < 0.3)
        self.with_sums = self.style == "shared" or rng.random() < 0.2
        self.kinds = [TENSOR, ROW, COL, ELEM, ELEM]
        self.kinds += [SQUARE, SQUARE_COLS, THIN, SHORT] if self.style == "matrices" else []
        self.kinds += GROUPS if self.style == "groups" else []
        rank = 2 if self.style in ("matrices", "groups", "batch") else 0
        phases = rng.random() < 0.12
        self._declare()
        self.set_here = list(self.states)
        if phases:
            for name in ("look", "go"):
                self.set_here = [x for x in self.states if x not in self.histories or name == "go"]
                self._forget(lambda x: not x.startswith(("a", "x")))
                self.lines.append(Line(f"phase {name}:"))
                self._section()
        else:
            self.lines.append(Line("update:"))
            self._section()
        if rng.random() < 0.15:
            self._forget(lambda x: x in ("w", "lr", "t") or x.startswith("s"))
            self.style, self.with_loops = "eval", False
            self.lines += [Line("eval:"), Line("  w' = ", self.make(ELEM, self.size - 1))]
        transform = rng.choice(TRANSFORMS) if rng.random() < 0.08 and not phases else ""
        return Spec(tuple(self.declared), tuple(self.lines), transform, rank)

    def _forget(self, stays: Callable[[str], bool]) -> None:
        """Keep these names alone, and none of new values, as another section begins."""
        known = self.known.items()
        self.known = {kind: [x for x in names if stays(x) and "'" not in x] for kind, names in known}
        self.conditions = {}

    # ------------------------------------------------------------ declarations

    def _declare(self) -> None:
        rng = self.rng
        self.known = {HOST: ["lr", "t", "0.5", "2", "b", "rows"], ELEM: ["w", "g", "g", "grad"]}
        text = ["axes last two"] * (self.style == "batch")
        text += ["param b = 0.7 in [0, 1)", "param k: int = 2 in [1, inf)"]
        text += [rng.choice(("param r: int = 2 in [1, inf)", "param r: int = 2 in [1, inf)", *DIMS))]
        text += ["flag f = true", "flag c = 'x' | 'y'", "flag big = rows > cols"]
        if rng.random() < 0.2:
            text.append("input h")
            self.known[ELEM].append("h")
        if self.style == "matrices" and rng.random() < 0.2:
            kind = rng.choice((SQUARE, SQUARE_COLS, THIN, SHORT))
            text.append(f"input q: {kind}")
            self.known.setdefault(kind, []).append("q")
        if rng.random() < 0.2:
            text.append("def fun(x, y) = x/(1 + abs(y)) + b")
        self.with_definition = text[-1].startswith("def")
        if self.style in ("matrices", "groups", "batch"):
            text.append('require rank >= 2 "matrices"')
        self.declared = [Line(x) for x in text]
        for i in range(rng.randint(1, self.size)):
            kind = rng.choice([*self.kinds, *self.kinds, HOST, "shared"])
            self.states[f"s{i}"] = kind
            starts = ["0", "0", "0.5", "b", *(["w", "g", "0.1*g"] if kind == ELEM else [])]
            start = rng.choice([*starts, *(["normal()"] if kind in DRAWS and kind != ELEM else [])])
            shown = "" if kind == ELEM else f": {kind}"
            history = rng.random() < 0.15 and kind in (ELEM, ROW, COL, TENSOR) and start in ("0", "0.5", "b")
            if history:
                self.histories.append(f"s{i}")
            self.declared.append(Line(f"state s{i}{'[2]' if history else ''}{shown} = ", Node(start)))
            read = [f"s{i}[-1]", f"s{i}[-2]"] if history else [f"s{i}"]
            self.known.setdefault(TENSOR if kind == "shared" else kind, []).extend(read)

    # ------------------------------------------------------------ equations

    def _section(self) -> None:
        rng, todo = self.rng, list(self.set_here)
        rng.shuffle(todo)
        for _ in range(rng.randint(0, self.size)):
            self._local(rng.choice([*self.kinds, TENSOR]))
            if todo and rng.random() < 0.4:
                self._set(todo.pop())
        if self.with_loops:
            self._loop()
        for state in todo:
            self._set(state)
        term = self._product(ELEM) if self.style == "matrices" and rng.random() < 0.5 else self.make(ELEM, self.size)
        self._cases("w'", Node("w - lr*{}", (term,)), ELEM)

    def _name(self, letter: str = "a") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def _local(self, kind: str) -> None:
        rng, chance = self.rng, self.rng.random()
        is_draw = chance < 0.15 and kind in DRAWS and self.style != "eval"
        name = self._name("z" if is_draw else "a")  # later phases read draws
        if is_draw:
            draw = DRAWS[kind].format(rng.choice(("normal", "uniform", "rademacher")))
            timing = f" {rng.choice(TIMINGS)}" if self.with_timings and rng.random() < 0.5 else ""
            self.lines.append(Line(f"  {name} = ", Node(draw), timing))
        elif chance < 0.3 and kind in (TENSOR, ROW, COL, ELEM):
            self.lines.append(Line(f"  {name} = ", self._condition(kind)))
            self.conditions.setdefault(kind, []).append(name)
            return
        elif self.style == "matrices" and chance < 0.6 and self.known.get(kind):
            self._cases(name, self._sum(rng.choice(self.known[kind]), kind, "b", self.size), kind)
        else:
            self._cases(name, self.make(kind, self.size), kind)
        self.known.setdefault(kind, []).append(name)

    def _cases(self, name: str, value: Node, kind: str) -> None:
        """One line, or several of which one holds."""
        if self.rng.random() < 0.75:
            self.lines.append(Line(f"  {name} = ", value))
            return
        by_time = self.with_timings and self.rng.random() < 0.7
        guard = f" {self.rng.choice(TIMINGS)}" if by_time else f" if {self.rng.choice(GUARDS)}"
        self.lines += [
            Line(f"  {name} = ", value, guard),
            Line(f"  {name} = ", self.make(kind, self.size - 1), " otherwise"),
        ]

    def _set(self, state: str) -> None:
        kind = self.states[state]
        if kind == "shared":
            own = self.make(self.rng.choice((ELEM, TENSOR, ROW)), 2) if self.with_sums else Node("b")
            part = Node(self.rng.choice(OVER), (own,)) if self.with_sums else own
            value = Node(f"0.5*{state} + {{}}", (part,))
        elif state in self.histories:
            value = self.make(kind, self.size - 1)
        else:
            value = self._sum(state, kind, "b", self.size)
        if self.with_timings and self.rng.random() < 0.3 and state not in self.histories and kind != "shared":
            self.lines.append(Line(f"  {state}' = ", value, f" {self.rng.choice(TIMINGS)}"))
        else:
            self._cases(f"{state}'", value, HOST if kind in (HOST, "shared") else kind)
        self.known.setdefault(TENSOR if kind == "shared" else kind, []).append(f"{state}'")

    def _loop(self, depth: int = 0) -> None:
        rng = self.rng
        of = [*PRODUCTS] if self.style == "matrices" and rng.random() < 0.7 else [*self.kinds, TENSOR, HOST]
        kinds = [rng.choice(of) for _ in range(rng.randint(1, 2))]
        carried = [self._name("x") for _ in kinds]
        for name, kind in zip(carried, kinds, strict=True):
            start = self.make(rng.choice((kind, kind, HOST)), 1)
            self.lines.append(Line(f"  {name} = ", start))
        index = self._name("i")
        before, held = ({kind: [*own] for kind, own in x.items()} for x in (self.known, self.conditions))
        self.lines.append(Line(f"  repeat {rng.choice(('2', '3', 'k', 'k + 1', '1'))} as {index}:"))
        self.known[HOST].append(index)
        self.turns.append(index)
        for name, kind in zip(carried, kinds, strict=True):
            self.known.setdefault(kind, []).extend([name, name])
        if rng.random() < 0.5:
            name, kind = self._name(), rng.choice(kinds)
            self.lines.append(Line(f"    {name} = ", self.make(kind, self.size - 1)))
            self.known[kind].append(name)
        if depth == 0 and rng.random() < 0.2:
            self._loop(1)
        for name, kind in zip(carried, kinds, strict=True):
            self.lines.append(Line(f"    {name}' = ", self._sum(name, kind, "0.5", self.size - 1)))
            self.known[kind].append(f"{name}'")
        self.lines.append(Line("  end"))
        self.turns.pop()
        self.known, self.conditions = before, held
        for name, kind in zip(carried, kinds, strict=True):
            self.known.setdefault(kind, []).append(f"{name}'")

    # ------------------------------------------------------------ expressions

    def _sum(self, name: str, kind: str, factor: str, depth: int) -> Node:
        """What a value becomes: a part of it and an expression, or a product, each times a number."""
        rng = self.rng
        is_product = self.style == "matrices" and kind in PRODUCTS and rng.random() < 0.7
        term = self._product(kind) if is_product else self.make(kind, depth)
        if rng.random() < 0.3:
            return Node(f"{factor}*{name} + {{}}", (term,))
        if is_product and rng.random() < 0.5:  # what is not written here
            name = rng.choice([x for x in self.known[kind] if x not in (name, "grad")] or [name])
        first, second = self._factor(), self._factor()
        return Node(rng.choice((f"{first}*{name} + {second}*{{}}", f"{{}}*{second} - {first}*{name}")), (term,))

    def _product(self, kind: str) -> Node:
        text = self.rng.choice(PRODUCTS[kind])
        return Node(text, (self._leaf(ELEM), self._leaf(ELEM))[: 1 + ("{1}" in text)])

    def _factor(self) -> str:
        """A number that is known before a sweep, in loops often that of a turn."""
        own = [text.format(x) for x in self.turns for text in ("{}", "0.5*{}", "(1 + {})", "b*{}")]
        return self.rng.choice(own if own and self.rng.random() < 0.6 else FACTORS)

    def make(self, kind: str, depth: int) -> Node:
        """An expression of a kind."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            return self._leaf(kind)
        special = self._special(kind, depth)
        chance = rng.random()
        if special is not None and chance < (0.25 if kind == ELEM else 0.5):
            return special
        if chance < 0.6:
            return Node(rng.choice(UNARY), (self.make(kind, depth - 1),))
        if chance < 0.72 and kind in (TENSOR, ROW, COL, ELEM, HOST):
            return Node("where({}, {}, {})", (self._condition(kind), *self._two(kind, depth - 1)))
        parts = self._two(kind, depth - 1)
        if chance < 0.76 and self.with_definition:
            return Node("fun({}, {})", parts)
        return Node(rng.choice(BINARY), parts)

    def _two(self, kind: str, depth: int) -> tuple[Node, Node]:
        return self.make(kind, depth), self.make(self._small(kind), depth)

    def _small(self, kind: str) -> str:
        return self.rng.choice((kind, *SMALLER[kind]))

    def _leaf(self, kind: str) -> Node:
        names = self.known.get(kind)
        if names:
            return Node(self.rng.choice(names))
        made = self._special(kind, 1)
        return made if made is not None else Node("0.5")

    def _condition(self, kind: str) -> Node:
        own = [x for k in (kind, *SMALLER[kind]) for x in self.conditions.get(k, ())]
        if own and self.rng.random() < 0.5:
            return Node(self.rng.choice(own))
        kinds = self._small(kind), self._small(kind)
        return Node(self.rng.choice(CONDITIONS), (self.make(kinds[0], 1), self.make(kinds[1], 0)))

    def _special(self, kind: str, depth: int) -> Node | None:
        """What only values of this kind can be: a reduction, a product, a function of matrices."""
        rng, inner = self.rng, depth - 1
        if kind == TENSOR:
            of = rng.choice([ELEM, ELEM, ROW, COL, *([SQUARE, THIN] if self.style == "matrices" else [])])
            if self.with_sums and self.style != "eval" and rng.random() < 0.4:
                return Node("sum({}, over params)", (self.make(rng.choice((ELEM, TENSOR, ROW)), inner),))
            if self.style == "matrices" and rng.random() < 0.2:
                return Node("trace({})", (self.make(SQUARE, inner),))
            if rng.random() < 0.1:
                return Node("dot({}, {})", (self.make(ELEM, inner), self.make(ELEM, inner)))
            return Node(rng.choice(REDUCTIONS), (self.make(of, inner),))
        if kind in (ROW, COL) or kind in GROUPS:
            scope = "matrix" if self.style == "batch" and kind == ROW and rng.random() < 0.3 else kind
            reduction = rng.choice(REDUCTIONS).replace("{}", f"{{}}, per {scope}")
            if self.style == "matrices" and rng.random() < 0.3:
                return Node("diag({})", (self.make(SQUARE if kind == ROW else SQUARE_COLS, inner),))
            return Node(reduction, (self.make(ELEM, inner),))
        if self.style != "matrices":
            return None
        if kind in VECTORS and rng.random() < 0.3:
            return self._scaled(kind, inner)
        x = self.make(ELEM, inner) if kind in (SQUARE, SQUARE_COLS, ELEM, THIN) else None
        if x is None:
            return Node("diag({}^T@{})", (self.make(THIN, inner), self.make(THIN, inner))) if kind == SHORT else None
        texts = {
            SQUARE: ("{}@{}^T", "identity(rows)", "{}@{}^T + identity(rows)", "triu({}@{}^T)"),
            SQUARE_COLS: ("{}^T@{}", "identity(cols)", "inverse_root({0}^T@{0} + identity(cols), 2)"),
            ELEM: ("({}@{}^T)@g", "{}@({}^T@w)", "solve({0}@{0}^T + identity(rows), g)"),
            THIN: ("{}^T@({}@normal)", "identity(cols x r)", "{}^T@({}@identity(cols x r))"),
        }[kind]
        text = rng.choice([t for t in texts if "normal" not in t])
        return Node(text, (x, self.make(ELEM, inner))[: max(text.count("{}"), text.count("{0}") > 0)])

    def _scaled(self, kind: str, depth: int) -> Node:
        """A product with a diagonal matrix, or with a square one that may be a name of a diagonal matrix, or one."""
        left, right = VECTORS[kind]
        of_rows = SQUARE if left == ROW else SQUARE_COLS
        made: dict[str, tuple[str, ...]] = {
            "diag({})@{}": (left, kind),
            "{}@diag({})": (kind, right),
            "{}@{}": (of_rows, kind),
            "{}^T@{}": (of_rows, kind),
        }
        if kind in (SQUARE, SQUARE_COLS):
            made |= {"diag({})": (left,), "diag({})@diag({})": (left, right), "({}@{})^T": (kind, kind)}
        text = self.rng.choice(list(made))
        return Node(text, tuple(self.make(x, depth) for x in made[text]))


def spec(seed: int, size: int = 3) -> Spec:
    """The spec of a seed. `size` is the depth of its expressions, and how many states and local values it has."""
    return Maker(random.Random(seed), size).spec()


# ---------------------------------------------------------------- smaller ones


def smaller(spec: Spec) -> Iterator[Spec]:
    """Specs with a line, a transform or a part of an expression less."""
    if spec.transform:
        yield replace(spec, transform="")
    for name in ("lines", "declared"):
        lines: tuple[Line, ...] = getattr(spec, name)
        for size in (4, 2, 1):
            for k in range(len(lines) - size + 1):
                yield replace(spec, **{name: lines[:k] + lines[k + size :]})
        for k, line in enumerate(lines):
            for other in _smaller_lines(line):
                yield replace(spec, **{name: (*lines[:k], other, *lines[k + 1 :])})


def _smaller_lines(line: Line) -> Iterator[Line]:
    if line.tail:
        yield replace(line, tail="")
    if line.value is not None:
        yield from (replace(line, value=value) for value in _smaller_nodes(line.value))


def _smaller_nodes(node: Node) -> Iterator[Node]:
    """Trees that have a part in the place of the whole, a plain name or number in that of a part."""
    yield from (x for part in node.parts for x in part.walk() if x.parts)
    yield from (x for part in node.parts for x in part.walk() if not x.parts)
    if node.parts:
        yield from (Node(x) for x in ("g", "1"))
    for k, part in enumerate(node.parts):
        yield from (replace(node, parts=(*node.parts[:k], x, *node.parts[k + 1 :])) for x in _smaller_nodes(part))
