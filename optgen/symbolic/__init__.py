"""Equations for people: LaTeX, MathML and Unicode from the checked trees, and algebra by SymPy.

SymPy re-sorts and simplifies expressions, so nothing that is computed passes through here.
"""
