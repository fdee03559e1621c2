"""What entries of the cache are told apart by: everything that their content depends on.

A home folder may be shared by machines whose CPUs differ, and by installations of different versions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import optgen
from optgen import pipeline
from optgen.backends import target
from optgen.backends.gpu.nvidia import OLDEST, Nvidia
from optgen.diagnostics import Source
from optgen.execute.cpu import chain, sequence
from optgen.ir import Variant
from optgen.loops import code
from optgen.objectcode import c_functions, cache, link
from optgen.stages.plan import KernelStage

TEXT = """\
optimizer Kept
flag fast = false
state m = 0
update:
  m' = 0.9*m + g
  w' = w - lr*m' if fast
  w' = w - 0.1*lr*m' otherwise
eval:
  w' = w - m
"""
SPEC, MUON = optgen.parse(TEXT), optgen.load("muon").spec
PLAIN, MATRIX = Variant({"fast": False}), optgen.load("muon").variant((8, 4))
SECTIONS = [s for s in pipeline.stages(MUON, MATRIX, (), first=False).walk() if isinstance(s, KernelStage)]
NEWER = Nvidia(Nvidia.architectures[1])
FUNCTION = "define void @f() { ret void }"
OTHER: dict[str, dict[str, Any]] = {
    "flags": {"flags": {"fast": True}},
    "dtype": {"dtype": "float64"},
    "master": {"dtype": "bfloat16", "master": True},
    "storage": {"storage": {"m": "bfloat16"}},
    "evaluate": {"evaluate": True},
    "gradients": {"gradients": 2},
    "scaled": {"scaled": True},
    "by_row": {"by_row": True},
    "boxes": {"boxes": True},
    "donated": {"donated": True},
    "sizes": {"sizes": {"k": 2}},
    "matmul": {"matmul": "bfloat16"},
    "weights": {"dtype": "bfloat16", "weights": "kahan"},
}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was to be compiled, as it was not in the cache, which is empty at first. Nothing is."""
    notes: list[str] = []

    def compiled(text: str, *_: Any) -> Any:
        notes.append(text)
        return SimpleNamespace(object=b"code")

    def ptx(text: str, *_: Any) -> Any:
        notes.append(text)
        return SimpleNamespace(assembly="PTX")

    monkeypatch.setattr(target, "compile_ir", compiled)
    monkeypatch.setattr(target, "compile_gpu", ptx)
    monkeypatch.setattr(link, "link", lambda *_, **__: {})
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path))
    return notes


def cpu() -> pipeline.CpuBackend:
    return pipeline.CpuBackend(target.host())


def gpu(chosen: Nvidia) -> pipeline.GpuBackend:
    return pipeline.GpuBackend(chosen, target.host())


def everything() -> None:
    """One of each that is compiled: a kernel, a section of one, both for GPUs, a loop, and functions in C."""
    section, *_ = SECTIONS
    for backend in (cpu(), gpu(OLDEST)):
        pipeline.code(backend, SPEC, PLAIN)
        pipeline.code(backend, MUON, MATRIX, section, 0)
    pipeline.code(pipeline.PrologueBackend(OLDEST), SPEC, PLAIN)
    code.build(FUNCTION)
    c_functions.load(chain.__file__, "optgen_chain_run")


def of_host(change: Callable[[target.CpuTarget], target.CpuTarget]) -> tuple[Any, str, Callable[[], Any]]:
    host = change(target.host())
    return target, "host", lambda: host


MACHINES = {
    "the features of the CPU": of_host(lambda host: replace(host, features="")),
    "the name of the CPU": of_host(lambda host: replace(host, cpu="generic")),
    "the triple": of_host(lambda host: replace(host, triple=f"{host.triple.partition('-')[0]}-other-linux-gnu")),
    "LLVM": (target, "llvm_version", lambda: "0.0.0"),
    "the compiler": (cache, "compiler_hash", lambda: "another"),
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_no_code_is_taken_from_another(
    machine: tuple[Any, str, Callable[[], Any]], made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine or installation: nothing of what one has compiled is loaded where the other runs, and neither compiles
    anything twice."""
    everything()
    first = len(made)
    with monkeypatch.context() as patch:
        patch.setattr(*machine)
        everything()
        assert len(made) == 2 * first > 0
        everything()
    everything()
    assert len(made) == 2 * first


def test_no_code_is_taken_from_another_variant(made: list[str]) -> None:
    """Or spec, or section of one, or architecture of a GPU."""
    assert set(OTHER) == {field.name for field in fields(Variant)}
    variants = [PLAIN, *(replace(PLAIN, **other) for other in OTHER.values())]
    calls = [
        *(lambda v=v: pipeline.code(cpu(), SPEC, v) for v in variants),
        lambda: pipeline.code(cpu(), optgen.parse(TEXT.replace("0.9", "0.8")), PLAIN),
        *(lambda n=n: pipeline.code(cpu(), MUON, MATRIX, SECTIONS[0], n) for n in (0, 1)),  # of other names
        *(lambda s=s: pipeline.code(cpu(), MUON, MATRIX, s, 0) for s in SECTIONS[1:]),
        *(lambda s=s: pipeline.code(gpu(OLDEST), MUON, MATRIX, s, 0) for s in SECTIONS),
        lambda: pipeline.code(gpu(NEWER), MUON, MATRIX, SECTIONS[0], 0),
        *(lambda x=x: pipeline.code(gpu(x), SPEC, PLAIN) for x in (OLDEST, NEWER)),
        *(lambda x=x: pipeline.code(pipeline.PrologueBackend(x), SPEC, PLAIN) for x in (OLDEST, NEWER)),
        *(lambda passes=passes: code.build(FUNCTION, passes) for passes in ("all", "registers", "none")),
        lambda: code.build(FUNCTION.replace("@f", "@g")),
        *(lambda f=f: c_functions.load(f.__file__) for f in (chain, sequence)),
    ]
    for call in calls:
        before = len(made)
        call()
        assert len(made) > before
    before = len(made)
    for call in calls:
        call()
    assert len(made) == before


def test_no_model_is_taken_from_another_text(made: list[str]) -> None:
    """Or from a file of another name, which errors and warnings show."""
    texts = [Source(name, text) for name in ("a.opt", "b.opt") for text in (TEXT, TEXT.replace("0.9", "0.8"))]
    for _ in range(2):
        assert [pipeline.checked(source).source for source in texts] == texts
    assert not made


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert len({cache.key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""))}) == 4


def test_an_edited_compiler_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever source of it: also one that keeps its size and its time, one that is new, and one in a new place."""
    (tmp_path / "lang").mkdir()
    (tmp_path / "objectcode").mkdir()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "objectcode" / "cache.py"))
    names = ("api.py", "lang/grammar.py", "objectcode/pool.c", "objectcode/pool.ll")
    for name in names:
        (tmp_path / name).write_text("old")
    found = [cache.compiler_hash.__wrapped__()]

    def is_new() -> bool:
        found.append(cache.compiler_hash.__wrapped__())
        return len(set(found)) == len(found)

    for name in names:
        path = tmp_path / name
        before = path.stat()
        while path.stat().st_ctime_ns == before.st_ctime_ns:  # on many systems that time moves in steps of 4 ms
            path.write_text("new")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert is_new(), name
    (tmp_path / "api.py").rename(tmp_path / "lang" / "api.py")
    assert is_new()
    (tmp_path / "lang" / "more.py").write_text("")
    assert is_new()
    (tmp_path / "lang" / "notes.txt").write_text("no source")
    assert not is_new()
