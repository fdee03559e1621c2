"""Arrays of PyCUDA or CuPy, updated in place by a step that optgen compiles and launches.

python examples/cuda/arrays.py pycuda
python examples/cuda/arrays.py cupy
"""

import argparse

import numpy as np

import optgen

SHAPES = ((64, 300), (300,))
STEPS, LR = 100, 0.02


def of_pycuda():
    """Functions that make arrays of PyCUDA, copy them to NumPy, and set them to an array of NumPy.

    PyCUDA has no current stream: a step is in the default stream, which waits for PyCUDA's streams, and they for it.
    """
    import pycuda.autoprimaryctx  # noqa: F401, the context that optgen uses, too
    from pycuda import gpuarray

    return gpuarray.to_gpu, lambda x: x.get(), lambda x, array: x.set(array)


def of_cupy():
    """The same for CuPy, in whose current stream a step is."""
    import cupy

    return cupy.asarray, cupy.asnumpy, lambda x, array: x.set(array)


def identity(x):
    return x


def assign(x, array):
    x[...] = array


def train(target, put, get, fill):
    """The weights, as arrays of NumPy, that a few steps of LAMB lead to from random ones."""
    rng = np.random.default_rng(0)
    targets, starts = ([rng.standard_normal(shape).astype(np.float32) for shape in SHAPES] for _ in range(2))
    weights, grads = ([put(x.copy()) for x in starts] for _ in range(2))
    step = optgen.load("lamb", target=target).bind(weights, grads)
    for _ in range(STEPS):
        for w, g, wanted in zip(weights, grads, targets, strict=True):
            fill(g, get(w) - wanted)  # the gradient of half of the squared distance
        step(lr=LR)
    return [get(w) for w in weights]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    libraries = {"pycuda": of_pycuda, "cupy": of_cupy}
    parser.add_argument("library", choices=libraries)
    there = train("cuda", *libraries[parser.parse_args().library]())
    here = train("cpu", identity, identity, assign)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(there, here, strict=True))
    print("the same bits as on the CPU" if same else "other bits than on the CPU")


if __name__ == "__main__":
    main()
