"""`Precision` and `Layout`, which `load` and `bind` take, lead to the same kernels as their fields one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen import Layout, Piece, Precision

SHAPE = (100, 100)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("adam", {"dtype": "float64"}),
        ("adam", {"dtype": "bfloat16", "master": True, "storage": {"v": "int8_dynamic"}}),
        ("adam", {"dtype": "float16", "weights": "kahan"}),
        ("muon", {"matmul": "deterministic"}),
    ],
)
def test_both_forms_of_a_precision_are_one_rule(name: str, fields: dict[str, Any]) -> None:
    one, other = optgen.load(name, Precision(**fields)), optgen.load(name, **fields)
    assert repr(one) == repr(other) and one.storage == other.storage and one.matmul == other.matmul
    assert repr(optgen.load(name, dtype=Precision(**fields))) == repr(one)
    assert vars(one.variant(SHAPE)) == vars(other.variant(SHAPE))
    if name == "adam":
        kernels = (rule.kernel(SHAPE).native for rule in (one, other))
        assert len({(native.symbol, native.object) for native in kernels}) == 1


def test_both_forms_of_a_layout_are_one_step() -> None:
    """Of a piece of a tensor whose update draws at random, by the number of the tensor: its bits are the whole's."""
    rule = optgen.load(optgen.parse("optimizer X\nupdate:\n  z = normal()\n  w' = w - lr*(g + z)\n"))
    whole, g = np.zeros(SHAPE, np.float32), np.ones(SHAPE, np.float32)
    rule.bind([whole], [g], layout=Layout(ids=[3]))(lr=0.1)
    pieces, ids = [Piece(4096, SHAPE)], [3]
    forms: tuple[dict[str, Any], ...] = ({"layout": Layout(pieces, ids=ids)}, {"pieces": pieces, "ids": ids})
    for form in forms:
        part = np.zeros(whole.size - 4096, np.float32)
        rule.bind([part], [np.ones_like(part)], **form)(lr=0.1)
        assert np.array_equal(part, whole.reshape(-1)[4096:])


def test_what_is_given_twice_or_unknown_is_refused() -> None:
    w = [np.zeros(3, np.float32)]
    with pytest.raises(TypeError, match=r"^master and storage beside a Precision; write Precision\('bfloat16', \.\.\., "
                                        r"master=True, storage='int8_dynamic'\)$"):  # fmt: skip
        optgen.load("adam", Precision("bfloat16"), master=True, storage="int8_dynamic")
    with pytest.raises(TypeError, match=r"^bind: ids beside a layout, which has the same; write Layout\(ids=\.\.\.\)$"):
        optgen.load("adam").bind(w, w, layout=Layout(), ids=[1])
    with pytest.raises(TypeError, match=r"^bind\(\) got an unexpected keyword argument 'piece'$"):
        optgen.load("adam").bind(w, w, piece=[None])  # type: ignore[call-arg]
    for wrong, said in (({"dtype": "float8"}, "dtype must be one of"), ({"master": True}, "master weights are for"),
                        ({"weights": "up"}, "weights must be"), ({"matmul": "fast"}, "matmul must be")):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{said}"):
            Precision(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Precision("bfloat16", master="false"), "master must be True or False, not 'false'"),
        (lambda: Precision(storage=3), "storage must be the name of one, or a mapping from states to names, not 3"),
        (lambda: Precision(["float32"]), r"dtype must be a name, such as 'float32', not \['float32'\]"),
        (lambda: optgen.load("adam", Precision), "dtype is the class Precision; write Precision"),
        (lambda: optgen.load("adam", 0.1), "dtype must be a name, such as 'float32', not 0.1"),
        (lambda: Layout(pieces=[None, 3]), r"pieces\[1\] must be a Piece, a Box or None, not 3"),
        (
            lambda: Layout(pieces=Piece(0, (8,))),
            "pieces must be a list, with a Piece, a Box or None for each parameter",
        ),
        (lambda: optgen.load("adam").init([np.zeros(3, np.float32)], pieces={None}), "pieces must be a list, with"),
        (lambda: optgen.load("adam").init([np.zeros(3, np.float32)], pieces=3), "pieces must be a list, with"),
        (lambda: Layout(ids=[1.5]), r"ids\[0\] must be a whole number, not 1.5"),
        (lambda: Layout(ids=3), "ids must be a list, with a whole number for each parameter, not 3"),
        (lambda: Layout(exchange=3), "exchange must be a function, not 3"),
        (lambda: optgen.load("adam").bind([], [], layout=Layout), "layout must be an optgen.Layout, such as"),
        (lambda: optgen.load("adam").bind([], [], layout=0), "layout must be an optgen.Layout, such as"),
    ],
)
def test_values_of_other_types_are_refused(make: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"^{said}"):
        make()


def test_a_value_is_used_again_as_it_was_made() -> None:
    storage = {"m": "bfloat16"}
    precision, layout = Precision(storage=storage), Layout(ids=iter([5]))
    storage["m"] = "nonsense"
    for _ in range(2):
        rule = optgen.load("adam", precision)
        rule.bind([np.zeros(3, np.float32)], [np.zeros(3, np.float32)], layout=layout)
    assert rule.storage["m"] == "bfloat16"
