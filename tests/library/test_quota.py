"""A library in C finds the quotas of control groups as Python does, in the made-up trees of its tests."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optgen.threads import cpus
from tests.compiler.test_cpus import TREES, tree
from tests.library.c_library import build
from tests.process import run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="no Linux, or no C compiler"
)
MAIN = """\
#include "sgd.c"

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++)
        printf("%.17g\\n", quota(argv[k]));
    printf("%d %.17g\\n", (int)default_threads(), quota(""));
    return 0;
}
"""


def test_quotas_are_those_of_python(tmp_path: Path) -> None:
    build(tmp_path, "sgd", "--cpu", "native")
    (tmp_path / "main.c").write_text(MAIN)
    kernels = [str(x) for x in tmp_path.glob("kernels/*.o")]
    strict = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = ["cc", *strict, "main.c", *kernels, "-o", "main", "-lm", "-pthread"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    trees = [tree(tmp_path / str(k), *files) for k, (files, _) in enumerate(TREES.values())]
    printed = run([tmp_path / "main", *trees, tmp_path / "nothing"], timeout=60)
    assert printed.returncode == 0, printed.stderr
    *found, own = printed.stdout.splitlines()
    assert dict(zip(TREES, map(float, found), strict=False)) == {name: x for name, (_, x) in TREES.items()}
    assert float(found[-1]) == math.inf
    threads, quota = own.split()  # of this process
    assert (int(threads), float(quota)) == (cpus.available(), cpus.quota())
