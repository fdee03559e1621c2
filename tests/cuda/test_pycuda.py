"""`optgen.pycuda`: steps of kernels that `optgen build` wrote, launched by PyCUDA alone, have the bits of the CPU.
PyCUDA is a stand-in, and the PTX interpreter the GPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from optgen import pipeline
from optgen.emit.manifest_json import digest
from optgen.execute.cuda import driver
from tests.cuda import built_steps, standin_pycuda
from tests.cuda.built_steps import CASES, build
from tests.cuda.standin_pycuda import Context


@pytest.fixture
def context() -> Iterator[Context]:
    with standin_pycuda.installed() as found:
        yield found


@pytest.fixture(scope="module")
def adam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("adam", tmp_path_factory.mktemp("built"))


@pytest.fixture
def gpuarray(context: Context) -> ModuleType:
    return sys.modules["pycuda.gpuarray"]


@pytest.mark.parametrize("name", CASES)
def test_built_kernels_have_the_bits_of_the_cpu(name: str, context: Context, tmp_path: Path) -> None:
    stream = standin_pycuda.Stream()
    built_steps.check(CASES[name], tmp_path, stream)
    assert "cuLaunchKernel" in stream.work and "cuMemcpyHtoDAsync" in stream.work


def test_every_unit_of_work_is_launched(context: Context, tmp_path: Path) -> None:
    """By the cases above, of which these have the most."""
    units = set()
    for name in ("elements", "rows and columns", "matrices", "values of all parameters"):
        manifest = json.loads((build(CASES[name].spec, tmp_path) / "cuda.json").read_text())
        units |= {launch["unit"] for variant in manifest["variants"] for launch in variant["launches"]}
    assert units == {
        *("elements", "blocks", "row blocks", "column tiles", "rows", "cols", "matrices", "tensor", "step")
    }  # fmt: skip


def test_nothing_is_compiled_and_only_pycuda_is_called(
    adam: Path, gpuarray: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from optgen.pycuda import load_built

    def refuse(*args: Any, **more: Any) -> None:
        raise AssertionError("it was built before")

    for name in ("build", "plan", "lower", "lower_gpu", "lower_host", "code"):
        monkeypatch.setattr(pipeline, name, refuse)
    for name in ("call", "owner", "gpu", "count"):
        monkeypatch.setattr(driver, name, refuse)
    w, g = gpuarray.to_gpu(np.ones(300, np.float32)), gpuarray.to_gpu(np.full(300, 0.5, np.float32))
    step = load_built(adam, lr=0.1).bind([w], [g])
    step()
    assert np.allclose(w.get(), 0.9, atol=1e-6)


def test_states_are_gpuarrays_that_are_kept_and_restored(adam: Path, gpuarray: ModuleType) -> None:
    from optgen.pycuda import load_built

    rule = load_built(adam)
    w, g = gpuarray.to_gpu(np.ones((3, 50), np.float32)), gpuarray.to_gpu(np.full((3, 50), 0.5, np.float32))
    step = rule.bind([w], [g])
    step(lr=0.1)
    (m,) = step.state.arrays["m"]
    assert isinstance(m, gpuarray.GPUArray) and m.get().shape == (3, 50)
    kept = {name: arrays[0].get() for name, arrays in step.state.arrays.items()}, step.state.t.copy(), w.get()
    step(lr=0.1)
    after = w.get()
    for name, array in kept[0].items():
        step.state.arrays[name][0].set(array)
    step.state.t[:] = kept[1]
    w.set(kept[2])
    step(lr=0.1)
    assert step.state.t.tolist() == [2] and w.get().tobytes() == after.tobytes()
    again = rule.bind([w], [g], step.state)  # the same state, with another step
    again(lr=0.1)
    assert again.state.t.tolist() == [3]


def test_views_and_pieces_of_one_allocation(adam: Path, gpuarray: ModuleType) -> None:
    """Arrays within another one, as pools of memory hand them out, at addresses that are not aligned to 16 bytes."""
    from optgen.pycuda import load_built

    memory = sys.modules["pycuda.driver"].mem_alloc(4 * 4000)
    values = np.random.default_rng(3).standard_normal(4000).astype(np.float32)
    parts = [
        gpuarray.GPUArray((n,), np.float32, base=memory, gpudata=int(memory) + 4 * at)
        for at, n in ((1, 900), (1001, 900), (2002, 700), (3003, 700))
    ]
    for part, at in zip(parts, (1, 1001, 2002, 3003), strict=True):
        part.set(values[at : at + part.size])
    load_built(adam).bind(parts[::2], parts[1::2])(lr=0.1)

    import optgen

    on_cpu = [values[1:901].copy(), values[2002:2702].copy()]
    optgen.load("adam").bind(on_cpu, [values[1001:1901].copy(), values[3003:3703].copy()])(lr=0.1)
    assert [p.get().tobytes() for p in parts[::2]] == [w.tobytes() for w in on_cpu]


# ---------------------------------------------------------------- errors


@pytest.fixture
def arrays(gpuarray: ModuleType) -> Callable[..., Any]:
    def make(shape: tuple[int, ...] = (3, 4), dtype: str = "float32") -> Any:
        return gpuarray.to_gpu(np.ones(shape, dtype))

    return make


BAD_ARRAYS: dict[str, tuple[Callable[[Any, ModuleType], tuple[list[Any], list[Any]]], str]] = {
    "dtype": (
        lambda new, _: ([new(), new(dtype="float64")], [new(), new()]),
        r"params\[1\]: dtype float64, but the kernel takes float32",
    ),
    "gradient's dtype": (
        lambda new, _: ([new()], [new(dtype="float16")]),
        r"grads\[0\]: dtype float16, but the kernel takes float32",
    ),
    "shape": (
        lambda new, _: ([new()], [new((4, 3))]),
        r"grads\[0\]: shape \(4, 3\), but its parameter has \(3, 4\)",
    ),
    "order": (
        lambda new, gpuarray: ([new()], [transposed(new((4, 3)), gpuarray)]),
        r"grads\[0\]: not contiguous \(shape \(3, 4\), strides \(4, 12\)\); pass a C-contiguous copy",
    ),
    "missing gradient": (lambda new, _: ([new(), new()], [new()]), r"grads: 1 tensors for 2 parameters"),
    "no gradient": (lambda new, _: ([new()], [None]), r"grads\[0\]: expected a GPUArray of PyCUDA, not NoneType"),
    "NumPy": (
        lambda new, _: ([np.ones((3, 4), np.float32)], [new()]),
        r"params\[0\]: in the memory of the CPU; pycuda.gpuarray.to_gpu makes a GPUArray of it",
    ),
    "overlap": (
        lambda new, _: ([x := new(), x], [new(), new()]),
        r"params\[0\] and params\[1\] share memory",
    ),
    "freed": (
        lambda new, _: [g := new()] and ([freed(new())], [g]),
        r"params\[0\]: its 48 bytes at 0x\w+ are not in memory of the current context; it was freed, or belongs to",
    ),
    "too short": (
        lambda new, gpuarray: ([gpuarray.GPUArray((100,), np.float32, gpudata=(x := new()).gpudata, base=x)], [x]),
        r"params\[0\]: its 400 bytes at 0x\w+ are not in memory of the current context",
    ),
}  # fmt: skip


def transposed(array: Any, gpuarray: ModuleType) -> Any:
    return gpuarray.GPUArray(
        array.shape[::-1], array.dtype, base=array, gpudata=array.gpudata, strides=array.strides[::-1]
    )


def freed(array: Any) -> Any:
    address = int(array.gpudata)
    array.gpudata.free()
    array.gpudata = address
    return array


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_cannot_be_updated(name: str, adam: Path, arrays: Callable[..., Any], gpuarray: ModuleType) -> None:
    from optgen.pycuda import load_built

    make, text = BAD_ARRAYS[name]
    params, grads = make(arrays, gpuarray)
    with pytest.raises((TypeError, ValueError), match=text):
        load_built(adam).bind(params, grads)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"lr": float("nan")}, "Adam: 'lr' must be a number, not NaN"),
        ({"beta1": 1.5}, r"Adam: 'beta1' must be in \[0, 1\), not 1.5"),
        ({"momentum": 0.9}, "Adam has no argument 'momentum'"),
        ({"lr": [0.1, 0.2]}, "Adam: 'lr' has 2 values for 1 parameters"),
    ],
)
def test_hyper_parameters_that_cannot_be(
    values: dict[str, Any], text: str, adam: Path, arrays: Callable[..., Any]
) -> None:
    """Nothing has changed then: the next step is the first one."""
    from optgen.pycuda import load_built

    w, g = arrays(), arrays()
    step = load_built(adam).bind([w], [g])
    with pytest.raises((TypeError, ValueError), match=text):
        step(**values)
    assert step.state.t.tolist() == [0] and (w.get() == 1).all()
    step(lr=0.5)
    assert np.allclose(w.get(), 0.5)


def test_other_contexts_and_streams(adam: Path, context: Context, arrays: Callable[..., Any]) -> None:
    from optgen.pycuda import load_built

    rule, w, g = load_built(adam), arrays(), arrays()
    step = rule.bind([w], [g])
    for stream, kind in ((7, "int"), (w, "GPUArray")):
        with pytest.raises(TypeError, match=f"stream: expected a pycuda.driver.Stream, or None, not {kind}"):
            rule.bind([w], [g], stream=stream)
    with pytest.raises(ValueError, match="capturable: PyCUDA captures no graphs"):
        rule.bind([w], [g], capturable=True)

    Context().push()
    elsewhere, other = arrays(), standin_pycuda.Stream()
    for use in (step, lambda: rule.bind([w], [g])):
        with pytest.raises(RuntimeError, match="another context of PyCUDA is current in this thread than when"):
            use()
    Context.pop()
    with pytest.raises(ValueError, match=r"params\[0\]: its 48 bytes at 0x\w+ are not in memory of the current cont"):
        rule.bind([elsewhere], [g])
    with pytest.raises(ValueError, match="stream: it cannot be used in the current context: cuEventRecord failed"):
        rule.bind([w], [g], stream=other)
    assert step.state.t.tolist() == [0] and (w.get() == 1).all()
    Context.pop()
    with pytest.raises(RuntimeError, match="no context of PyCUDA is current in this thread: import pycuda"):
        load_built(adam)
    context.push()


def test_arrays_of_streams_of_other_libraries(adam: Path, context: Context, arrays: Callable[..., Any]) -> None:
    """The host waits for them when they are bound."""
    from optgen.pycuda import load_built

    rule, w, g = load_built(adam), arrays(), arrays()
    for stream, waits in ((None, 0), (1, 0), (7, 1)):
        context.waits = 0
        of_another = {**g.__cuda_array_interface__, "stream": stream}
        rule.bind([w], [SimpleNamespace(__cuda_array_interface__=of_another)])
        assert context.waits == waits


def test_variants_that_were_not_built(adam: Path, arrays: Callable[..., Any], tmp_path: Path) -> None:
    from optgen.pycuda import load_built

    w, g = arrays(), arrays()
    built = "; it has those of float32, amsgrad=false. `optgen build` makes others with --all"
    for how, text in (
        ({"amsgrad": True}, "has no kernel of float32, amsgrad=true"),
        ({"storage": {"m": "bfloat16"}}, "has no kernel of float32, m in bfloat16, amsgrad=false"),
    ):
        with pytest.raises(ValueError, match=rf"params\[0\], of shape \(3, 4\): \S+adam {text}{built}"):
            load_built(adam, **how).bind([w], [g])
    x = arrays(dtype="float64")
    with pytest.raises(ValueError, match=f"no kernel of float64, amsgrad=false{built}"):
        load_built(adam, "float64").bind([x], [x])
    with pytest.raises(ValueError, match=f"no kernel of float32, 2 gradients of each parameter, amsgrad=false{built}"):
        load_built(adam).bind([w], [[g, arrays()]])
    with pytest.raises(ValueError, match="states of float32 parameters cannot be stored as 'int9'"):
        load_built(adam, storage="int9")
    many = build("adam", tmp_path, "--all", "--dtype", "float32", "float64", "float16", "bfloat16")
    with pytest.raises(ValueError, match=r"; and 2 more\. `optgen build` makes"):
        load_built(many, storage="float16").bind([w], [g])


def changed(folder: Path, to: Path, *path: Any, value: Any) -> Path:
    """A copy of the folder whose manifest has another value there, and the hash that fits."""
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    data = json.loads((folder / "cuda.json").read_text())
    del data["sha256"]
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (to / "cuda.json").write_text(json.dumps(data | {"sha256": digest(data)}))
    return to


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("format",), 2, "its format is 2, and this optgen reads format 3; build the kernels anew"),
        (("target", "table", "columns"), ["size"], "whose tables or steps are laid out in another way than those of"),
        (("target", "host", "step"), ["n"], "whose tables or steps are laid out in another way than those of"),
        (("target", "host", "features"), ["sse", "avx9000"], "and this machine is .*, without avx9000; build the kern"),
        (("target", "host", "triple"), "sparc-sun-solaris", "host's part of its steps is for sparc-sun-solaris, .*, a"),
        (("target", "arch"), "sm_120", "its PTX is for sm_120 and later GPUs, and this one is sm_75; build with --arc"),
    ],
)
def test_manifests_of_other_versions_and_machines(
    path: tuple[Any, ...], value: Any, text: str, adam: Path, context: Context, tmp_path: Path
) -> None:
    from optgen.pycuda import load_built

    with pytest.raises(ValueError, match=text):
        load_built(changed(adam, tmp_path, *path, value=value))


def test_folders_that_are_none(adam: Path, context: Context, arrays: Callable[..., Any], tmp_path: Path) -> None:
    from optgen.pycuda import load_built

    with pytest.raises(
        FileNotFoundError, match=r"nowhere: no folder of kernels for GPUs, as it has no cuda.json; `opt"
    ):
        load_built(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=rf"it has no cuda.json; its folders have one: {adam}"):
        load_built(adam.parent)
    copy = changed(adam, tmp_path, "optgen", value="0.1.0")
    (ptx,) = copy.glob("*.ptx")
    ptx.write_text(ptx.read_text().replace("add", "sub"))
    with pytest.raises(ValueError, match=r"\.ptx: not the file that cuda\.json is about; build the kernels anew"):
        load_built(copy).bind([arrays()], [arrays()])
    manifest = copy / "cuda.json"
    manifest.write_text(manifest.read_text().replace('"counts": {"buffers": 4', '"counts": {"buffers": 5'))
    with pytest.raises(ValueError, match=r"cuda\.json: it was changed after it was written; build the kernels anew"):
        load_built(copy)
    for text, found in (("{", "not the manifest of a build: Expecting"), ("[]", "its format is None")):
        manifest.write_text(text)
        with pytest.raises(ValueError, match=found):
            load_built(copy)


def test_without_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nowhere:
        @staticmethod
        def find_spec(name: str, *args: Any) -> None:
            if name.partition(".")[0] == "pycuda":
                raise ModuleNotFoundError("No module named 'pycuda'", name="pycuda")

    standin_pycuda.forget_users()
    monkeypatch.setattr(sys, "meta_path", [Nowhere, *sys.meta_path])
    text = r"optgen\.pycuda needs PyCUDA, which is not installed; pip install .*pycuda"
    try:
        with pytest.raises(ImportError, match=text):
            import optgen.pycuda  # noqa: F401
    finally:
        standin_pycuda.forget_users()
