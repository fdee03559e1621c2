"""The structure that a kernel for a CPU is called with, field by field.

The C header (`emit/header.py`), the ctypes structure (`execute/kernel.py`) and the loads in a CPU module
(`cpu/step.py`) are made from this one list. Every field takes eight bytes, so field k is at byte 8*k; on WebAssembly,
where pointers take four, fields are where C has them.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

_COMMENT_COLUMN = 35
_LINE_LENGTH = 120


@dataclass(frozen=True)
class StepField:
    """One field: its C type, which ends with `*` or a space, and its meaning, for the header."""

    name: str
    c_type: str
    doc: str

    @property
    def is_integer(self) -> bool:
        """Whether the field holds a 64-bit integer; otherwise it holds a pointer."""
        return self.c_type in ("int64_t ", "uint64_t ")


STEP_FIELDS = (
    StepField("n", "int64_t ", "tensors"),
    StepField("size", "const int64_t *", "n element counts"),
    StepField("buffers", "void *const *", "n rows of pointers, one row a tensor, in the order of the buffers below"),
    StepField("t", "int64_t *", "n update counts, 0 before the first step; the call adds 1 to each"),
    StepField("hyper", "const double *", "n values for each hyper-parameter, in the order below; NaN: unset"),
    StepField("workspace", "double *", "as many doubles as NAME_workspace(step) says; contents do not matter"),
    StepField("parallel", "optgen_parallel_for ", "NULL: everything on the calling thread"),
    StepField("pool", "void *", "first argument of `parallel`"),
    StepField("cols", "const int64_t *", "n row lengths"),
    StepField("id", "const int64_t *", "n different numbers below 2^20, by which the draws of tensors differ"),
    StepField("seed", "uint64_t ", "of the draws"),
    StepField(
        "index",
        "const int64_t *const *",
        "NULL, or n lists of the rows to update, ascending; a NULL list: all rows",
    ),
    StepField(
        "present",
        "const int64_t *",
        "NULL, or n lengths of these lists, where the gradient has these rows only; -1: the tensor is updated as a "
        "whole",
    ),
    StepField(
        "first",
        "const int64_t *",
        "NULL, or of n pieces of tensors, the number of their first element in the tensor: a multiple of 4096",
    ),
    StepField(
        "whole",
        "const int64_t *",
        "NULL, or the element counts of these tensors; `size` then is that of the pieces",
    ),
    StepField("share", "optgen_exchange ", "NULL, or what brings the partial results of the other pieces"),
    StepField("peers", "void *", "its first argument"),
    StepField("boxes", "const int64_t *", "NULL; optgen's own, for pieces that are boxes of any bounds"),
    StepField("area", "double *", "NULL; where kernels for boxes leave partial results"),
)
STEP_FIELD_INDEX = {field.name: k for k, field in enumerate(STEP_FIELDS)}

BOX_FIELDS = (
    "first",  # the number of the box's first element, where the boxes of a tensor stand one after another
    "whole",  # the elements of the tensor
    "first_row",
    "own_rows",
    "own_cols",
    "own_matrices",
    "rows",  # of the tensor, in all matrices of a batch
    "cols",
    "height",  # the rows of one matrix of the tensor
    "width",  # its columns
    "partials",  # from here on, places in `area`: of the partial results, [block of the tensor][reduction]
    "head",  # of the terms of the block that the box's start divides, [reduction][element of the block]
    "tail",  # of those of the block that its end divides
    "lines",  # of the partial results of columns, [reduction][matrix of the box][ROW_BLOCK rows][column of the box]
    "head_rows",  # of the terms of columns in the ROW_BLOCK rows that the start divides, [reduction][row][column]
    "tail_rows",
    "row_sums",  # of the results of rows, [reduction][row of the box]
    "values",  # of row or column values to reduce, [reduction][row or column of the tensor], those of the box first
    "scratch",
    "run",  # how many elements of the box lie one after another in the tensor
    "origins",  # the address of the numbers of the first elements of these runs
)
"""What `boxes` holds of each tensor. A tensor that is no box is one that is all of it."""
BOX_FIELD_INDEX = {name: k for k, name in enumerate(BOX_FIELDS)}


def step_description() -> list[str]:
    """The fields in order, for manifests."""
    return [field.name for field in STEP_FIELDS]


def c_fields() -> str:
    """The fields as C declarations, one a line, each with its meaning in a comment."""
    return "\n".join(map(_declaration, STEP_FIELDS))


def _declaration(field: StepField) -> str:
    code = f"    {field.c_type}{field.name};"
    comment = textwrap.wrap(f"/* {field.doc} */", _LINE_LENGTH - _COMMENT_COLUMN, subsequent_indent="   ")
    return code.ljust(_COMMENT_COLUMN) + f"\n{' ' * _COMMENT_COLUMN}".join(comment)
