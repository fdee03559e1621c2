"""The functions of the language: one record each, which the whole compiler reads.

A file has the records of one family, and `table` has all by their names. `math` has the expansions of functions that
are no instructions. CONTRIBUTING.md says how to add one.
"""
