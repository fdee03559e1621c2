"""Modules stand where MXNet has them: each path that can be imported from both is held, under either name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import runtime
from tests.process import run

ROOT = Path(runtime.__file__).parents[1]
MXNET = (Path(__file__).parent / "mxnet_modules.txt").read_text().split()
"""The modules of MXNet 1.9.1 that are here too, without the name of the package."""
OURS = ["checkpoint", "launch", "native", "plan", "tune"]
"""Modules that MXNet does not have and scripts may name."""

UNDER_THE_OLD_NAME = """
import importlib, sys
import runtime
sys.modules["mxnet"] = runtime
for path in sys.argv[1:]:
    old, new = importlib.import_module(f"mxnet.{path}"), importlib.import_module(f"runtime.{path}")
    assert old is new and old.__spec__.name == old.__name__ == f"runtime.{path}", path
print("done")
"""


@pytest.mark.parametrize("path", [*MXNET, *OURS])
def test_a_module_is_a_file_at_its_path(path: str) -> None:
    module = importlib.import_module(f"runtime.{path}")
    place = ROOT.joinpath("runtime", *path.split("."))
    assert module.__spec__ is not None and module.__spec__.name == module.__name__ == f"runtime.{path}"
    assert Path(str(module.__file__)) in (place.with_suffix(".py"), place / "__init__.py")


def test_modules_are_the_same_under_the_old_name() -> None:
    done = run([sys.executable, "-c", UNDER_THE_OLD_NAME, *MXNET, *OURS], timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_star_import_of_nd_leaves_the_modules_of_gluon_alone() -> None:
    names: dict[str, object] = {}
    exec("from runtime.gluon import nn; from runtime.gluon.data import vision; from runtime.ndarray import *", names)
    assert names["nn"] is runtime.gluon.nn and names["vision"] is runtime.gluon.data.vision
    assert {"NDArray", "array", "contrib", "dot", "random", "sgd_update", "waitall", "zeros"} <= names.keys()
    exec("from runtime.ndarray.linalg import *", names)
    assert names["linalg_gemm2"] is runtime.nd.linalg.gemm2 is runtime.nd.linalg_gemm2


@pytest.mark.parametrize("path", ["launch", "native"])
def test_modules_that_are_programs(path: str) -> None:
    done = run([sys.executable, "-m", f"runtime.{path}", "--help"], timeout=60)
    assert done.returncode == 0 and f"runtime.{path}" in done.stdout and done.stderr == ""


def test_the_root_has_nothing_else() -> None:
    """What users do not import by name is in `core`, and what is no module of MXNet's in `compat`."""
    root = {
        path.stem for path in (ROOT / "runtime").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert root - {"__init__"} == {path for path in MXNET if "." not in path} | {*OURS, "core", "compat"}


def test_the_module_of_optimizers_has_what_makes_them() -> None:
    from runtime.optimizer.optimizer import Adam, Updater, create, get_updater, register

    assert (Updater, get_updater, register) == tuple(
        getattr(runtime.optimizer, name) for name in ("Updater", "get_updater", "register")
    )
    assert type(create("adam")) is Adam
