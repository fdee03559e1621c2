"""Training with PyCUDA and the kernels that `optgen build` has written: nothing is compiled anew.

optgen build adam --target cuda --kernels -o build
python examples/cuda/emitted_ptx.py build/adam
"""

import argparse

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401, makes a context that other libraries share
import pycuda.driver as cuda
from pycuda import gpuarray

import optgen
from optgen.pycuda import load_built

SHAPES = ((4, 300), (7,), (1,))
STEPS, LR = 100, 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="what `optgen build` has written")
    folder = parser.parse_args().folder

    rng = np.random.default_rng(0)
    targets = [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    params = [gpuarray.to_gpu(np.zeros(shape, np.float32)) for shape in SHAPES]
    grads = [gpuarray.to_gpu(np.zeros(shape, np.float32)) for shape in SHAPES]
    step = load_built(folder).bind(params, grads, stream=cuda.Stream())
    for _ in range(STEPS):
        for p, g, target in zip(params, grads, targets, strict=True):
            g.set(p.get() - target)  # the gradient of half of the squared distance
        step(lr=LR)
    distance = max(float(abs(p.get() - target).max()) for p, target in zip(params, targets, strict=True))
    print(f"after {STEPS} steps: at most {distance:.4f} from the target")

    on_cpu, gradients = ([np.zeros(shape, np.float32) for shape in SHAPES] for _ in range(2))
    of_cpu = optgen.load("adam").bind(on_cpu, gradients)
    for _ in range(STEPS):
        for p, g, target in zip(on_cpu, gradients, targets, strict=True):
            g[...] = p - target
        of_cpu(lr=LR)
    same = all(p.get().tobytes() == q.tobytes() for p, q in zip(params, on_cpu, strict=True))
    print("the same bits as on the CPU" if same else "other bits than on the CPU")


if __name__ == "__main__":
    main()
