"""What a factorization cannot do."""

from __future__ import annotations


class FactorizationError(ArithmeticError):
    """A matrix has no factorization, or none was found. No result was written.

    `item` is the place of its array in the list, and `index` its place in the leading dimensions of the array, () where
    there are none. Who has called adds the name of the parameter.
    """

    def __init__(self, operation: str, shape: tuple[int, ...], reason: str, item: int, index: tuple[int, ...]) -> None:
        of_stack = f", {list(index)} of its array," if index else ""
        super().__init__(f"{operation}: the matrix of shape {shape}{of_stack} {reason}")
        self.operation = operation
        self.reason = reason
        self.item = item
        self.index = index
