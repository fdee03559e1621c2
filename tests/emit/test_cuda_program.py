"""The other embedding on a GPU: a C program with a generated header and the host's part fills in the table and says
what to launch; the PTX interpreter launches it. The bits are those of the CPU's kernels in Python."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import optgen
from optgen.backends.gpu.nvidia import WIDTH
from optgen.backends.gpu.table import AREAS, COLUMNS, Counts, Launch, N, TableLayout, Unit
from optgen.cli import main
from tests.cuda.built_steps import BATCH
from tests.cuda.ptx import Memory, Module

CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-missing-field-initializers", "-shared", "-fPIC"]

SPEC = """\
optimizer Odd "states of the host, of elements and of rows"

state m = 0
state r: row = 0
state k: host = 0

update:
  k' = k + lr
  r' = r + mean(g, per row)
  m' = k'*m + g - r'
  w' = w - lr*m'/(1 + norm(m'))
"""
SHAPES = ((5,), (70, 131), (1, 9000))
STEPS = 3
LR, RESCALE = 0.01, 0.5

STEP = """\
#include <stdlib.h>
#include <string.h>
#include "@_cuda.h"

/* Stand-ins for cuMemAlloc and cuLaunchKernel; the memory of this GPU can be reached from here. */
typedef void *(*allocate)(int64_t bytes);
typedef void (*launch)(const char *name, int64_t blocks, int64_t threads, void *table);

void run(int64_t n, const int64_t *size, const int64_t *cols, void **buffers, const double *hyper, int64_t steps,
         allocate gpu_allocate, launch gpu_launch)
{
    const optgen_kernel *kernel = &@_cuda;
    const int64_t words = optgen_table_words(kernel, n);
    int64_t *image = calloc(words, 8), *t = calloc(n, 8), i, k;
    void *table = gpu_allocate(8 * words);
    optgen_step step = {.n = n, .size = size, .buffers = buffers, .t = t, .hyper = hyper, .cols = cols};
    step.workspace = (double *)(image + optgen_table_values(kernel, n));
    image[OPTGEN_N] = n;
    for (i = 0; i < n; i++) {
        image[optgen_table_column(n, OPTGEN_COLUMN_SIZE) + i] = size[i];
        image[optgen_table_column(n, OPTGEN_COLUMN_ROWS) + i] = size[i] / cols[i];
        image[optgen_table_column(n, OPTGEN_COLUMN_COLS) + i] = cols[i];
        image[optgen_table_column(n, OPTGEN_COLUMN_BLOCKS) + i] = optgen_parts(size[i], OPTGEN_BLOCK);
        image[optgen_table_column(n, OPTGEN_COLUMN_ID) + i] = i;
        for (k = 0; k < @_buffers; k++)
            if (k != @_buffer_k)
                image[optgen_table_pointers(n) + i * @_buffers + k] = (int64_t)buffers[i * @_buffers + k];
    }
    optgen_table_plan(kernel, image, (uint64_t)gpu_allocate(8 * optgen_table_plan(kernel, image, 0)));
    for (k = 0; k < steps; k++) {
        @_host(&step);
        memcpy(image + optgen_table_column(n, OPTGEN_COLUMN_T), t, 8 * n);
        memcpy(table, image, 8 * words);
        for (i = 0; i < kernel->n_launches; i++)
            gpu_launch(kernel->launches[i].name, optgen_table_blocks(kernel, image, i), OPTGEN_THREADS, table);
    }
    free(image);
    free(t);
}
"""


def build(folder: Path, source: str, spec: str) -> tuple[ctypes.CDLL, Path, Any]:
    """A C source for that variant of a spec which has most launches: as a library, beside the folder of products and
    the manifest's entry, with all parameters."""
    assert main(["build", "--kernels", spec, "--target", "cuda", "-o", str(folder)]) == 0
    products = folder / Path(spec).stem
    manifest = json.loads((products / "cuda.json").read_text())
    variant = max(manifest["variants"], key=lambda v: len(v["launches"]))
    program = folder / "program.c"
    program.write_text(source.replace("@", variant["symbol"]))
    objects = [str(program), str(products / variant["files"]["host_object"]), "-I", str(products)]
    assert CC is not None
    subprocess.run([CC, *STRICT, *objects, "-o", str(folder / "program.so")], check=True)
    return ctypes.CDLL(str(folder / "program.so")), products, variant | {"params": manifest["params"]}


class Gpu:
    """What the C program calls: memory, and launches of a module."""

    def __init__(self, ptx: str) -> None:
        self.memory, self.module = Memory(), Module(ptx)
        self.launched: list[str] = []
        self._alive: list[np.ndarray] = []
        self.allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(self._allocate)
        self.launch = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_int64] * 2, ctypes.c_void_p)(self._launch)

    def put(self, array: np.ndarray) -> int:
        self._alive.append(array)
        return self.memory.register(array)

    def _allocate(self, nbytes: int) -> int:
        return self.put(np.full(nbytes // 8 + 1, -1))

    def _launch(self, name: bytes, blocks: int, threads: int, table: int) -> None:
        self.launched.append(name.decode())
        self.module.launch(name.decode(), min(blocks, 3), threads, [table], self.memory)


def tensors() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Parameters and gradients."""
    rng = np.random.default_rng(1)
    weights, grads = ([rng.standard_normal(shape).astype(np.float32) for shape in SHAPES] for _ in range(2))
    return weights, grads


def test_a_c_program_steps_as_the_cpu_does(tmp_path: Path) -> None:
    (tmp_path / "odd.opt").write_text(SPEC)
    library, products, variant = build(tmp_path, STEP, str(tmp_path / "odd.opt"))
    gpu = Gpu((products / variant["files"]["ptx"]).read_text())
    weights, grads = tensors()
    on_host = np.zeros(len(weights))
    rows: list[list[int]] = []
    hyper: list[list[float]] = []
    for i, (w, grad) in enumerate(zip(weights, grads, strict=True)):
        found = {"w": w, "grad": grad, "m": np.zeros_like(w), "r": np.zeros(len(w), np.float32)}
        places = {name: gpu.put(x) for name, x in found.items()} | {"k": on_host[i:].ctypes.data}
        rows.append([places[b["name"]] for b in variant["buffers"]])
        values = {p["name"]: math.nan if p["default"] is None else p["default"] for p in variant["params"]}
        values |= {"lr": LR, "rescale_grad": RESCALE, "size": w.size, "rows": len(w), "cols": w.size // len(w)}
        hyper.append([values[name] for name in variant["hyper"]])
    sizes = np.array([w.size for w in weights])
    given = [sizes, sizes // [len(w) for w in weights], np.array(rows), np.array(hyper).T.copy()]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in given]
    library.run(ctypes.c_int64(len(weights)), *pointers, ctypes.c_int64(STEPS), gpu.allocate, gpu.launch)
    assert gpu.launched == [x["name"] for x in variant["launches"]] * STEPS

    expected, _ = tensors()
    odd = optgen.load(tmp_path / "odd.opt")
    step = odd.bind(expected, grads, odd.init(expected))
    for _ in range(STEPS):
        step(lr=LR, rescale_grad=RESCALE)
    assert [w.tobytes() for w in weights] == [w.tobytes() for w in expected]


TABLE = """\
#include "@_cuda.h"
int64_t words(int64_t n) { return optgen_table_words(&@_cuda, n); }
int64_t plan(int64_t *table) { return optgen_table_plan(&@_cuda, table, 1 << 20); }
int64_t blocks(const int64_t *table, int64_t launch) { return optgen_table_blocks(&@_cuda, table, launch); }
"""
UNITS = {
    "adafactor": {"elements", "blocks", "row blocks", "column tiles", "rows", "cols", "tensor"},
    "prodigy": {"blocks", "tensor", "step"},
    "batch.opt": {"elements", "row blocks", "column tiles", "rows", "cols", "matrices"},
}
DRAWS = {
    "rows": (0, 9000),
    "cols": (1, 9000),
    "size": (0, 1 << 30),
    "by_rows": (0, 2),
    "lead": (0, 4),
    "blocks": (0, 1 << 40),
}
"""From where to where the words of a column are drawn, those of `size` without regard to the others."""


@pytest.mark.parametrize("spec", UNITS)
def test_the_header_plans_as_python_does(spec: str, tmp_path: Path) -> None:
    (tmp_path / "batch.opt").write_text(BATCH)
    library, _, variant = build(tmp_path, TABLE, str(tmp_path / spec) if spec.endswith(".opt") else spec)
    counts = Counts(**variant["counts"])
    launches = [Launch(**{k: v for k, v in x.items() if k != "per_block"}) for x in variant["launches"]]
    assert {x.unit for x in launches} == UNITS[spec]
    assert set().union(*UNITS.values()) == set(get_args(Unit))  # every unit is tried
    places, rng, n = TableLayout(counts, len(launches)), np.random.default_rng(2), 40
    image = np.zeros(places.end.of(n), np.int64)
    image[N] = n
    column = {name: image[places.column(name).of(n) :][:n] for name in COLUMNS}
    column["matrices"] = np.ones(n, np.int64)
    if counts.last_two:
        column["matrices"] = image[places.matrices.of(n) :]
        column["matrices"][:] = rng.integers(1, 5, n)
    for name, (low, high) in DRAWS.items():
        column[name][:] = rng.integers(low, high, n)
    for function in (library.words, library.plan, library.blocks):
        function.restype = ctypes.c_int64
    assert library.words(ctypes.c_int64(n)) == len(image)

    table = ctypes.c_void_p(image.ctypes.data)
    sizes = counts.areas(column).ravel()
    assert library.plan(table) == sizes.sum()
    begin = places.column(AREAS[0]).of(n)
    assert image[begin : begin + len(sizes)].tolist() == ((1 << 20) + 8 * (np.cumsum(sizes) - sizes)).tolist()
    for k, launch in enumerate(launches):
        begin, ends = places.units(k).of(n), np.cumsum(launch.units(column))
        assert image[begin : begin + n + 1].tolist() == [0, *ends]
        assert library.blocks(table, ctypes.c_int64(k)) == -(-ends[-1] // launch.per_block(WIDTH))
