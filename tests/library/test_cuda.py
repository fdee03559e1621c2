"""Libraries in C for GPUs come to the bits of Python's steps on the CPU. Their driver is a stand-in, and the PTX
interpreter runs what they launch."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen.backends.gpu.table import COLUMNS, HEAD
from optgen.cli.library import prefix_of
from optgen.execute.buffers import numpy_dtype
from optgen.execute.cuda.driver import count
from tests.library.c_library import ADDRESS, Array, CLibrary, Context, build, compiled
from tests.library.gpu import StandIn
from tests.library.trajectory import GPU_CASES, compare
from tests.process import run

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
BAD_SHAPE, NO_GPU = 4, 12
SHAPES: list[tuple[int, ...]] = [(37,), (7, 10), (3, 4, 5), (), (4500,), (0, 4)]
STEPS = 20
CASES = [*GPU_CASES, ("schedulefree_adamw", ())]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize(("spec", "arguments"), CASES, ids=[" ".join([spec, *more]) for spec, more in CASES])
def test_a_context_steps_as_python_does_on_the_cpu(
    spec: str, arguments: tuple[str, ...], driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, spec, "--target", "cuda", "--cpu", "native", "--name", "own", *arguments)
    own, before = CLibrary(tmp_path, "own").spec(f"{prefix_of(spec)}_cuda"), driver.alive()
    compare(own, spec, arguments, SHAPES, STEPS, tmp_path, driver.array, finish=driver.finish)
    assert driver.launches
    assert driver.alive()[1:] == before[1:]


SPEC = """\
optimizer Mine "several launches, and a state of the host"
state k: host = 0
state m = w
update:
  k' = k + 1
  m' = 0.9*m + g
  w' = w - lr*k'*m'/norm(m')
"""


def test_errors_are_told_and_leave_nothing(driver: StandIn, tmp_path: Path) -> None:
    (tmp_path / "mine.opt").write_text(SPEC)
    build(tmp_path, str(tmp_path / "mine.opt"), "--target", "cuda", "--cpu", "native")
    more = [f'-DOPTGEN_LIBCUDA="{driver.path}"', "-ldl"]
    done = run([compiled(tmp_path, HERE / "bad_gpu_calls.c", "mine_cuda", more), str(tmp_path)], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("calls, all as they should be")


LOOP = """\
optimizer Looped "kernels with a loop between them, and a state of the host, which the first one writes"
state k: host = 0
update:
  k' = k + 1
  z  = k'*g
  repeat 3:
    z' = z/norm(z) + w
  end
  w' = w - lr*z'
"""


def test_errors_in_a_loop(driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of several kernels that is refused says that a part of it was launched only if it was, and its state of
    the host is the one before the step, wherever in the step the error is."""
    monkeypatch.setenv("CC", driver.compiler)
    (tmp_path / "looped.opt").write_text(LOOP)
    build(tmp_path, str(tmp_path / "looped.opt"), "--target", "cuda", "--cpu", "native")
    own = CLibrary(tmp_path, "looped_cuda").spec("looped_cuda")
    weight, hyper = driver.array(np.ones(50, np.float32)), own.hyper()
    context = Context(own, [weight], [driver.array(np.ones(50, np.float32))], {}, hyper)
    driver.launches.clear()
    context.step(hyper)
    driver.finish()
    before, state, each = weight.copy(), context.state(0, "k"), len(driver.launches)
    assert each > 4

    def refused() -> str:
        assert own.call("step", context.address, ctypes.byref(hyper)) != 0
        assert context.state(0, "k") == state and context.counts() == [1]
        return own.library.error()

    driver.code.capture(1)
    text = refused()
    driver.code.capture(0)
    assert "is being captured" in text and "launched" not in text
    with driver.refusing("cuLaunchKernel"):
        assert "launched before" not in refused()
    driver.finish()
    assert weight.tobytes() == before.tobytes()
    for after in range(1, each):
        driver.launches.clear()
        with driver.refusing("cuLaunchKernel", after):
            assert "(719); a part of this step was launched before" in refused()
        assert len(driver.launches) == after  # they are done, so that the next step can have their table's place
    context.destroy()


@pytest.mark.parametrize(("spec", "settings"), [("adam", ()), ("lbfgs", ("--set", "history=3"))])
def test_eight_steps_are_queued(
    spec: str, settings: tuple[str, ...], driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host waits for the oldest step only if eight are queued, and has not changed then what they read."""
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, spec, "--target", "cuda", "--cpu", "native", *settings)
    own = CLibrary(tmp_path, f"{spec}_cuda").spec(f"{spec}_cuda")
    w, g = np.random.default_rng(0).normal(size=(2, 2, 40)).astype(np.float32)
    found, other = driver.array(w), w.copy()
    history = {"history": 3} if settings else {}
    bound = optgen.load(spec, **history).bind([other], [g])
    context = Context(own, [found], [driver.array(g)], {}, own.hyper())
    driver.launches.clear()
    waited, each = driver.code.steps_waited_for(), 0
    for number in range(20):
        context.step(own.hyper(lr=1 / (2 + number)))
        bound(lr=1 / (2 + number))
        assert driver.code.steps_waited_for() - waited == max(0, number - 7)
        each = len(driver.launches) if number == 8 else each
        assert len(driver.launches) == max(0, number - 7) * each
    driver.finish()
    assert len(driver.launches) == 20 * each > 0 and found.tobytes() == other.tobytes()
    context.destroy()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_at_any_place_have_vectors(
    dtype: str, driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accesses are of 16 bytes where the gradient lies in them as the weight does, and begin before the tensor."""
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, "adam", "--target", "cuda", "--cpu", "native", "--dtype", dtype)
    own, apart = CLibrary(tmp_path, "adam_cuda").spec("adam_cuda"), 16 // numpy_dtype(dtype).itemsize
    places = [(0, 0), (1, 1), (apart - 1, apart - 1), (apart, 0), (apart + 2, 2), (0, 1), (3, 2)]
    n, size = len(places), 700
    values = np.random.default_rng(0).normal(size=(2, n, size)).astype(numpy_dtype(dtype))

    def placed(x: Array, place: int) -> Array:
        found = driver.array(np.zeros(size + place, x.dtype))[place:]
        found[...] = x
        return found

    weights, grads = ([placed(x[i], at[k]) for i, at in enumerate(places)] for k, x in enumerate(values))
    context, others = Context(own, weights, grads, {}, own.hyper()), list(values[0])
    context.step(own.hyper())
    driver.finish()
    optgen.load("adam", dtype).bind(others, list(values[1]))()
    assert [w.tobytes() for w in weights] == [w.tobytes() for w in others]
    table = (ctypes.c_int64 * (HEAD + n * len(COLUMNS))).from_address(driver.tables[-1])
    lead, vectors = (table[HEAD + n * COLUMNS.index(x) :][:n] for x in ("lead", "vectors"))
    assert vectors == [int((a - b) % apart == 0) for a, b in places]
    assert lead == [a % apart if (a - b) % apart == 0 else 0 for a, b in places]
    context.destroy()


BOTH = """\
#include "adam.h"
#include "adam_cuda.h"
int main(void)
{
    adam_context *context;
    const adam_options options = adam_options_defaults();
    const adam_hyper hyper = adam_hyper_defaults();
    const adam_cuda_options others = adam_cuda_options_defaults();
    const adam_cuda_hyper other = adam_cuda_hyper_defaults();
    const int status = adam_create(&context, 0, 0, &options, &hyper) || adam_destroy(context);
    int64_t bytes;
    return status || adam_cuda_memory_bytes(&bytes, 0, 0, &others, &other) || !adam_cpu() || !adam_cuda_cpu();
}
"""


def test_a_program_has_both_libraries_and_the_same_files(
    driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, "adam", "--cpu", "native")
    build(tmp_path, "adam", "--target", "cuda", "--cpu", "native")
    (tmp_path / "both.c").write_text(BOTH)
    libraries = [str(tmp_path / "libadam.a"), str(tmp_path / "libadam_cuda.a"), "-ldl", "-lm", "-pthread"]
    command = ["cc", str(tmp_path / "both.c"), "-I", str(tmp_path), *libraries, "-o", str(tmp_path / "both")]
    subprocess.run(command, check=True)
    assert run([str(tmp_path / "both")], timeout=60).returncode == 0
    specs = [CLibrary(tmp_path, name).spec(name) for name in ("adam", "adam_cuda")]
    rng, files = np.random.default_rng(0), [tmp_path / "cpu", tmp_path / "gpu"]
    w, g = (rng.normal(size=(2, 5, 30)).astype(np.float32) for _ in range(2))
    hypers = [spec.hyper(lr=0.1) for spec in specs]
    contexts = [
        Context(spec, list(map(place, w)), list(map(place, g)), {}, hyper)
        for spec, place, hyper in zip(specs, (np.copy, driver.array), hypers, strict=True)
    ]
    for spec, context, hyper, file in zip(specs, contexts, hypers, files, strict=True):
        context.step(hyper)
        spec.must("save", context.address, str(file).encode())
    assert files[0].read_bytes() == files[1].read_bytes()
    for spec, context, file in zip(specs, contexts, reversed(files), strict=True):
        spec.must("load", context.address, str(file).encode())
        context.destroy()


def test_without_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"cc -DOPTGEN_LIBCUDA='\"{tmp_path}/none.so\"'")
    build(tmp_path, "adam", "--target", "cuda", "--cpu", "native")
    own = CLibrary(tmp_path, "adam_cuda").spec("adam_cuda")
    lengths = (ctypes.c_int64 * 1)(1000)
    tensor, hyper = own.Tensor(None, None, ctypes.addressof(lengths), 1), own.hyper()
    given = (ctypes.byref(tensor), ctypes.c_int64(1), ctypes.byref(own.options()), ctypes.byref(hyper))
    own.must("memory_bytes", ctypes.byref(needed := ctypes.c_int64()), *given)
    assert 8000 < needed.value < 20_000
    none = (None, ctypes.c_int64(0), *given[2:])
    assert own.call("create", ctypes.byref(ADDRESS()), *none) == NO_GPU
    assert "there is no driver of NVIDIA here" in own.library.error()


def test_more_elements_than_a_kernel_can_have(tmp_path: Path) -> None:
    build(tmp_path, "adam", "--target", "cuda", "--cpu", "native")
    own = CLibrary(tmp_path, "adam_cuda").spec("adam_cuda")
    lengths = (ctypes.c_int64 * 1)(2**44)
    tensors = (own.Tensor * 2)(*[(None, None, ctypes.addressof(lengths), 1)] * 2)
    given = (ctypes.byref(tensors), ctypes.c_int64(2), ctypes.byref(own.options()), ctypes.byref(own.hyper()))
    assert own.call("memory_bytes", ctypes.byref(ctypes.c_int64()), *given) == BAD_SHAPE
    assert "tensors[1] and those before it have more elements than one kernel can have" in own.library.error()


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
def test_binary_code_and_newer_gpus(driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the GPU does not take the binary code, it takes the PTX; an older one takes neither."""
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, "adam", "--target", "cuda", "--arch", "sm_80", "--cubin", "--cpu", "native")
    (cubin,) = (tmp_path / "kernels").glob("*.cubin")
    assert cubin.read_bytes().startswith(b"\x7fELF") and ".target sm_80\n" in cubin.with_suffix(".ptx").read_text()
    own = CLibrary(tmp_path, "adam_cuda").spec("adam_cuda")
    hyper = own.hyper()
    w, g = (np.linspace(x, 1, 50, dtype=np.float32) for x in (0, -1))
    found, other = driver.array(w, 1), w.copy()
    context = Context(own, [found], [driver.array(g, 1)], {}, hyper, device=1)
    context.step(hyper)
    context.destroy()  # which waits for it
    optgen.load("adam").bind([other], [g])()
    assert found.tobytes() == other.tobytes()
    with pytest.raises(AssertionError, match=r"compute capability 7\.5, and this library is for 8\.0 and later"):
        Context(own, [found], [found], {}, hyper, device=0)


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")


@needs_nvcc
def test_the_driver_is_declared_as_nvidia_does(tmp_path: Path) -> None:
    text = (ROOT / "optgen" / "library" / "driver.c").read_text()
    (functions,) = re.findall(r"^#define FUNCTIONS_OF_DRIVER\(F\).*?[^\\]$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "own.cu").write_text((HERE / "signatures.cu").read_text().replace("@FUNCTIONS@", functions))
    done = run(["nvcc", "-std=c++17", "-c", "own.cu", "-o", "own.o"], timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-500:]


@needs_nvcc
def test_the_example_goes_with_the_runtime_api(tmp_path: Path) -> None:
    """It is compiled and linked as docs/embedding.md says, and prints the same where there is a GPU."""
    build(tmp_path / "adam_cuda", "adam", "--target", "cuda")
    shutil.copy(ROOT / "examples" / "embed" / "plane.cu", tmp_path)
    (command,) = re.findall(r"^    (nvcc plane\.cu .*)$", (ROOT / "docs" / "embedding.md").read_text(), re.MULTILINE)
    done = run(command.split(), timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run([str(tmp_path / "plane_cuda")], timeout=60, cwd=tmp_path)
    if count():
        assert done.stdout == "2.000 -3.000 1.000, loss 0.000000\n"
    else:
        assert done.returncode == 1 and done.stderr
