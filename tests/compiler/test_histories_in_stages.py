"""Entries of histories in specs with products and loops, by a local name: those that the name was given."""

from __future__ import annotations

import pytest

import optgen
from optgen import pipeline
from optgen.ir import Variant

SPEC = """\
optimizer Past "entries of histories beside products"
param n: int = 3 in [2, 8]
state h[n]      = 0
state r[n]: row = 0
state o         = 0
update:
  {first}
  {equations}
  o' = g + o
  {last}
"""
STORES = "h' = g\n  r' = mean(g, per row)"
PRODUCT = "(g@g^T)@g"
FORMS = {
    "newest": ("y = h[-1]", f"w' = w - lr*(y + {PRODUCT})"),
    "oldest": ("y = h[-n]", f"w' = w - lr*(y + {PRODUCT})"),
    "row": ("y = r[-1]", f"w' = w - lr*(y*g + {PRODUCT})"),
    "operand": ("y = h[-1]", "w' = w - lr*(y@y^T@g + y)"),
    "transposed": ("y = h[-1]", "w' = w - lr*(y^T@g@g^T)^T"),
    "a name of a name": ("x = h[-1]\n  y = x", f"w' = w - lr*(y + {PRODUCT})"),
    "reduced": ("y = h[-1]", f"w' = w - lr*({PRODUCT}*norm(y) + mean(y, per row))"),
    "before a loop": ("y = h[-1]", "x = g\n  repeat 2:\n    x' = y + (x@x^T)@x\n  end\n  w' = w - lr*x'"),
    "in turns": ("", "x = g\n  repeat n as i:\n    y = h[-1 - i]\n    x' = y + (x@x^T)@x\n  end\n  w' = w - lr*x'"),
    "back": ("", "x = g\n  repeat n as i:\n    y = h[i - n]\n    x' = y*i + (x@x^T)@x\n  end\n  w' = w - lr*x'"),
}


@pytest.mark.parametrize("stored_first", [True, False], ids=["stored-first", "stored-last"])
@pytest.mark.parametrize("form", FORMS)
def test_a_local_name_is_the_entry_itself(form: str, stored_first: bool) -> None:
    """The plan is the same one as where the entry is written out."""
    alias, equations = FORMS[form]
    lines = f"{alias}\n  {equations}".split("\n")
    (entry,) = (line.split(" = ")[1] for line in lines if "= h[" in line or "= r[" in line)
    written_out = [line.replace("y", entry) for line in lines if not line.lstrip().startswith(("y = ", "x = h"))]

    def plan(chosen: list[str]) -> object:
        first, last = (STORES, "") if stored_first else ("", STORES)
        text = SPEC.format(first=first, equations="\n".join(chosen), last=last)
        spec = optgen.parse(text.replace("update:", "param lr = 0.1\nupdate:"))
        return pipeline.stages(spec, Variant({}), (), first=False)

    assert plan(lines) == plan(written_out)
