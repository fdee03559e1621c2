"""Splitting, clipping, downloading."""

from __future__ import annotations

import hashlib
import http.server
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime as mx
from runtime import nd
from runtime.gluon import utils

CONTENT = bytes(range(256)) * 5000
SHA1 = hashlib.sha1(CONTENT).hexdigest()


# ---------------------------------------------------------------- batches and gradients


@given(size=st.integers(0, 20), parts=st.integers(1, 6), axis=st.integers(0, 1))
def test_split_data(size: int, parts: int, axis: int) -> None:
    shape = (size, 2) if axis == 0 else (2, size)
    x = nd.array(np.arange(2 * size).reshape(shape))
    if axis and size < parts:
        with pytest.raises(mx.MXNetError, match="slice_axis: there is nothing"):
            utils.split_data(x, parts, axis, even_split=False)
        return
    pieces = utils.split_data(x, parts, axis, even_split=False)
    lengths = [p.shape[axis] for p in pieces]
    assert len(pieces) == parts and max(lengths) - min(lengths) <= 1
    np.testing.assert_array_equal(np.concatenate([p.asnumpy() for p in pieces], axis), x.asnumpy())
    if size % parts:
        with pytest.raises(ValueError, match=rf"cannot be cut into {parts} equal parts along axis {axis}"):
            utils.split_data(x, parts, axis)


def test_split_and_load() -> None:
    contexts = [mx.cpu(1), mx.cpu(2)]
    pieces = utils.split_and_load(np.arange(6).reshape(3, 2), contexts, even_split=False)
    assert [(p.context, p.shape, p.dtype) for p in pieces] == [
        (contexts[0], (2, 2), np.float32),
        (contexts[1], (1, 2), np.float32),
    ]
    assert utils.split_and_load([1, 2], [mx.cpu(3)])[0].context == mx.cpu(3)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("check_isfinite", [True, False])
def test_clip_global_norm(stype: str, check_isfinite: bool) -> None:
    arrays = [nd.ones((3, 3)).tostype(stype), nd.ones((4, 4), ctx=mx.cpu(1)).tostype(stype)]
    for norm, after in ((5, 0.2), (1, 0.2)):  # the second time there is nothing to do
        found = utils.clip_global_norm(arrays, 1.0, check_isfinite)
        assert (found if check_isfinite else found.asscalar()) == pytest.approx(norm)
        for x in arrays:
            np.testing.assert_allclose(x.asnumpy(), after, rtol=1e-6)
    arrays[0][:] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        utils.clip_global_norm(arrays, 1.0, check_isfinite)
    assert len(caught) == check_isfinite


def test_clip_global_norm_of_half_precision() -> None:
    x = nd.full((10,), 300, dtype="float16")  # 300*300 overflows
    assert utils.clip_global_norm([x], 1.0) == pytest.approx(300 * 10**0.5)
    np.testing.assert_allclose(x.asnumpy(), 10**-0.5, rtol=1e-3)
    with pytest.raises(ValueError, match="there are no arrays"):
        utils.clip_global_norm([], 1)


def test_shape_is_known() -> None:
    cases = (None, (), (2, 0), (2, -1), (2, 3))
    assert [utils.shape_is_known(shape) for shape in cases] == [False, False, False, False, True]
    with mx.util.np_shape():
        assert [utils.shape_is_known(shape) for shape in cases] == [False, True, True, False, True]


# ---------------------------------------------------------------- files


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and what it was asked for: /busy... answers 503 twice, /cut leaves half out."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            busy = self.path.startswith("/busy") and len(asked) < 3
            self.send_response(404 if self.path == "/none" else 503 if busy else 200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/cut" else CONTENT)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}", asked
        httpd.shutdown()
        thread.join()


def test_download(server: tuple[str, list[str]], tmp_path: Path) -> None:
    url, asked = server
    folder = tmp_path / "new" / "folder"
    path = utils.download(f"{url}/a%20b", folder / "file", sha1_hash=SHA1)
    assert path == str(folder / "file") and utils.check_sha1(path, SHA1)
    utils.download(f"{url}/a", path)
    utils.download(f"{url}/a", path, sha1_hash=SHA1)
    assert asked == ["/a%20b"]
    utils.download(f"{url}/b", path, overwrite=True)
    Path(path).write_bytes(b"other")
    utils.download(f"{url}/c", path, sha1_hash=SHA1)
    assert asked == ["/a%20b", "/b", "/c"] and Path(path).read_bytes() == CONTENT
    assert utils.download(f"{url}/a%20b", folder) == str(folder / "a b")
    assert sorted(p.name for p in folder.iterdir()) == ["a b", "file"]


def test_download_tries_again(server: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    url, asked = server
    utils.download(f"{url}/busy", tmp_path / "x")
    assert len(asked) == 3 and capsys.readouterr().out.count("failed") == 2
    for path, error in (("none", "404"), ("cut", "IncompleteRead|hash|ended|broken")):
        asked.clear()
        with pytest.raises(Exception, match=error):
            utils.download(f"{url}/{path}", tmp_path / "y", retries=2, sha1_hash=SHA1)
        assert len(asked) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["x"]  # no part of a file is left
    with pytest.raises(ValueError, match="retries must be at least 0"):
        utils.download(url, retries=-1)


def test_download_of_a_local_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, here = tmp_path / "source", tmp_path / "here"
    source.write_bytes(CONTENT)
    here.mkdir()
    monkeypatch.chdir(here)
    assert utils.download(source.as_uri()) == "source"
    assert (here / "source").read_bytes() == CONTENT
    with pytest.warns(UserWarning, match="Unverified HTTPS"):
        utils.download(source.as_uri(), verify_ssl=False)
    with pytest.raises(ValueError, match=r"no name for a file in .*; give a path"):
        utils.download("http://127.0.0.1/")


@pytest.mark.parametrize("name", ["%2e%2e%2fleft", "a%2Fb", "%2e%2e", ".", "~%2fleft", "a%5cb", "a%00b", "folder"])
@pytest.mark.parametrize("given", [None, "."])
def test_a_url_names_a_file_of_the_folder_and_nothing_else(
    name: str, given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"there is no name for a file in .*; give a path"):
        utils._target(f"http://host/{name}", given)
    assert utils._target(f"http://host/{name}", "own") == Path("own")


def test_a_url_that_names_a_home_is_a_file_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert utils._target("http://host/~", None) == Path("~")
    assert utils._target("http://host/a%20b", "~") == tmp_path / "home" / "a b"


def test_a_failed_replacement_removes_the_source(tmp_path: Path) -> None:
    source, folder = tmp_path / "a", tmp_path / "folder"
    source.write_bytes(b"")
    folder.mkdir()
    with pytest.raises(OSError):
        utils.replace_file(source, folder)
    assert not source.exists()


def test_where_gluons_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://127.0.0.1/repo")
    assert utils._get_repo_file_url("dataset/mnist", "x.gz") == "http://127.0.0.1/repo/dataset/mnist/x.gz"
