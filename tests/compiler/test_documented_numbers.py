"""Numbers of the documents are those of the code: a change of one is a change of both. docs/language.md has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from optgen import ir
from optgen.backends.cpu import listed_rows, shares
from optgen.backends.gpu import launches, table
from optgen.execute import choice
from optgen.execute.cpu import groups, stages
from optgen.execute.cuda import table as gpu_table
from optgen.execute.steps import step
from optgen.execute.tensors import checks
from optgen.functions.math import trigonometric
from optgen.ir.storage import QUANT_BLOCK
from optgen.objectcode import cache
from optgen.passes import place_stores, temporaries
from optgen.threads import openmp, pool
from optgen.tune import compare


def word(x: float) -> str:
    return {0.5: "one half", 2: "two", 4: "four", 8: "eight"}.get(x, f"{x:g}")


SAID = {
    "design.md": [
        f"blocks of {ir.BLOCK} elements, {ir.LANES} lanes in each block",
    ],
    "trials/sweeps.md": [
        f"With up to {word(place_stores.MAX_EXHAUSTIVE)} such choices, all plans are compared",
        "a byte read costs 1, a byte written to a line that was read anyway "
        f"{word(temporaries.WRITTEN_BYTE)}, a division or root {word(temporaries.DIVISION)}",
        f"which process {ir.ROW_BLOCK} whole rows at a time",
    ],
    "trials/stages.md": [f"small parameters**, of up to {stages.SMALL_ELEMENTS:,} elements"],
    "trials/numbers.md": [f"blocks of {ir.BLOCK} elements, {ir.LANES} lanes in each block"],
    "trials/cpu-kernels.md": [f"a row {listed_rows.LINES_AHEAD} cache lines of each stream later in the list"],
    "trials/threads.md": [
        f"Tensors larger than {groups.LARGEST_BYTES >> 20} MB with their states",
        f"A tensor with fewer than {shares.SHARED_LINES:,} of them leaves them to one thread",
        f"Handing out fewer than {pool.MIN_SHARED_ELEMENTS:,} elements takes longer",
        f"PyTorch's threads share steps of {openmp.MIN_TEAM_ELEMENTS:,} elements or more",
        f"looks for the next task for {round(pool.SPIN_SECONDS * 1e6)} us",
    ],
    "trials/pytorch.md": [f"rows of less than {QUANT_BLOCK} elements"],
    "kernels.md": [
        f"If a parameter has fewer than {choice.SMALLEST_QUANTIZED} elements, its states of 8 or 4 bits",
        f"The tables of the last {word(step.KEPT_SETS)} sets of parameters with gradients",
        f"numbers from 0 to 2^{(checks.ID_LIMIT - 1).bit_length()} - 1",
        f"`OPTGEN_CACHE_SIZE` bytes ({cache.LIMIT >> 20}M by default)",
        f"more than {compare.CLEAR_GAIN:.0%} beyond the noise",
    ],
    "pytorch.md": [
        f"Tensors of less than {choice.SMALLEST_QUANTIZED} elements",
        f"each row of {QUANT_BLOCK} elements or more",
    ],
    "cuda.md": [
        f"a warp takes a block of {ir.BLOCK} elements",
        f"a warp takes {ir.ROW_BLOCK} rows of {ir.LANES} columns",
        f"into one of {gpu_table.STEPS_IN_FLIGHT} places in pinned memory",
        f"Up to {gpu_table.STEPS_IN_FLIGHT} steps can be queued",
        f"A block has {table.THREADS} threads",
        f"groups of {word(table.MAX_GROUP)} neighbouring elements: {table.MAX_ACCESS_BYTES} bytes of float32",
        f"It loads up to {word(launches.MAX_GROUPS)} groups",
        f"sweeps with more than {launches.MAX_MEMORY_BOUND_OPS} operations, and of two groups of codes if more than "
        f"{word(launches.MAX_WIDE_CODES)} states of codes are written",
    ],
    "math.md": [f"are exact for \\|x\\| up to 2^{int(trigonometric.LARGEST_ANGLE).bit_length() - 1}"],
}


@pytest.mark.parametrize("document", SAID)
def test_a_document_says_what_the_code_has(document: str) -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / document).read_text("utf-8").split())
    assert [said for said in SAID[document] if said not in text] == []
