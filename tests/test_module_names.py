"""A module is what its path names: no function or class of the same name, imported into its package, hides it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

HIDDEN = {
    # As in MXNet: scripts call the function of this path, which makes the network.
    "runtime.gluon.model_zoo.vision.alexnet",
}
"""Those that are."""

FIND = """
import importlib, pkgutil, sys
import optgen, runtime
from tests.cuda import standin_pycuda
with standin_pycuda.installed():  # optgen.pycuda imports it
    for package in (optgen, runtime):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for name, module in sorted(sys.modules.items()):
        parent, _, last = name.rpartition(".")
        if parent and name.split(".")[0] in ("optgen", "runtime") and getattr(sys.modules[parent], last) is not module:
            print(name)
"""


def test_no_module_is_hidden() -> None:
    found = subprocess.run([sys.executable, "-c", FIND], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(found.split()) <= HIDDEN
