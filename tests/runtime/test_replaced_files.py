"""Files of `runtime` that are replaced in one step; tests/test_files.py has how that is done."""

from __future__ import annotations

import secrets
import signal
import stat
import sys
from pathlib import Path

import pytest

from runtime import nd
from runtime.checkpoint.folder import Folder
from runtime.core import files
from tests.process import started
from tests.test_files import ROOT, WRITER, names


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o444])
def test_the_mode_is_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "states"
    path.write_bytes(b"old")
    path.chmod(mode)
    nd.save(path, nd.ones(3))
    assert stat.S_IMODE(path.stat().st_mode) == mode and nd.load(path)[0].shape == (3,)


def test_what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "states"
    with started([sys.executable, "-c", WRITER, path], timeout=60, cwd=ROOT) as program:
        program.line("half")
        (temporary,) = names(tmp_path)
        nd.save(path, nd.ones(3))
        assert names(tmp_path) == {"states", temporary}
        program.signal(signal.SIGKILL)
        program.wait()
    nd.save(path, nd.ones(2))
    assert names(tmp_path) == {"states"} and nd.load(path)[0].shape == (2,)


def test_a_checkpoint_leaves_late_writers_alone(tmp_path: Path) -> None:
    """One that was given up may still write its file of this generation, of which another machine sees no lock."""
    folder = Folder(tmp_path)

    def half(number: int) -> str:
        return f"{number:06}-rank1.safetensors.{'0' * 8}-{secrets.token_hex(8)}.tmp"

    left = {number: half(number) for number in (1, 2)}
    for name in left.values():
        (tmp_path / name).write_bytes(b"half")
    files.save(folder.file(2, "rank0"), {}, {})
    folder.complete(2, 1, ["rank0"])
    assert names(tmp_path) == {"latest", left[2], "000002-rank0.safetensors"}
