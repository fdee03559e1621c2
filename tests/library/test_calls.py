"""What is wrong in calls of a library in C is told by a code and in words, and nothing changes: a C program, with
AddressSanitizer where the compiler has it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.library.c_library import build, compiled
from tests.process import run

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SPEC = """\
optimizer Mine "a spec with all that can be wrong"
param beta = 0.9 in [0, 1)
param limit = none in (0, inf)
param n: int = 3 in [1, 8]
input hess "a diagonal"
flag fast = false
flag strong = beta > 0.95
state m = 0
require not (strong and fast) "fast needs beta of at most 0.95"
update:
  d = rescale_grad*grad + wd*w
  m' = beta*m + (1 - beta)*(d + hess*n) if strong
  m' = beta*m + (1 - beta)*d + hess*n otherwise
  w' = w - lr*m'
"""

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("library")
    (found / "mine.opt").write_text(SPEC)
    build(found, str(found / "mine.opt"), "adam", "--name", "both", "--cpu", "native")
    return found


def test_bad_calls_are_refused_in_words(folder: Path) -> None:
    done = run([compiled(folder, HERE / "bad_calls.c", "both")], timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("calls, all as they should be")


def test_damaged_files_do_no_harm(folder: Path) -> None:
    done = run([compiled(folder, HERE / "damaged_files.c", "both"), str(folder)], timeout=120)
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout.split()[0]) < 3000  # what is damaged may be a number of a state
