"""The plane of plane.c on a GPU, by PyCUDA: optgen loads kernels that it built before, and compiles nothing.

optgen build adam --target cuda --kernels -o kernels
python plane_pycuda.py kernels/adam
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401, makes a context that other libraries share
from pycuda import gpuarray

from optgen.pycuda import load_built

STEPS = 500
x, y = np.arange(16, dtype=np.float32) % 4 - 1.5, np.arange(16, dtype=np.float32) // 4 - 1.5


def main():
    w, b = (gpuarray.to_gpu(np.zeros(n, np.float32)) for n in (2, 1))
    grad_w, grad_b = (gpuarray.to_gpu(np.zeros(n, np.float32)) for n in (2, 1))
    step = load_built(sys.argv[1]).bind([w, b], [grad_w, grad_b])
    for number in range(STEPS):
        (u, v), (c,) = w.get(), b.get()
        error = u * x + v * y + c - (2 * x - 3 * y + 1)
        grad_w.set(np.array([error @ x / 8, error @ y / 8], np.float32))
        grad_b.set(np.array([error.sum() / 8], np.float32))
        step(lr=0.05 if number < 400 else 0.005)
    (u, v), (c,) = w.get(), b.get()
    print(f"{u:.3f} {v:.3f} {c:.3f}, loss {np.mean(error**2):.6f}")


if __name__ == "__main__":
    main()
