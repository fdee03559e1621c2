"""Names in parts, as they are typeset: letters, subscripts and accents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """A name in parts: `m_hat` is m with an accent, `beta1` is beta with a subscript, `v_max` is v with a subscript."""

    base: str
    subscripts: tuple[str, ...] = ()
    accents: tuple[str, ...] = ()


ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303"}
"""Accents, and the characters that put them over the letter before them."""

_LETTERS = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
GREEK: dict[str, str] = dict(zip(_LETTERS.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", strict=True))
_SPELLINGS = {"lamda": "lambda", "Lamda": "Lambda", "eps": "epsilon"}


def is_letter(base: str) -> bool:
    """Whether the base of a symbol is one letter, Latin or Greek."""
    return len(base) == 1 or base in GREEK


def width(text: str) -> int:
    """The number of columns on a terminal. Accents take none."""
    return sum(c not in ACCENTS.values() for c in text)


def symbol(name: str) -> Symbol:
    """The parts of a name. A word before a Greek letter is its subscript (`shampoo_beta`). A word of several letters
    keeps its underscores (`rescale_grad`), unless digits or a single letter follow (`lr_t`)."""
    base, *rest = name.split("_")
    if not base or not all(rest):
        return Symbol(name)
    accents: list[str] = []
    while rest and rest[-1] in ACCENTS:
        accents.insert(0, rest.pop())
    letters = base.rstrip("0123456789")
    digits = base[len(letters) :]
    spelled = _SPELLINGS.get(letters, letters)
    if not is_letter(spelled) and rest and symbol(rest[0]).base in GREEK:
        greek = symbol("_".join(rest))
        return Symbol(greek.base, (*greek.subscripts, base), tuple(accents))
    if not is_letter(spelled) and any(len(r) > 1 and not r.isdigit() for r in rest):
        return Symbol("_".join([base, *rest]), (), tuple(accents))
    subscripts = ((digits,) if digits else ()) + tuple(rest)
    return Symbol(spelled, subscripts, tuple(accents))
