"""Constants of sweeps over memory: how far ahead it is read, and what of it is taken at a time."""

from __future__ import annotations

import numpy as np

from optgen.tune.case import Case, step

LARGE = 1 << 22
"""Elements of parameters that no cache holds with their states."""


def prefetch_bytes() -> list[Case]:
    """Sweeps without reductions: with few streams, with many, and with states in codes."""
    return [
        Case(step("sgd", [(LARGE,)])),
        Case(step("adam", [(LARGE,)])),
        Case(step("adam", [(LARGE,)], storage="int8_dynamic")),
    ]


def most_prefetch_bytes() -> list[Case]:
    """Sums of a tensor, with few streams and with many."""
    return [Case(step(name, [(LARGE,)])) for name in ("lars", "lamb", "prodigy")]


bytes_under_way = most_prefetch_bytes


def vectors_of_long_chains() -> list[Case]:
    """Sums of terms with divisions and roots, in the cache and beyond it."""
    return [Case(step("lamb", [(n,)])) for n in (1 << 16, LARGE)]


def longest_row_ahead() -> list[Case]:
    """Sums of the rows of matrices, with rows around that length."""
    return [Case(step("adafactor", [(LARGE // cols, cols)])) for cols in (512, 1024, 2048, 4096)]


def list_lines_ahead() -> list[Case]:
    """Rows here and there of a large table."""
    return [_listed_rows(cols) for cols in (64, 256)]


def longest_list_row() -> list[Case]:
    """Rows here and there, of lengths around that one."""
    return [_listed_rows(cols) for cols in (256, 512, 1024, 2048)]


def _listed_rows(cols: int) -> Case:
    import optgen

    rng = np.random.default_rng(0)
    rows = 4 * LARGE // cols
    index = np.sort(rng.choice(rows, rows // 16, replace=False)).astype(np.int64)
    weight, gradient = np.zeros((rows, cols), np.float32), np.ones((len(index), cols), np.float32)
    return Case(optgen.load("adam").bind([weight], [optgen.RowSparse(index, gradient)]))


def columns_at_once() -> list[Case]:
    """Sums of the columns of matrices, with many columns and with few."""
    return [Case(step("adafactor", [(LARGE // cols, cols)])) for cols in (128, 1024, 8192)]


def shared_lines() -> list[Case]:
    """What is computed for each row and column of matrices, around that many."""
    return [Case(step("adafactor", [(n, n)])) for n in (512, 1024, 2048)] + [Case(step("adafactor", [(8192, 64)]))]
