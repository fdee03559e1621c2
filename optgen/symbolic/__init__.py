"""Equations for people: LaTeX, MathML and Unicode from the checked trees, and algebra by SymPy.

`shown` has which equations are shown, `names` how names are spelled, `notebook` what notebooks show. `renaming` finds
names of two specs that correspond, and `difference` the equations that differ.

SymPy re-sorts and simplifies expressions, so nothing that is computed passes through here.
"""
