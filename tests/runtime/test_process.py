"""The helper other tests start programs with."""

from __future__ import annotations

import sys

import pytest

from tests.process import STARTED, run


def test_output_status_and_environment() -> None:
    program = "import os, sys; print(os.environ['GREETING']); sys.exit(3)"
    done = run([sys.executable, "-c", program], timeout=20, env={"GREETING": "hello"})
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert STARTED


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(AssertionError, match=r"took more than 0\.5 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)


def test_what_is_left_behind_is_found_and_ended() -> None:
    program = (
        "import subprocess, sys\n"
        "null = subprocess.DEVNULL\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdout=null, stderr=null)"
    )
    with pytest.raises(AssertionError, match="left processes behind"):
        run([sys.executable, "-c", program], timeout=20)
