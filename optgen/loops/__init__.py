"""A compiler of loops over arrays: short Python functions in a typed subset become native code.

It is for what NumPy cannot do in one pass; the kernels of the operators of `runtime` are in `runtime/native`. Each
file imports only those above it:

    language        the subset, and what its functions can call
    compile         a function as LLVM IR
    code            LLVM IR to addresses, by optgen's target, cache and linker
    fallback_gemm   a GEMM in the subset, for where that of NumPy's BLAS cannot be called
    numpy_blas      the GEMM of NumPy's BLAS, for kernels to call
    trampoline      the interpreter calls native code, which reads the arrays and calls the kernel
    checked         a function run as the Python that it is, over bounds-checked memory
    kernel          `@kernel`: a function that Python calls with arrays, whose tasks the threads of optgen's pool share

A kernel is compiled when it is first called with a type of elements, float32 or float64, and kept in optgen's cache.
Sums and products are in the order that the function has them, and functions such as exp are written in the subset, so
the bits are the same for any number of threads and vectors of any length; GEMM has the bits that BLAS gives it.

Compiled code checks no bounds. In the checked mode, within `with kernel.checked():` or by `KERNEL.checked(...)`, the
same function runs as Python, with NumPy scalars of its type: the definition of what compiled code computes, and a
detector of elements out of bounds, of tasks that depend on each other, and of integers that overflow. A test compares
both, bit by bit, for every kernel of `runtime/native`.

Decisions, and the measurements that they rest on, each made by hand when the decision was (one thread of a 2.6 GHz Zen
4):

- LLVM IR from Python functions, and not Numba: its kernels take seconds to compile cold, and its threads do not survive
  forks or calls from several Python threads. Here all kernels that `runtime` had, for both types, compiled in 4 s
  (`python -m runtime.native`), and the first iteration of LeNet from an empty cache took 1.1 s, imports included.
- GEMM is that of BLAS: it reaches 90 GFLOP/s, all that this processor can do. It runs on the thread that calls it.
  There is one pool of threads only: those of BLAS spin for a while after each product, on cores that kernels need.
- A call of a kernel costs .4 us, by native code that reads NumPy's arrays where they are; with ctypes it was 4 to 6, as
  each address is found, converted and written by Python code. Calls that are not the usual ones go that way still.
- Work of less than about 30 us stays on the calling thread.
"""
