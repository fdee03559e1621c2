"""Equations for people: LaTeX and Unicode straight from the checked trees, and algebra, for which SymPy is imported.

SymPy re-sorts and simplifies whatever it is given, so nothing that is computed passes through here.
"""

from optgen.symbolic.latex import latex
from optgen.symbolic.unicode import unicode

__all__ = ["latex", "unicode"]
