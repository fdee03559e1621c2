"""Libraries in C for WebAssembly come to the bits of Python, and refuse what others do; in Node's WASI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.library.c_library import build
from tests.library.many_steps import LIBRARIES, SOURCE, expected, libraries
from tests.library.test_calls import HERE, SPEC
from tests.process import run

CLANG = "clang --target=wasm32-wasi"
RUN = """\
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [program, ...more] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [program, ...more], preopens: more.length ? { '.': '.' } : {} });
const module = await WebAssembly.compile(readFileSync(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
"""
"""Runs a program. It sees the files of this folder if it has arguments, and otherwise none."""
NO_FILES = """\
#include <stdio.h>
#include "both.h"

int main(void)
{
    float data[2] = {1, 2}, grad[2] = {1, 1};
    const int64_t shape[1] = {2}, larger[1] = {1 << 29};
    const adam_tensor tensor = {data, grad, shape, 1}, large = {data, grad, larger, 1};
    const adam_tensor many[9] = {large, large, large, large, large, large, large, large, large};
    const adam_options options = adam_options_defaults();
    const adam_hyper hyper = adam_hyper_defaults();
    adam_context *context = NULL;
    int64_t bytes = 0;
    if (adam_memory_bytes(&bytes, many, 9, &options, &hyper) || bytes < 9 * INT64_C(4294967296))
        return 1;
    if (adam_create(&context, &tensor, 1, &options, &hyper) || adam_load(context, "states") != OPTGEN_BAD_FILE)
        return 2;
    if (adam_save(context, "states") != OPTGEN_BAD_FILE)
        return 3;
    puts(both_error());
    return 0;
}
"""
"""What is needed may be more than there can be, and where there are no files none is written."""
pytestmark = pytest.mark.stress


def do(folder: Path, *command: str) -> str:
    done = run(["sh", "-c", " ".join(command)], timeout=300, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr.strip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    missing = [x for x in ("clang", "wasm-ld", "llvm-ar", "node") if shutil.which(x) is None]
    (tmp_path / "nothing.c").write_text('#include <stdio.h>\nint main(void) { return puts("") < 0; }\n')
    if missing or run([*CLANG.split(), "nothing.c", "-o", "nothing"], timeout=60, cwd=tmp_path).returncode:
        pytest.skip(f"not installed: {', '.join(missing) or 'the C library of WASI'}")
    (tmp_path / "run.mjs").write_text(RUN)
    monkeypatch.setenv("CC", CLANG)
    return tmp_path


@pytest.mark.parametrize("cpu", ["generic", "simd128"])
def test_wasm_comes_to_the_same_bits(cpu: str, folder: Path) -> None:
    libraries(folder, "--triple", "wasm32-wasi", "--cpu", cpu)
    archives = " ".join(f"lib{x}.a" for x in LIBRARIES)
    do(folder, f"{CLANG} -std=c11 -O1 -Wall -Wextra -Werror {SOURCE} -I . {archives} -lm -o many.wasm")
    assert do(folder, "node --no-warnings run.mjs many.wasm > printed") == cpu
    assert (folder / "printed").read_bytes() == expected()


def test_bad_calls_and_files_are_refused_in_words(folder: Path) -> None:
    (folder / "mine.opt").write_text(SPEC)
    (folder / "no_files.c").write_text(NO_FILES)
    build(folder, str(folder / "mine.opt"), "adam", "--name", "both", "--triple", "wasm32-wasi")
    for source in (HERE / "bad_calls.c", HERE / "damaged_files.c"):
        strict = "-std=c11 -O1 -Wall -Wextra -Werror -Wno-unused-function -pedantic"
        do(folder, f"{CLANG} {strict} {source} both.c kernels/*.o -I . -lm -o {source.stem}.wasm")
    do(folder, f"{CLANG} no_files.c -I . libboth.a -lm -o no_files.wasm")
    do(folder, "node --no-warnings run.mjs no_files.wasm > printed")
    assert "cannot be written" in (folder / "printed").read_text()
    do(folder, "node --no-warnings run.mjs bad_calls.wasm > printed")
    assert "calls, all as they should be" in (folder / "printed").read_text()
    do(folder, "node --no-warnings run.mjs damaged_files.wasm . > printed")
    assert 0 < int((folder / "printed").read_text().split()[0]) < 3000
    assert not [x for x in os.listdir(folder) if x.endswith(".new")]
