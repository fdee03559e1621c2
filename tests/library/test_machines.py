"""A library in C comes to the bits of Python from every language, and on every CPU that it was built for, real or
emulated."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from optgen.backends import target
from optgen.library.cpus import X86
from tests.library.many_steps import LIBRARIES, SOURCE, expected, libraries, program
from tests.process import run

MODELS = {"core2duo": "x86-64", "Nehalem": "x86-64", "Haswell": "x86-64-v3"}
"""CPUs that qemu emulates, and the level that each has of those that a library has without --cpu."""
ARMS = {"cortex-a72": "generic", "neoverse-n1": "neoverse-n1", "max": "neoverse-v2"}
"""The same for 64-bit Arm."""
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("cc") is None, reason="no C compiler for x86-64"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return libraries(tmp_path_factory.mktemp("here"))


@pytest.fixture(scope="module")
def here(folder: Path) -> Path:
    return program(folder, "cc", "-std=c11")


def ran(*command: str | Path) -> tuple[bytes, str]:
    """What a program printed, and the CPU whose kernels it took."""
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout, done.stderr.decode().splitlines()[-1]


def test_this_machine_takes_its_best_kernels(here: Path) -> None:
    own = set(target.host().required())
    levels = [name for name in ("x86-64", "x86-64-v3", "x86-64-v4") if own.issuperset(X86.cpus[name])]
    assert ran(here) == (expected(), levels[-1])


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_cpp(folder: Path) -> None:
    assert ran(program(folder, "c++", "-std=c++17", "-x", "c++"))[0] == expected()


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
def test_rust(folder: Path) -> None:
    source = shutil.copy(SOURCE.with_suffix(".rs"), folder)
    links = ["-L", ".", *(f"-lstatic={x}" for x in LIBRARIES), "-lm"]
    subprocess.run(["rustc", "--edition", "2021", source, *links, "-o", "in_rust"], cwd=folder, check=True)
    assert ran(folder / "in_rust")[0] == expected()


@pytest.mark.stress
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="no qemu-user")
@pytest.mark.parametrize("model", MODELS)
def test_older_machines_take_theirs(model: str, here: Path) -> None:
    assert ran("qemu-x86_64", "-cpu", model, here) == (expected(), MODELS[model])


@pytest.mark.stress
@pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or shutil.which("aarch64-linux-gnu-gcc") is None, reason="no tools for Arm"
)
def test_arm(tmp_path: Path) -> None:
    compiler, triple = ("aarch64-linux-gnu-gcc", "-std=c11"), ("--triple", "aarch64-linux-gnu", "--cpu")
    made = program(libraries(tmp_path, *triple, ",".join(ARMS.values())), *compiler)
    for model, level in ARMS.items():
        assert ran("qemu-aarch64", "-cpu", model, made) == (expected(), level)
    newest = program(libraries(tmp_path, *triple, "neoverse-v2"), *compiler)
    refused = run(["qemu-aarch64", "-cpu", "neoverse-n1", newest], timeout=60)
    assert refused.returncode == 1
    assert "this CPU lacks instructions of neoverse-v2" in refused.stderr
