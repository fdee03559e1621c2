"""Specs whose names, starts or shapes are unusual: a library in C has them as Python does, or refuses them in words."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.cli import main
from optgen.execute.buffers import numpy_dtype
from tests.library.c_library import ADDRESS, CLibrary, Context, build

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

NAMES = """\
optimizer Odd " */ int x; /* {}"
param struct = 0.9 in [0, 1)
param errno = 0.5
param T = 1.0
param t_ = 1.0
param M_PI = 1.0
param char8_t = 1.0
param small = 1.0
param _Bool = 1.0
input data "what a tensor has, too"
flag threads = false
flag abi = false
flag move = 'a.b' | 'c'
state match = 0
update:
  match' = struct*match + (1 - struct)*g*errno if move == 'a.b'
  match' = g otherwise
  w' = w - lr*match'*T + 0*t_*data if not threads and not abi
  w' = w - lr*match' otherwise
"""
START = """\
optimizer Start "a state that starts as something"
param p = 0.3
{declared}
update:
  m' = 0.9*m + 0.1*g
  w' = w - lr*m'
"""
SHARED = """\
optimizer Shares "one value for all tensors"
state scale: shared = 3
flag mat = rank >= 2
update:
  scale' = 0.5*scale
  w' = w - lr*g*scale' if mat
  w' = w - 2*lr*g*scale' otherwise
"""
JOINED = """\
optimizer Joined "a norm over all tensors"
param beta = 0.5
state m = 0
update:
  u = beta*g
  m' = 0.9*m + u
  w' = w - lr*m'/max(norm(u, over params), 1e-8)
"""
TURNS = """\
optimizer Turns "loops within loops, over values that they carry, and arrays that they fill"
param steps: int = 3 in [0, 9]
state c: col = 0
update:
  x = g
  y = mean(g, per row)
  repeat steps as i:
    u    = x + y*step
    repeat 2 as j:
      u' = 0.5*u + (i + j + 1)*c
    end
    x' = u' - 0.1*w
    y' = y + mean(x', per row)
  end
  z = x'
  repeat 3 as k:
    a[k] = norm(z) + k
    z'   = z/a[k] + y'
  end
  c' = c + mean(x', per col)
  w' = w - lr*(z' + a[1])
"""


def library(folder: Path, text: str, *arguments: str) -> Any:
    (folder / "odd.opt").write_text(text)
    build(folder, str(folder / "odd.opt"), "--cpu", "native", *arguments)
    return CLibrary(folder, "odd").spec("odd")


def test_names_of_c_and_rust(tmp_path: Path) -> None:
    own = library(tmp_path, NAMES, "--all")
    w, g = [np.ones(5, np.float32)], [np.full(5, 0.25, np.float32)]
    other, inputs = [w[0].copy()], {"data": [np.ones(5, np.float32)]}
    fields = {
        "struct": "struct_",
        "errno": "errno_",
        "M_PI": "M_PI_",
        "char8_t": "char8_t_",
        "small": "small_",
        "data": "data_",
        "threads": "threads_",
        "abi": "abi_",
    }
    assert [name for name, _ in own.Hyper._fields_][:2] == ["struct_", "errno_"]
    hyper = own.hyper()
    context = Context(own, w, g, inputs, hyper)
    context.step(hyper)
    optgen.load(str(tmp_path / "odd.opt")).bind(other, g, inputs=inputs)()
    assert w[0].tobytes() == other[0].tobytes()
    header = (tmp_path / "odd.h").read_text()
    assert all(f" {name}; " in header or f"*{name}; " in header for name in fields.values())


@pytest.mark.parametrize("declared", ["state m = 0.1", "state m = p", "state m = w", "state h[1] = 0.1\nstate m = 0.1"])
@pytest.mark.parametrize(
    ("dtype", "storage"), [("bfloat16", None), ("float32", "bfloat16"), ("float32", "int8_dynamic"), ("float64", None)]
)
def test_states_start_as_in_python(declared: str, dtype: str, storage: str | None, tmp_path: Path) -> None:
    text = START.format(declared=declared)
    if "h[1]" in declared:
        text = text.replace("  w' =", "  h' = g + 0*h[-1]\n  w' =")
    how = ["--storage", storage] if storage else []
    (tmp_path / "odd.opt").write_text(text)
    if declared in ("state m = p", "state m = w") and (storage or (dtype == "bfloat16" and declared == "state m = p")):
        assert main(["build", str(tmp_path / "odd.opt"), "--dtype", dtype, *how, "-o", str(tmp_path)]) == 2
        return
    own = library(tmp_path, text, "--dtype", dtype, *how)
    rng, kind = np.random.default_rng(0), numpy_dtype(dtype)
    w, g = ([rng.normal(size=x).astype(kind) for x in ((7,), (90, 70))] for _ in range(2))
    others, hyper = [x.copy() for x in w], own.hyper()
    context = Context(own, w, g, {}, hyper)
    bound = optgen.load(str(tmp_path / "odd.opt"), dtype, storage=storage).bind(others, g)
    for _ in range(2):
        context.step(hyper)
        bound()
    assert [x.tobytes() for x in w] == [x.tobytes() for x in others]
    own.must("save", context.address, str(tmp_path / "states").encode())


def test_values_that_tensors_share(tmp_path: Path) -> None:
    own = library(tmp_path, SHARED)
    w, g = ([np.ones(x, np.float32) for x in ((7,), (3, 4))] for _ in range(2))
    with pytest.raises(AssertionError, match="all tensors share values, so they need one kernel"):
        Context(own, w, g, {}, own.hyper())
    folder = tmp_path / "joined"
    folder.mkdir()
    own = library(folder, JOINED)
    context = Context(own, w, g, {}, own.hyper())
    for values, accepted in (((0.7, 0.5), False), ((0.5, 0.7), False), ((0.7, 0.7), True)):
        each = (own.Hyper * 2)(*(own.hyper(beta=x) for x in values))
        assert (own.call("step_each", context.address, each) == 0) == accepted


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_loops(turns: int, tmp_path: Path) -> None:
    own = library(tmp_path, TURNS, "--set", f"steps={turns}", "--dtype", "float16")
    rng, shapes = np.random.default_rng(0), [(7,), (90, 70), (0, 4), (4, 0), (5, 300, 5)]
    w, g = ([rng.normal(size=x).astype(np.float16) for x in shapes] for _ in range(2))
    others, hyper = [x.copy() for x in w], own.hyper()
    context = Context(own, w, g, {}, hyper)
    bound = optgen.load(str(tmp_path / "odd.opt"), "float16", steps=turns).bind(others, g)
    for _ in range(3):
        context.step(hyper)
        bound()
    assert [x.tobytes() for x in w] == [x.tobytes() for x in others]
    assert [context.state(i, "c") for i in range(5)] == [np.asarray(x).tobytes() for x in bound.state.arrays["c"]]
    other = own.hyper(steps=turns + 1)
    assert own.call("step", context.address, ctypes.byref(other)) == 5  # kernels are made for so many turns


@pytest.mark.parametrize(("spec", "target", "why"), [("sm3", "cpu", "groups of rows"), ("muon", "cuda", "on a GPU")])
def test_what_a_library_cannot_have_yet(
    spec: str, target: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", spec, "-o", str(tmp_path / "out"), "--cpu", "native", "--target", target]) == 2
    said = capsys.readouterr().err
    assert why in said and "a library in C has no such updates yet" in said and not (tmp_path / "out").exists()


def test_weights_to_evaluate_with_have_memory_of_their_own(tmp_path: Path) -> None:
    build(tmp_path, "schedulefree_sgd", "--name", "own", "--cpu", "native")
    own = CLibrary(tmp_path, "own").spec("schedulefree_sgd")
    w, g, hyper = [np.ones(9, np.float32)], [np.ones(9, np.float32)], own.hyper()
    context = Context(own, w, g, {}, hyper)
    context.step(hyper)
    place, count = ADDRESS(), ctypes.c_int64()
    own.must("state", context.address, ctypes.c_int64(0), b"z", ctypes.byref(place), ctypes.byref(count))
    for wrong in (w[0].ctypes.data, g[0].ctypes.data + 8, place.value):
        status = own.call("evaluate", context.address, ctypes.byref(hyper), (ADDRESS * 1)(wrong))
        assert status == 7 and "overlaps" in own.library.error()


@pytest.mark.parametrize("shape", [(0, 2**62), (0, 2**31, 2**31), (0, 2**62, 2**62)])
def test_lengths_beside_a_zero_are_bounded(shape: tuple[int, ...], tmp_path: Path) -> None:
    text = "optimizer Odd\nstate c: col = 1\nupdate:\n  c' = c + mean(g, per col)\n  w' = w - lr*g*c'\n"
    own = library(tmp_path, text)
    lengths = (ctypes.c_int64 * len(shape))(*shape)
    tensor = own.Tensor(None, None, ctypes.addressof(lengths), len(shape))
    given = (ctypes.byref(tensor), ctypes.c_int64(1), ctypes.byref(own.options()), ctypes.byref(own.hyper()))
    assert own.call("create", ctypes.byref(ADDRESS()), *given) == 4


@pytest.mark.parametrize(
    ("name", "said"), [("pool", "pool_create"), ("set", "set_"), ("math", "a header"), ("sem", "C has functions")]
)
def test_names_that_c_has_already(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / f"{name}.opt").write_text("optimizer Odd\nupdate:\n  w' = w - lr*g\n")
    assert main(["build", str(tmp_path / f"{name}.opt"), "-o", str(tmp_path / "out"), "--cpu", "native"]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
@pytest.mark.parametrize(("edition", "target"), [("2021", "cpu"), ("2024", "cpu"), ("2024", "cuda")])
def test_modules_of_rust_compile(edition: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "odd.opt").write_text(NAMES)
    specs = [str(tmp_path / "odd.opt"), "schedulefree_sgd", "adam with sam", "rmsprop"]
    build(tmp_path, *specs, "--name", "several", "--cpu", "native", "--target", target)
    command = ["rustc", "--edition", edition, "--crate-type", "lib", "-D", "warnings", "--emit", "metadata"]
    done = subprocess.run(
        [*command, "several.rs", "-o", "several.rmeta"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_phases_and_files_are_told_by_name(tmp_path: Path) -> None:
    build(tmp_path, "adam with sam", "lbfgs", "--name", "own", "--cpu", "native")
    library = CLibrary(tmp_path, "own")
    own, hyper = library.spec("adam_with_sam"), library.spec("adam_with_sam").hyper()
    w, path = [np.ones((3, 4), np.float32)], str(tmp_path / "states").encode()
    context = Context(own, w, [np.ones((3, 4), np.float32)], {}, hyper)
    own.must("save", context.address, path)
    assert own.call("step_descend", context.address, ctypes.byref(hyper)) == 6
    assert library.error() == "adam_with_sam: adam_with_sam_step_ascend is due, and not adam_with_sam_step_descend"
    context.step(hyper, "ascend")
    assert own.call("save", context.address, path) == 6
    assert "the step is not complete: adam_with_sam_step_descend is due before adam_with_sam_save" in library.error()
    two = Context(own, [w[0], w[0].copy()], [w[0].copy(), w[0].copy()], {}, hyper)
    assert own.call("load", two.address, path) == 11
    assert "'t' is I64 [1] in the file, and I64 [2] here: that is how many tensors there are" in library.error()
    other = Context(own, [np.ones(12, np.float32)], [np.ones(12, np.float32)], {}, hyper)
    assert (
        own.call("load", other.address, path) == 11 and "F32 [3, 4] in the file, and F32 [12] here" in library.error()
    )
    lbfgs = library.spec("lbfgs")
    with pytest.raises(AssertionError, match="build it with --set history=5"):
        Context(lbfgs, w, [w[0].copy()], {}, lbfgs.hyper(history=5))


def test_a_save_goes_on_where_another_process_left_a_file(tmp_path: Path) -> None:
    build(tmp_path, "sgd", "--cpu", "native")
    own = CLibrary(tmp_path, "sgd").spec("sgd")
    context = Context(own, [np.ones(3, np.float32)], [np.ones(3, np.float32)], {}, own.hyper())
    left = [tmp_path / f"states.{os.getpid()}.{k}.new" for k in range(3)]
    for path in left:
        path.write_text("")
    own.must("save", context.address, str(tmp_path / "states").encode())
    assert (tmp_path / "states").stat().st_size and all(path.exists() for path in left)


LAZY = """\
optimizer Lazy "other equations where a gradient is row-sparse"
state m = 0
update:
  m' = 0.9*m + g if not sparse
  m' = m otherwise
  w' = w - lr*m' if not sparse
  w' = w - lr*g  otherwise
"""


def test_other_equations_of_row_sparse_gradients(tmp_path: Path) -> None:
    own = library(tmp_path, LAZY)
    w, g = [np.ones((4, 3), np.float32)], [np.ones((4, 3), np.float32)]
    named, rows, hyper = (ctypes.c_uint8 * 1)(1), np.array([1, 3]), own.hyper(lr=0.5)
    context = Context(own, w, g, {}, hyper, row_sparse=ctypes.addressof(named))
    assert own.call("step", context.address, ctypes.byref(hyper)) == 3
    assert "set its rows" in own.library.error() and (w[0] == 1).all()
    context.set_rows(0, g[0][:2].copy(), rows)
    context.step(hyper)
    assert w[0][:, 0].tolist() == [1, 0.5, 1, 0.5]
    other, dense = [np.ones((4, 3), np.float32)], Context(own, w, g, {}, hyper)
    bound = optgen.load(str(tmp_path / "odd.opt")).bind(other, g)
    w[0][...] = 1
    for _ in range(2):
        dense.step(hyper)
        bound(lr=0.5)
    assert w[0].tobytes() == other[0].tobytes()


def test_files_by_links_keep_their_rights(tmp_path: Path) -> None:
    build(tmp_path, "sgd", "--cpu", "native")
    own = CLibrary(tmp_path, "sgd").spec("sgd")
    context = Context(own, [np.ones(3, np.float32)], [np.ones(3, np.float32)], {}, own.hyper())
    (tmp_path / "real").write_text("")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    own.must("save", context.address, str(tmp_path / "link").encode())
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").stat().st_size
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    (tmp_path / "nowhere").symlink_to("nothing")
    assert own.call("save", context.address, str(tmp_path / "nowhere").encode()) == 11
    context_counts = own.call("counts", context.address, result=ctypes.POINTER(ctypes.c_int64))
    context_counts[0] = -1
    assert own.call("save", context.address, str(tmp_path / "link").encode()) == 3


def test_flags_of_each_tensor(tmp_path: Path) -> None:
    build(tmp_path, "lars", "--cpu", "native")
    own, rng = CLibrary(tmp_path, "lars").spec("lars"), np.random.default_rng(0)
    w, g = ([rng.normal(size=x).astype(np.float32) for x in ((70, 90), (37,), (5,))] for _ in range(2))
    others, hyper, skip = [x.copy() for x in w], own.hyper(wd=0.1), (ctypes.c_int32 * 3)(0, 1, 0)
    context = Context(own, w, g, {}, hyper, skip=ctypes.addressof(skip))
    bound = optgen.load("lars").bind(others, g, flags={"skip": [False, True, False]})
    for _ in range(3):
        context.step(hyper)
        bound(wd=0.1)
    assert [x.tobytes() for x in w] == [x.tobytes() for x in others]
    skip[1] = 2
    with pytest.raises(AssertionError, match=r"options\.skip must be from 0 to 1"):
        Context(own, w, g, {}, hyper, skip=ctypes.addressof(skip))
