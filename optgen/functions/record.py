"""What a function of the language is: one record, which everything else reads.

No field has a default, so that a record that lacks one does not load. What is heavy to import is given as a function of
it: SymPy's form takes the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from optgen.functions.interval import Bounds

if TYPE_CHECKING:
    from optgen.expressions import Expr

Axes = tuple[str, ...]
"""The dimensions of a matrix, (rows, cols), of a vector, or of a number, ()."""
Parity = Literal["odd", "even", "neither"]
"""Whether f(-x) is -f(x) or f(x)."""
Section = Literal["functions", "reductions", "products", "draws"]
"""The section of docs/language.md that has the function in a table."""


# ---------------------------------------------------------------- how it is shown


@dataclass(frozen=True)
class FunctionName:
    """A name before the arguments, which are in parentheses. LaTeX's is a command."""

    latex: str
    unicode: str
    mathml: str


@dataclass(frozen=True)
class Fenced:
    """Signs on both sides of the argument. MathML's are those of Unicode."""

    latex: tuple[str, str]
    unicode: tuple[str, str]


@dataclass(frozen=True)
class Root:
    """A root sign. `degree`: 2 or 3, and `unicode` is the sign of that."""

    degree: int
    unicode: str


@dataclass(frozen=True)
class Rewritten:
    """An expression in its place."""

    tree: Callable[..., Expr]


@dataclass(frozen=True)
class Distribution:
    """What is drawn from. MathML has a `letter`, and `numbers` between `fences`."""

    latex: str
    unicode: str
    letter: str
    numbers: tuple[str, str]
    fences: tuple[str, str]


Shown = FunctionName | Fenced | Root | Rewritten | Distribution


def upright(name: str) -> FunctionName:
    """A name that LaTeX has no command for."""
    escaped = name.replace("_", r"\_")
    return FunctionName(rf"\operatorname{{{escaped}}}", name, name)


def command(name: str) -> FunctionName:
    """A name that LaTeX has a command for."""
    return FunctionName(f"\\{name}", name, name)


# ---------------------------------------------------------------- how it is computed


@dataclass(frozen=True)
class Expanded:
    """Operations over a `Builder`: a function in a file of `optgen.functions.math`, which a call imports.

    Those of a function of numbers are of doubles, and stay one operation, `Math`, until a pass expands it.
    """

    file: str
    name: str

    def __call__(self, builder: Any, *args: Any) -> Any:
        return getattr(import_module(f"optgen.functions.math.{self.file}"), self.name)(builder, *args)


@dataclass(frozen=True)
class Inline:
    """A few operations over a `Lowering`, in the dtype of the operands."""

    function: Callable[..., Any]


@dataclass(frozen=True)
class Symbolic:
    """The form in SymPy, as a function of the module and the arguments. `of_numbers`: SymPy may compute it of a number;
    of others that could take millions of digits."""

    form: Callable[..., Any]
    of_numbers: bool


@dataclass(frozen=True)
class ForeignSpelling:
    """The function in other languages: expressions with the names of its arguments in braces; those of reductions have
    `{axis}`, too. None where no short expression says it.

    C's are of doubles, with math.h. PyTorch's are of tensors with `torch`, JAX's of arrays with `jnp` and `jax`.
    """

    c: str | None
    torch: str | None
    jax: str | None


# ---------------------------------------------------------------- what it is of


@dataclass(frozen=True)
class Elementwise:
    """A function of numbers, which is one of each element of arrays.

    `arguments`: their names in derivatives and spellings, with the most that it takes by counts.
    `meaning`: what it is of float64 arrays, in NumPy; of a special value, too.
    `operations`: how kernels compute it.
    `bounds`: those of the result, from those of the arguments.
    `domain`: the bounds outside of which a finite first argument has no value but NaN.
    `takes_matrix`: the place of an element in its matrix counts, so it takes matrices alone.
    `parity`: whether flipping the signs of all arguments flips that of the result, or changes nothing.
    `degree`: the k with f(c x) = c^k f(x) for all c > 0, where c multiplies all arguments, a fraction as text; None if
    there is none.
    `no_larger`: no result is further from 0 than the argument that is furthest, up to rounding.
    `rounds`: it only rounds: by little, or by so much that sizes may grow.
    `symbolic`: None where SymPy has nothing like it.
    `derivative`: of each argument, the derivative in the language; None for one that is a condition. At kinks it is one
    of the slopes beside them, or half of both, and of what jumps it is 0.
    """

    arguments: tuple[str, ...]
    meaning: Callable[..., Any]
    operations: Expanded | Inline
    bounds: Callable[..., Bounds]
    domain: Bounds
    takes_matrix: bool
    parity: Parity
    degree: str | None
    no_larger: bool
    rounds: Literal["no", "a little", "much"]
    symbolic: Symbolic | None
    derivative: tuple[str | None, ...]
    spelling: ForeignSpelling

    @property
    def is_step(self) -> bool:
        """Whether it is constant but for jumps."""
        return set(self.derivative) == {"0"}


@dataclass(frozen=True)
class Reduction:
    """A function that computes one number from many.

    `arguments`: their names in derivatives and spellings.
    `meaning`: what it is of the last axis of float64 arrays, in NumPy; of none, too.
    `terms`: what is reduced of several arguments, over a `Builder`; of one, that itself.
    `operations`: how kernels compute it of these terms, over a `Folding`.
    `bounds`: those of the result, from those of the arguments; of none, too.
    `parity`, `degree`, `no_larger`: as of an `Elementwise`.
    `of_squares`: it depends on the sum of squares alone, so that no rotation changes it.
    `derivative`: for each argument, that of the result by one of its elements, in the language. It may read `result`,
    and `count`, how many are reduced.
    """

    arguments: tuple[str, ...]
    meaning: Callable[..., Any]
    terms: Callable[..., Any]
    operations: Callable[..., Any]
    bounds: Callable[..., Bounds]
    parity: Parity
    degree: str | None
    no_larger: bool
    of_squares: bool
    derivative: tuple[str, ...]
    spelling: ForeignSpelling

    @property
    def is_linear(self) -> bool:
        """Whether that of a sum is the sum of those of its terms."""
        return self.derivative in (("1",), ("1/count",))


@dataclass(frozen=True)
class Draw:
    """A random number for each element. No derivative goes through it, and no library draws the same numbers.

    `meaning`: the number that a draw is of its probability p in (0, 1), a float64 array, in NumPy.
    `operations`: how kernels compute it of a random word, over a `Builder`; `of_elements` the same of float32 elements.
    `typical`: a number that stands for all of them in warnings.
    """

    meaning: Callable[[Any], Any]
    operations: Expanded
    of_elements: Expanded
    bounds: Bounds
    typical: float


Need = Literal[
    "a square matrix",
    "a matrix",
    "a square matrix or a vector",
    "a number that is known before the step",
    "as many rows as the first matrix",
    "a dimension",
]
"""What an argument of a function of matrices has to be."""


@dataclass(frozen=True)
class OfMatrices:
    """A function that takes or makes matrices as a whole. It is a call between kernels (`optgen.linalg`).

    `needs`: what each argument has to be.
    `meaning`: what it is of float64 matrices, in NumPy. Signs are those of the language.
    `axes`: the dimensions of the result, from those of the arguments.
    `bounds`: those of the elements of the result.
    `of_zeros`: the elements of the result for a matrix of zeros; None if they are not the same number, or an error.
    `parity`, `degree`: as of an `Elementwise`, by the first argument; None if others decide.
    `flops`: the operations for a matrix of (m, n), where that counts; None for what only moves memory, or depends on
    other arguments.
    `is_tall`: the argument has no more columns than rows. `may_fail`: some matrices are refused.
    """

    needs: tuple[Need, ...]
    meaning: Callable[..., Any]
    axes: Callable[..., Axes]
    bounds: Bounds
    of_zeros: float | None
    parity: Parity
    degree: str | None
    flops: Callable[[float, float], float] | None
    is_tall: bool
    may_fail: bool

    @property
    def is_linear(self) -> bool:
        """Whether each element of the result is a sum of elements, or one of them."""
        return self.parity == "odd" and self.degree == "1"


# ---------------------------------------------------------------- the record


@dataclass(frozen=True)
class FunctionRecord:
    """A function of the language.

    `counts`: how many arguments it may have, and `takes_more`: any number above the largest.
    `usage`: how it is called, for errors. `doc`: what it is, by the calls in the tables of docs/language.md.
    `elementwise`, `reduction`, `draw` and `matrices` say what it is of; None for all that it is not. `max` and `min`
    are a reduction with one argument, and elementwise with more.
    """

    name: str
    counts: tuple[int, ...]
    takes_more: bool
    usage: str
    section: Section
    doc: dict[str, str]
    shown: Shown
    elementwise: Elementwise | None
    reduction: Reduction | None
    draw: Draw | None
    matrices: OfMatrices | None

    def __post_init__(self) -> None:
        kinds = [self.elementwise, self.reduction, self.draw, self.matrices]
        what = sum(x is not None for x in kinds)
        if what != 1 and (self.elementwise is None or self.reduction is None):
            raise ValueError(f"function {self.name}: {what} kinds of function, where one is needed")
        for kind in (self.elementwise, self.reduction):
            if kind is not None and len(kind.derivative) != len(kind.arguments):
                raise ValueError(f"function {self.name}: {len(kind.derivative)} derivatives by {kind.arguments}")

    def takes(self, count: int) -> bool:
        """Whether it may have so many arguments."""
        return count in self.counts or (self.takes_more and count > max(self.counts))

    @property
    def takes_dimensions(self) -> bool:
        """Whether dimensions can stand in its brackets, as in `identity(rows x r)`."""
        return self.draw is not None or (self.matrices is not None and "a dimension" in self.matrices.needs)

    def reduces(self, count: int) -> bool:
        """Whether it is a reduction with so many arguments."""
        return self.reduction is not None and count == len(self.reduction.arguments)


def elementwise(name: str, doc: str, shown: Shown, what: Elementwise) -> FunctionRecord:
    """The record of a function of numbers that has one way to be called."""
    call = f"{name}({', '.join(what.arguments)})"
    return FunctionRecord(
        name=name,
        counts=(len(what.arguments),),
        takes_more=False,
        usage=call,
        section="products" if what.takes_matrix else "functions",
        doc={call: doc},
        shown=shown,
        elementwise=what,
        reduction=None,
        draw=None,
        matrices=None,
    )
