"""The kernels of the operators: loops that NumPy cannot do in one pass, compiled by `optgen.loops`.

There are convolution, pooling, normalization, softmax, pick, first elements, activations, recurrent layers, gradients
in few bits, regions and boxes of images, images of another size, paths of CTC, rows by their numbers, and what NumPy
does on one thread where arrays are large: arithmetic, copies of parts, running sums.

To add one, copy `pool_sum` of `pooling`. `python -m runtime.native` compiles all of them ahead of their first calls.

Decisions, and the measurements that they rest on, each made by hand when the decision was (one thread of a 2.6 GHz Zen
4, batch 64, LeNet, if not said otherwise); `benchmarks/train.py` measures the whole:

- A small convolution is one pass: windows are laid out as a matrix for a tile that fits into the L2 cache, then
  multiplied. Rows of windows are short (8 in the second layer): copying them with masked vectors (`short`), and without
  a division for each row, took `unfold` from 2.6 to 1.2 ms, and the whole second layer from 4.9 to 3.5.
- Sums over images are made for fixed parts of the batch, whatever the number of threads, and the parts added up in
  order: the same bits for any number of threads.
- The gradient of a maximum over windows of 2 by 2 has code of its own, without branches: 2.4 ms became 0.3.
- A convolution with more products makes no matrix of windows: boxes of images are copied with their channels last, and
  products find their rows by tables (`gathered`). Panels are cleared where no line is: subnormal numbers left over in
  memory made a product with 3 columns a hundred times slower.
- A depthwise convolution is no product: channels are lanes (`depthwise`). Groups of a few channels are products with
  vectors of pixels, which are sorted by the remainders of their places, divided by the stride, so that all outputs of
  some rows are one product (`grouped`). docs/trials/compiled-loops.md has figures.
- Normalization takes its sums while a channel or a row is in the cache: 64 channels of 16 images of 32x32 in 0.4 ms
  forwards and 0.5 backwards, where the passes of NumPy took 1.2 and 1.5. Sums are made in blocks, and the blocks added
  up with compensation: the result is more exact than NumPy's.
- exp for arguments up to 0 (`exp_nonpositive`), all that softmax and gelu need, takes 0.4 ns an element, and NumPy's
  0.5. gelu is one pass, with one series for all x: 0.4 ms for 2^18 elements, not 6. sigmoid and tanh take as long as
  NumPy's.
- relu and tanh are not fused with small convolutions: once freed memory is kept, each takes 0.3 of 21 ms.
- A recurrent layer is one kernel for all steps, in which each thread has sequences of its own: no thread waits for
  another between the steps. The matrices of all steps are packed once (`packed_gemm`): a product of 16 rows with one of
  200 by 800 then takes 46 us, and by BLAS, which packs in each call, 67. On two threads, one iteration of a 2-layer
  LSTM (35 steps, batch 32, 200 units) takes 24 ms, with BLAS 32, and with the gates in NumPy and a shared product at
  each step 48.
- 25M gradients are packed into 2 bits each, with their residuals, in the time of one addition by NumPy; packed and
  unpacked, in a fifth of what NumPy's passes took. One kernel for both would move as many bytes.
"""
