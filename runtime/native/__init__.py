"""Loops that NumPy cannot do in one pass, compiled: convolution, pooling, normalization, softmax, activations,
gradients in few bits, and products of matrices on several threads.

A kernel is one short Python function in a typed subset (`language`), decorated with `@kernel` and called with arrays
(`kernel`); copy `pool_sum` of `pooling` to add one. It becomes LLVM IR (`compile`), then object code in optgen's cache,
when it is first called. Its tasks are shared among the threads of optgen's pool. `library` finds the GEMM of NumPy's
BLAS for kernels to call, and `memory` keeps freed arrays for the next ones.

What was decided, and on which measurements, made by hand when the choice was (one thread of a 2.6 GHz Zen 4, batch 64,
LeNet, if not said otherwise); `benchmarks/train.py` measures the whole:

- LLVM from Python functions, no Numba: its kernels take seconds to compile cold, its threads do not survive forks or
  calls from several Python threads. All kernels, for both types, compile here in 4 s (`python -m runtime.native`),
  and LeNet's first iteration from an empty cache takes 1.1 s, imports included.
- GEMM is BLAS's: it reaches 90 GFLOP/s, all that this processor can do. It runs on the thread that calls it. One pool
  of threads only: BLAS's own spin for a while after each product, on cores that the kernels need.
- Convolution is one pass: windows are laid out as a matrix for a tile that fits into the L2 cache, then multiplied.
  Rows of windows are short (8 in the second layer): copying them with masked vectors (`short`), and without a division
  a row, took `unfold` from 2.6 to 1.2 ms, and the whole second layer from 4.9 to 3.5.
- Sums over images are made for fixed parts of the batch, whatever the number of threads, and these are added up in
  order: the same bits for any number of threads.
- The gradient of a maximum over squares of 2 by 2 has code of its own, without a branch: 2.4 ms became 0.3.
- Images of few pixels are multiplied side by side (`ndarray.gathered`): 512 filters over 512 channels of 1x1 took
  9.2 ms for 16 images one by one, as each product read all weights, and take 2.5.
- A channel convolved alone is a sum of shifted rows, not a product: 0.39 ms, where GEMM took 0.67 (32 channels of
  56x56, 4 images).
- Normalization takes the sums it needs while a channel or a row is in the cache: 64 channels of 16 images of 32x32 in
  0.4 ms there and 0.5 back, where NumPy's passes took 1.2 and 1.5. Sums are made in blocks, and these added up with
  what the sum could not hold: more exact than NumPy's.
- exp for arguments up to 0 (`decay`), all that softmax and gelu need, is 0.4 ns an element, less than NumPy's 0.5. gelu
  is one pass, and one series for all x: 0.4 ms for 2^18 elements, not 6. sigmoid and tanh themselves gain nothing.
- relu or tanh are no part of a convolution: once memory is kept, each is 0.3 of 21 ms.
- A recurrent layer is one kernel for all steps, in which each thread has sequences of its own: nobody waits for anybody
  between the steps. Two threads, one iteration of a 2-layer LSTM (35 steps, batch 32, 200 units): 32 ms, where NumPy's
  gates and a shared product at each step took 48. The matrix is turned once: a product of 16 rows with it takes 67 us
  then, not 123.
- 25M gradients are packed into 2 bits each, and what that loses kept, in the time of one addition by NumPy; packed and
  unpacked, in a fifth of what NumPy's passes took. One kernel for both would move as many bytes.
- A kernel's call costs 4 us. Less work than some 30 us stays on the calling thread.
"""
