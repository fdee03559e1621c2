"""What sweeps prefetch, line by line: the prefetches of kernels are made to note their addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline

Array = np.ndarray[Any, Any]
COUNT = 4096
"""Elements: enough for codes, and too few for a second thread."""
NOTES = 1 << 16
PREFETCH = re.compile(r'call void @"llvm\.prefetch\.p0"\((ptr [^,]+), (i32 0, i32 2, i32 1)\)')
"""To read, into the second cache."""
NOTE = """
define internal void @note(ptr %line) noinline {{
  %old = load i64, ptr inttoptr (i64 {notes} to ptr)
  %next = add i64 %old, 1
  %count = and i64 %next, {last}
  store i64 %count, ptr inttoptr (i64 {notes} to ptr)
  %place = getelementptr i64, ptr inttoptr (i64 {notes} to ptr), i64 %count
  %address = ptrtoint ptr %line to i64
  store i64 %address, ptr %place
  ret void
}}
"""


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Array:
    """How many lines were prefetched, and their addresses, by the kernels that are compiled from now on."""
    notes, lower = np.zeros(NOTES, np.int64), pipeline.lower

    def noting(*args: Any) -> str:
        text = lower(*args)
        text, count = PREFETCH.subn(r"call void @note(\1)", text)
        assert count and 'call void @"llvm.prefetch' not in text
        return text + NOTE.format(notes=notes.ctypes.data, last=NOTES - 1)

    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(pipeline, "lower", noting)
    return notes


def stepped(spec: Any, **how: Any) -> dict[str, Array]:
    """The streams of a step."""
    w, g = np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)
    step = optgen.load(spec, **how).bind([w], [g])
    step()
    states = {name: x for name, (x,) in step.state.arrays.items() if not name.endswith(".scale")}
    return {"w": w, "grad": g, **states}


def lines(arrays: Iterable[Array], kilobytes: int) -> Counter[int]:
    """The addresses of all lines of these arrays, so far ahead."""
    far = kilobytes << 10
    return Counter(x for a in arrays for x in range(a.ctypes.data + far, a.ctypes.data + far + a.nbytes, 64))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("sgd", {"momentum": 0.9}),
        ("adam", {}),
        ("sgld", {}),
        *(("adam", {"storage": f"int{n}_dynamic"}) for n in (8, 4)),
    ],
    ids=str,
)
def test_a_step_prefetches_its_streams_a_kilobyte_ahead(name: str, how: dict[str, Any], notes: Array) -> None:
    moved = stepped(name, **how)
    assert Counter(notes[1 : 1 + notes[0]].tolist()) == lines(moved.values(), 1)


@pytest.mark.parametrize(
    ("update", "first", "second", "kilobytes"),
    [
        ("g/norm(g)", "grad", "w grad", 4),
        ("g/(1 + dot(w, g))", "w grad", "w grad", 4),
        ("(g + m')/(1 + norm(m'))", "grad m", "w grad m", 2),
        ("(m' + n')/(1 + norm(m' + n'))", "grad m n", "w m n", 1),
    ],
)
def test_a_sum_of_few_streams_prefetches_farther(
    update: str, first: str, second: str, kilobytes: int, notes: Array
) -> None:
    """So that some 8 KB of all that the sweep reads and writes are under way; at most 4 KB of each stream."""
    states = [x for x in "mn" if f"{x}'" in update]
    head = ["optimizer Norm", *(f"state {x} = 0" for x in states), "update:"]
    body = [*(f"{x}' = 0.5*{x} + g" for x in states), f"w' = w - lr*{update}"]
    moved = stepped(optgen.parse("\n".join([*head, *(f"  {line}" for line in body), ""])))
    expected = lines([moved[x] for x in first.split()], kilobytes) + lines([moved[x] for x in second.split()], 1)
    assert Counter(notes[1 : 1 + notes[0]].tolist()) == expected
