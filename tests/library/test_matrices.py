"""Libraries in C of specs with matrices: products to the bit, factorizations by LAPACK, and what is as it was if one
fails."""

from __future__ import annotations

import ctypes
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen.loops import numpy_blas
from tests.library.c_library import ADDRESS, CLibrary, Context, build, numpy_lapack
from tests.library.trajectory import compare

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SHAPES: list[tuple[int, ...]] = [(1, 1), (3, 5), (37, 64), (129, 70), (64, 64), (0, 4), (2, 6, 5)]
NO_FACTORIZATION = 14


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("spec", "arguments"),
    [
        ("muon", ("--cpu", "native")),
        ("muon", ("--cpu", "native", "--dtype", "bfloat16", "--master")),
        ("muon", ("--cpu", "x86-64" if platform.machine() == "x86_64" else "generic")),
        ("muon_batched", ("--cpu", "native", "--dtype", "float64")),
        ("apollo", ("--cpu", "native", "--set", "r=1")),
    ],
)
def test_products_come_to_the_bits_of_python(
    spec: str, arguments: tuple[str, ...], threads: int, tmp_path: Path
) -> None:
    build(tmp_path, spec, "--name", "own", *arguments)
    compare(CLibrary(tmp_path, "own").spec(spec), spec, arguments, SHAPES, 20, tmp_path, threads=threads)


@pytest.mark.parametrize("spec", ["soap", "psgd_kron"])
def test_factorizations_come_to_the_bits_of_python(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numpy_lapack(monkeypatch)
    arguments = ("--cpu", "native")
    build(tmp_path, spec, "--name", "own", *arguments)
    with numpy_blas.single:
        compare(CLibrary(tmp_path, "own").spec(spec), spec, arguments, [x for x in SHAPES if 0 not in x], 20, tmp_path)


@pytest.mark.parametrize(("spec", "more"), [("shampoo", ""), ("swan", ""), ("muon", "-DOPTGEN_BLAS")])
def test_what_else_is_multiplied_is_close(
    spec: str, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inverse roots in Python multiply by the fastest code, and -DOPTGEN_BLAS by the program's: they round
    otherwise."""
    numpy_lapack(monkeypatch, more)
    build(tmp_path, spec, "--cpu", "native", "--name", "own")
    own, rng = CLibrary(tmp_path, "own").spec(spec), np.random.default_rng(0)
    shapes = [(37, 64), (70, 41)]
    weights, grads = ([rng.normal(size=x).astype(np.float32) for x in shapes] for _ in range(2))
    others, hyper = [w.copy() for w in weights], own.hyper()
    context, bound = Context(own, weights, grads, {}, hyper), optgen.load(spec).bind(others, grads)
    with numpy_blas.single:
        for _ in range(20):
            for g in grads:
                g[...] = rng.normal(size=g.shape)
            context.step(hyper)
            bound()
    for w, x in zip(weights, others, strict=True):
        np.testing.assert_allclose(w, x, rtol=0, atol=1e-5 if spec != "muon" else 1e-4)
    context.destroy()


def test_a_failed_factorization_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three tensors, the last one fails: one before it was made, and one has no factorization in this step."""
    numpy_lapack(monkeypatch)
    (tmp_path / "solving.opt").write_text(
        'optimizer Solving\n\nrequire rank == 2 "for matrices"\n\nstate A: rows x rows = 0\n\n'
        "update:\n  A' = A + g@g^T\n  w' = w - lr*solve(A', g)\n"
    )
    build(tmp_path, str(tmp_path / "solving.opt"), "--cpu", "native", "--name", "own")
    own, rng = CLibrary(tmp_path, "own").spec("solving"), np.random.default_rng(0)
    weights, grads = ([rng.normal(size=(3, 4)).astype(np.float32) for _ in range(3)] for _ in range(2))
    hyper = own.hyper()
    context = Context(own, weights, grads, {}, hyper)
    context.step(hyper)

    def everything() -> list[bytes]:
        return [*(w.tobytes() for w in weights), *(context.state(i, "A") for i in range(3)), bytes(context.counts())]

    before = everything()
    grads[2][1, 1] = np.nan
    assert own.call("step", context.address, ctypes.byref(hyper)) == NO_FACTORIZATION
    assert "tensors[2].grad has a NaN or an infinity" in own.library.error()
    assert everything() == before
    grads[2][...] = 0
    place, count = ADDRESS(), ctypes.c_int64()
    own.must("state", context.address, ctypes.c_int64(2), b"A", ctypes.byref(place), ctypes.byref(count))
    ctypes.memset(place.value or 0, 0, count.value)
    before = everything()
    assert own.call("step", context.address, ctypes.byref(hyper)) == NO_FACTORIZATION
    assert own.library.error() == "solving: tensors[2]: solve: the matrix of 3 x 3 is singular; nothing was updated"
    assert everything() == before
    context.destroy()
