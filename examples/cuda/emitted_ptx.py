"""Training with PyCUDA and the PTX that `optgen build --kernels` writes; optgen itself only compares.

    optgen build --kernels adam --target cuda -o build
    python examples/cuda/emitted_ptx.py build/adam

The manifest says which functions there are, in which order they take what, and how large the table is that they read;
the header beside it explains the table. The host's part of a step is an object file, of which `cc` makes a library.
"""

import argparse
import ctypes
import json
import math
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401, makes a context that other libraries share
import pycuda.driver as cuda
from pycuda import gpuarray

SHAPES = ((4, 300), (7,), (1,))
STEPS, LR = 100, 0.1
THREADS = 256  # OPTGEN_THREADS
COLUMNS = ("size", "rows", "cols", "by_rows", "index", "first", "blocks", "id", "t", "lead", "vectors")
AREAS = 6  # of partial results, which adam does not have
SIZE, BUFFERS, T, HYPER, WORKSPACE, COLS, ID = 1, 2, 3, 4, 5, 8, 9  # fields of optgen_step, each of 8 bytes


class Adam:
    """The kernel of a manifest's entry, bound to parameters and gradients."""

    def __init__(self, folder, variant, values, params, grads):
        n, launches, counts = len(params), variant["launches"], variant["counts"]
        assert all(launch["unit"] == "elements" for launch in launches), "other units have partial results, too"
        self.params, self.launches = params, launches
        self.module = cuda.module_from_buffer((folder / variant["files"]["ptx"]).read_bytes())
        self.host = host_part(folder / variant["files"]["host_object"], f"{variant['symbol']}_host")

        # n | seed | columns | areas | addresses | where the units of each launch begin | values
        addresses = 2 + n * (len(COLUMNS) + AREAS)
        units = addresses + n * counts["buffers"]
        values_at = units + (n + 1) * len(launches)
        self.image = np.zeros(values_at + counts["shared"] + n * counts["slots"], np.int64)
        self.image[0] = n
        column = {name: self.image[2 + n * k :][:n] for k, name in enumerate(COLUMNS)}
        column["size"][:] = [p.size for p in params]
        column["rows"][:] = [p.shape[0] for p in params]
        column["cols"][:] = column["size"] // column["rows"]
        column["blocks"][:] = -(-column["size"] // 4096)
        column["id"][:] = np.arange(n)
        column["vectors"][:] = 1  # what PyCUDA allocates begins at a multiple of 16 bytes
        self.t = column["t"]
        states = [b["name"] for b in variant["buffers"] if b["init"] is not None]
        self.states = [{name: gpuarray.to_gpu(np.zeros(p.shape, np.float32)) for name in states} for p in params]
        rows = [{"w": p, "grad": g, **own} for p, g, own in zip(params, grads, self.states, strict=True)]
        pointers = [[int(row[b["name"]].gpudata) for b in variant["buffers"]] for row in rows]
        self.image[addresses:units] = np.ravel(pointers)
        for k, launch in enumerate(launches):
            self.image[units + (n + 1) * k :][1 : n + 1] = np.cumsum(-(-column["size"] // launch["length"]))
        self.blocks = [-(-int(self.image[units + (n + 1) * k + n]) // x["per_block"]) for k, x in enumerate(launches)]

        # What the host's part reads: an optgen_step, whose arrays have a number for each parameter.
        self.hyper = np.array([[values[name]] * n for name in variant["hyper"]], np.float64)
        self.counted, self.cols = np.zeros(n, np.int64), column["cols"].copy()
        self.step = np.zeros(32, np.int64)
        self.step[0] = n
        fields = {SIZE: column["size"], T: self.counted, HYPER: self.hyper, COLS: self.cols, ID: column["id"]}
        fields |= {WORKSPACE: self.image[values_at:], BUFFERS: self.image[addresses:]}
        for field, array in fields.items():
            self.step[field] = array.ctypes.data
        self.table = cuda.mem_alloc(self.image.nbytes)

    def __call__(self):
        self.host(self.step.ctypes.data)  # counts the update, and computes what depends on no element
        self.t[:] = self.counted
        cuda.memcpy_htod(self.table, self.image)
        for launch, blocks in zip(self.launches, self.blocks, strict=True):
            function = self.module.get_function(launch["name"])
            function(np.uint64(int(self.table)), block=(THREADS, 1, 1), grid=(blocks, 1))


def host_part(path, name):
    """The function of an object file, by way of a shared library."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "host.so")
        subprocess.run(["cc", "-shared", path, "-o", library], check=True)
        function = ctypes.CDLL(str(library))[name]
    function.argtypes, function.restype = [ctypes.c_void_p], None
    return function


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="what `optgen build` has written")
    folder = parser.parse_args().folder
    manifest = json.loads((folder / "cuda.json").read_text())
    variant = next(v for v in manifest["variants"] if v["dtype"] == "float32" and not v["flags"]["amsgrad"])
    defaults = {p["name"]: math.nan if p["default"] is None else p["default"] for p in manifest["params"]}

    rng = np.random.default_rng(0)
    targets = [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    params = [gpuarray.to_gpu(np.zeros(shape, np.float32)) for shape in SHAPES]
    grads = [gpuarray.to_gpu(np.zeros(shape, np.float32)) for shape in SHAPES]
    adam = Adam(folder, variant, defaults | {"lr": LR}, params, grads)
    for _ in range(STEPS):
        for p, g, target in zip(params, grads, targets, strict=True):
            g.set(p.get() - target)  # the gradient of half of the squared distance
        adam()
    distance = max(float(abs(p.get() - target).max()) for p, target in zip(params, targets, strict=True))
    print(f"after {STEPS} steps: at most {distance:.4f} from the target")

    import optgen

    on_cpu, gradients = ([np.zeros(shape, np.float32) for shape in SHAPES] for _ in range(2))
    step = optgen.load("adam").bind(on_cpu, gradients)
    for _ in range(STEPS):
        for p, g, target in zip(on_cpu, gradients, targets, strict=True):
            g[...] = p - target
        step(lr=LR)
    same = all(p.get().tobytes() == q.tobytes() for p, q in zip(params, on_cpu, strict=True))
    print("the same bits as on the CPU" if same else "other bits than on the CPU")


if __name__ == "__main__":
    main()
