"""The other embedding: a C program linked with a generated object file gives the bits that Python gives."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen.backends.step_struct import STEP_FIELDS
from optgen.cli import main
from optgen.emit.header import STEP
from optgen.execute.kernel import StepStruct

CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")

SIZES = (5, 9000)
STEPS = 3

PROGRAM = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "@.h"

/* A pool of one thread that takes the work in seven parts, the last one first. */
static void backwards(void *pool, optgen_task task, const void *step, int64_t elements)
{
    for (int part = 6; part >= 0; part--)
        task(step, part, 7);
    *(int64_t *)pool += elements;
}

int main(int argc, char **argv)
{
    const int64_t size[2] = {5, 9000}, cols[2] = {1, 90};
    void *buffers[2][@_buffers];
    double hyper[@_hypers][2];
    int64_t t[2] = {0, 0}, pooled = 0;
    (void)argv;
    for (int i = 0; i < 2; i++) {
        for (int b = 0; b < @_buffers; b++)
            buffers[i][b] = calloc(size[i], sizeof(float));
        float *w = buffers[i][@_buffer_w], *grad = buffers[i][@_buffer_grad];
        for (int64_t k = 0; k < size[i]; k++) {
            w[k] = (float)(k % 17) * 0.125f - 1;
            grad[k] = (float)(k % 23) * 0.25f - 2;
        }
        hyper[@_hyper_lr][i] = i == 0 ? 0.01 : 0.002;
        hyper[@_hyper_beta1][i] = 0.9;
        hyper[@_hyper_beta2][i] = 0.999;
        hyper[@_hyper_epsilon][i] = 1e-8;
        hyper[@_hyper_wd][i] = 0.01;
        hyper[@_hyper_rescale_grad][i] = 0.5;
        hyper[@_hyper_clip_gradient][i] = NAN;
    }
    optgen_step step = {.n = 2, .size = size, .buffers = &buffers[0][0], .t = t, .hyper = &hyper[0][0], .cols = cols};
    step.workspace = malloc((@_workspace(&step) + 1) * sizeof(double));
    if (argc > 1) {
        step.parallel = backwards;
        step.pool = &pooled;
    }
    for (int k = 0; k < 3; k++)
        @(&step);
    if (t[0] != 3 || t[1] != 3 || pooled != (argc > 1 ? 3 * 9005 : 0))
        return 1;
    for (int i = 0; i < 2; i++)
        fwrite(buffers[i][@_buffer_w], sizeof(float), size[i], stdout);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled against what `optgen build --kernels adam` wrote."""
    folder = tmp_path_factory.mktemp("generated")
    assert main(["build", "--kernels", "adam", "-o", str(folder)]) == 0
    source = folder / "step.c"
    source.write_text(PROGRAM.replace("@", "optgen_adam_f32"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-missing-field-initializers"]
    objects = [str(source), str(folder / "adam" / "optgen_adam_f32.o"), "-I", str(folder / "adam")]
    assert CC is not None
    subprocess.run([CC, *strict, *objects, "-o", str(folder / "step")], check=True)
    return folder / "step"


def expected() -> bytes:
    params = [((np.arange(n) % 17) * 0.125 - 1).astype(np.float32) for n in SIZES]
    grads = [((np.arange(n) % 23) * 0.25 - 2).astype(np.float32) for n in SIZES]
    adam = optgen.load("adam")
    step = adam.bind(params, grads, adam.init(params))
    for _ in range(STEPS):
        step(lr=[0.01, 0.002], wd=0.01, rescale_grad=0.5)
    return b"".join(p.tobytes() for p in params)


@pytest.mark.parametrize("arguments", [[], ["pool"]])
def test_a_c_program_steps_as_python_does(program: Path, arguments: list[str]) -> None:
    run = subprocess.run([str(program), *arguments], capture_output=True, check=True)
    assert run.stdout == expected()


def test_c_ctypes_and_modules_agree_on_the_step(tmp_path: Path) -> None:
    """Field k of the list is at byte 8*k, where modules load it."""
    offsets = {field.name: 8 * k for k, field in enumerate(STEP_FIELDS)}
    assert {name: getattr(StepStruct, name).offset for name, _ in StepStruct._fields_} == offsets
    checks = [f'_Static_assert(offsetof(optgen_step, {name}) == {k}, "{name}");' for name, k in offsets.items()]
    checks.append(f'_Static_assert(sizeof(optgen_step) == {ctypes.sizeof(StepStruct)}, "size");')
    source = tmp_path / "step.c"
    source.write_text("\n".join(["#include <stddef.h>", "#include <stdint.h>", STEP, *checks]))
    assert CC is not None
    subprocess.run([CC, "-std=c11", "-Wall", "-Werror", "-c", str(source), "-o", str(tmp_path / "step.o")], check=True)


def test_all_headers_go_into_one_program(tmp_path: Path) -> None:
    """Every header twice in one file: names do not clash, guards work."""
    assert main(["build", "--kernels", "sgd", "rmsprop", "--all", "-o", str(tmp_path)]) == 0
    headers = sorted(tmp_path.glob("*/*.h"))
    assert len(headers) == 4
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "{path}"\n' for path in headers * 2) + "int main(void) { return 0; }\n")
    assert CC is not None
    subprocess.run([CC, "-Wall", "-Wextra", "-Werror", "-c", str(source), "-o", str(tmp_path / "all.o")], check=True)


STILL = """\
optimizer Still "no element is read or written"
state k: host = 1
update:
  k' = k + 0.5*t
  w' = w
"""
STILL_PROGRAM = """\
#include <stdlib.h>
#include "still/optgen_still_f32.h"
#include "still/optgen_still_f32_cuda.h"

int main(void)
{
    const int64_t size[1] = {2}, cols[1] = {1};
    float w[2] = {1, 2}, grad[2] = {3, 4};
    double k = 1;
    void *buffers[optgen_still_f32_buffers] = {w, grad, &k};
    int64_t t[1] = {0};
    optgen_step step = {.n = 1, .size = size, .buffers = buffers, .t = t, .cols = cols};
    step.workspace = malloc((optgen_still_f32_workspace(&step) + 1) * sizeof(double));
    optgen_still_f32(&step);
    optgen_still_f32_host(&step);
    return !(optgen_still_f32_cuda.n_launches == 0 && w[0] == 1 && w[1] == 2 && k == 2.5 && t[0] == 2);
}
"""


def test_a_step_that_only_the_host_takes(tmp_path: Path) -> None:
    """Neither a sweep nor a launch: headers and objects of both targets are whole all the same."""
    (tmp_path / "still.opt").write_text(STILL)
    for line in ([], ["--target", "cuda"]):
        assert main(["build", "--kernels", str(tmp_path / "still.opt"), *line, "-o", str(tmp_path)]) == 0
    source = tmp_path / "step.c"
    source.write_text(STILL_PROGRAM)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-missing-field-initializers"]
    objects = [str(source), *map(str, tmp_path.glob("still/*.o"))]
    assert CC is not None
    subprocess.run([CC, *strict, *objects, "-o", str(tmp_path / "step")], check=True)
    assert subprocess.run([str(tmp_path / "step")]).returncode == 0
