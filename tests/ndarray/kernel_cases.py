"""Calls of kernels of `runtime.native` by the operators that use them, of many sizes, but for those of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np

from runtime import autograd, nd
from runtime.context import cpu
from runtime.kvstore.compression import GradientCompression
from runtime.native import activation, arithmetic, ctc, error_function, gather, normalization, resize, softmax, sums
from runtime.native import boxes as native_boxes
from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.native.normalization import SCRATCH
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn import dropout
from runtime.ndarray.random import distributions
from runtime.ndarray.shape.subscript import Part
from runtime.ndarray.vision.boxes import survivors

rng = np.random.default_rng(0)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, -1e-40, 3e38, -3e38, 80.0, -80.0, -87.5, -100.0, 1e-8)


def numbers(dtype: str, *shape: int, special: bool = False) -> np.ndarray:
    """Normal numbers, among them some that are special."""
    x = rng.normal(size=shape).astype(dtype)
    if special and x.size:
        x.reshape(-1)[: len(SPECIAL)] = np.array(SPECIAL, dtype)[: x.size]
    return x


def differentiate(function: Callable[..., NDArray], *inputs: np.ndarray, twice: bool = False) -> None:
    """The function, the gradients of all inputs, and if asked what these are made of again."""
    arrays = [nd.array(x, dtype=x.dtype) for x in inputs]
    for x in arrays:
        x.attach_grad()
    with autograd.record():
        y = function(*arrays)
        flow = nd.array(numbers(y.dtype.__name__, *y.shape), dtype=y.dtype)
        if twice:
            flow.attach_grad()
            grads = autograd.grad(y, arrays, flow, create_graph=True, retain_graph=True)
            y = sum((g * g).sum() for g in grads)
    y.backward() if twice else y.backward(flow)


# ---------------------------------------------------------------- cases


WITH_NUMBERS = ("add_number", "subtract_number", "subtract_from", "scale", "divide_by")


def elementwise(dtype: str) -> None:
    for n in (1, 7, 33, ELEMENTS_PER_TASK + 5):
        tasks, slope = -(-n // ELEMENTS_PER_TASK), np.array([0.25], dtype)
        x, g, ends = numbers(dtype, n, special=n > 1), numbers(dtype, n), np.array([0, 1], dtype)
        for run, inputs in (
            *((getattr(arithmetic, name), (x,)) for name in ("copy", "negate", "square")),
            *((getattr(arithmetic, name), (x, g)) for name in ("add", "subtract", "multiply", "divide")),
            *((getattr(arithmetic, name), (x, slope)) for name in WITH_NUMBERS),
            (arithmetic.clip, (x, ends)),
            *((getattr(arithmetic, name), (x, ends, g)) for name in ("clip_back", "clipped_back")),
            (arithmetic.choose, (x, g, x)),
            *((getattr(arithmetic, name), (x, g)) for name in ("keep", "drop")),
            (activation.relu, (x,)),
            (activation.relu_back, (x, g)),
            (activation.tanh, (x,)),
            (activation.tanh_back, (x, g)),
            (activation.sigmoid, (x,)),
            (activation.sigmoid_back, (x, g)),
            (activation.leaky, (x, slope)),
            (activation.leaky_back, (x, slope, g)),
        ):
            run(tasks, n, *inputs, np.empty_like(x), n)
    n, slopes = 65, np.array([0.25, 1.5], dtype)
    x, g = numbers(dtype, n, special=True), numbers(dtype, n)
    for run, inputs in (
        (error_function.erf, (x,)),
        (error_function.erf_back, (x, g)),
        (activation.gelu, (x,)),
        (activation.gelu_back, (x, g)),
        (activation.elu, (x, slopes)),
        (activation.elu_back, (x, slopes, g)),
        (activation.softrelu, (x,)),
        (activation.softrelu_back, (x, g)),
        (activation.softsign_back, (x, g)),
    ):
        run(1, n, *inputs, np.empty_like(x), n)


def activations(dtype: str) -> None:
    differentiate(lambda x: nd.LeakyReLU(x, act_type="gelu"), numbers(dtype, 3, 5, special=True))
    differentiate(lambda x: nd.LeakyReLU(x, act_type="leaky", slope=0.1), numbers(dtype, 3, 7, special=True))
    differentiate(nd.relu, numbers(dtype, 129, 128, special=True))
    differentiate(nd.tanh, numbers(dtype, 129, 128))


def slopes_of_channels(dtype: str) -> None:
    for images, channels, size in ((1, 1, 5), (2, 3, 33), (2, 1, 1030)):
        x, g = numbers(dtype, images, channels, size, special=size == 33), numbers(dtype, images, channels, size)
        for step in (0, 1):
            slopes, dx, sizes = numbers(dtype, channels if step else 1), np.empty_like(x), (images, channels, size)
            activation.prelu(images * channels, x.size, x, slopes, dx, step, channels, size)
            arrays, scratch = (x, slopes, g, dx, np.empty(channels, dtype)), activation.BLOCK_SCRATCH
            activation.prelu_back(channels, 0, *arrays, step, *sizes, scratch=scratch)


def softmaxes(dtype: str) -> None:
    """Rows of lengths around those of a vector, a block."""
    for rows, n in ((1, 1), (3, 5), (3, 63), (1, 64), (3, 65), (1, 1024), (1, 1030)):
        share = 2
        tasks, arguments = -(-rows // share), (rows, n, share)
        x, g, scale = numbers(dtype, rows, n), numbers(dtype, rows, n), np.array([-0.5], dtype)
        if n > 5:
            x[0, :5] = -np.inf, 1e30, 0, -0.0, 3e38
        e, tops, totals = np.empty_like(x), np.empty(rows, dtype), np.empty(rows, dtype)
        softmax.exponentials(tasks, n, x, scale, e, tops, totals, *arguments, scratch=SCRATCH)
        for run in (softmax.softmax, softmax.log_softmax):
            run(tasks, n, x, scale, e, *arguments, scratch=SCRATCH)
        for run in (softmax.softmax_back, softmax.log_softmax_back):
            run(tasks, n, e, g, scale, np.empty_like(x), *arguments, scratch=SCRATCH)
        label = np.array([0, n, np.nan, -3, n - 1][:rows], dtype)
        softmax.cross_entropy(tasks, n, x, label, e, totals, tops, *arguments, scratch=SCRATCH)
        softmax.cross_entropy_back(tasks, n, g[:, 0].copy(), label, e, totals, np.empty_like(x), *arguments)
    for operator in (nd.softmax, nd.log_softmax):
        differentiate(lambda x, f=operator: f(x, temperature=2.0), numbers(dtype, 7, 90))


def sums_of_axes(dtype: str) -> None:
    for images, channels, size in ((1, 1, 1), (3, 2, 7), (2, 3, 1030)):
        x = numbers(dtype, images, channels, size)
        sums.sum_planes(channels, x.size, x, np.empty(channels, dtype), images, channels, size, scratch=sums.SUMS)
    for rows, columns in ((1, 1), (3, 255), (2, 257)):
        tasks = -(-columns // sums.COLUMNS_PER_TASK)
        sums.sum_rows(tasks, rows * columns, numbers(dtype, rows, columns), np.empty(columns, dtype), rows, columns)


def running_sums(dtype: str) -> None:
    for shape in ((1, 1, 1), (3, 5, 1), (2, 4, 37)):
        for backwards in (0, 1):
            x = numbers(dtype, *shape)
            sums.running_sums(shape[0], 0, x, np.empty_like(x), *shape[1:], backwards)


def normalizations_with_given_means(dtype: str) -> None:
    for size in (1, 3, 33, 9000):
        gamma, beta, mean, var = (nd.array(abs(numbers(dtype, 3)), dtype=dtype) for _ in range(4))
        x = nd.array(numbers(dtype, 2 if size > 1 else 6000, 3, size, special=size == 33), dtype=dtype)
        nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False)


def normalizations(dtype: str) -> None:
    for size in (1, 8, 33, 1030):
        gamma, beta, zeros, ones = (numbers(dtype, 3) for _ in range(4))
        aux = nd.array(zeros * 0, dtype=dtype), nd.array(ones * 0 + 1, dtype=dtype)
        with autograd.train_mode():
            differentiate(lambda x, g, b, aux=aux: nd.BatchNorm(x, g, b, *aux, fix_gamma=False),
                          numbers(dtype, 2, 3, size), gamma, beta)  # fmt: skip
        differentiate(nd.InstanceNorm, numbers(dtype, 2, 3, size), gamma, beta)
    for rows, n in ((1, 8), (3, 9), (37, 17), (2, 1030)):
        differentiate(nd.LayerNorm, numbers(dtype, rows, n), numbers(dtype, n), numbers(dtype, n))
    x = numbers(dtype, 2, 3, 9)
    x[0, 0, :3] = np.nan, np.inf, -0.0
    x[1, 2] = 5.0
    differentiate(nd.InstanceNorm, x, numbers(dtype, 3), numbers(dtype, 3))


def normalizations_with_relu(dtype: str) -> None:
    """As plans call them: without a sum and with one."""
    for batch, channels, size in ((3, 5, 20), (2, 3, 1100)):
        x, g, other = (numbers(dtype, batch, channels, size) for _ in range(3))
        gamma, beta = numbers(dtype, channels), numbers(dtype, channels)
        z, dx, mean, var, dgamma, dbeta = (np.zeros_like(a) for a in (x, x, beta, beta, beta, beta))
        eps, sizes = np.array([1e-3], dtype), (channels, batch, size)
        for adds in (0, 1):
            arguments = x, gamma, beta, z, mean, var, eps, other if adds else None, adds, *sizes
            normalization.planes_relu(channels, 0, *arguments, scratch=SCRATCH)
        arguments = g, z, x, gamma, mean, var, eps, dx, dgamma, dbeta, *sizes
        normalization.planes_back_relu(channels, 0, *arguments, scratch=SCRATCH)


def transposes(dtype: str) -> None:
    """Tiles at the end of both axes, and runs of elements."""
    for shape, axes in (((65, 71), (1, 0)), ((2, 40, 3, 21), (0, 2, 3, 1)), ((33, 40, 5), (1, 0, 2))):
        nd.transpose(nd.array(numbers(dtype, *shape), dtype=dtype), axes)


def matrix_products(dtype: str) -> None:
    """Products large enough to be cut into blocks, with matrices as they are and transposed."""
    for m, n, k in ((97, 130, 90), (130, 97, 90)):
        nd.dot(nd.array(numbers(dtype, m, k), dtype=dtype), nd.array(numbers(dtype, k, n), dtype=dtype))
    a, b = nd.array(numbers(dtype, 90, 97), dtype=dtype), nd.array(numbers(dtype, 130, 90), dtype=dtype)
    nd.dot(a, b, transpose_a=True, transpose_b=True)


def recurrent_layers(dtype: str) -> None:
    modes = ("lstm", 4, None), ("lstm", 4, 2), ("gru", 3, None), ("rnn_tanh", 1, None), ("rnn_relu", 1, None)
    for mode, gates, projected in modes:
        for steps, batch, size, hidden in ((1, 1, 1, 1), (3, 9, 2, 5), (2, 17, 3, 3)):
            state = projected or hidden
            count = gates * hidden * (size + state + 2) + (state * hidden if projected else 0)
            shapes = [(steps, batch, size), (count,), (1, batch, state), *[(1, batch, hidden)] * (mode == "lstm")]
            for part in (slice(None), slice(1), slice(1, None)):  # of the outputs: all, y alone, the last states alone
                differentiate(recurrent(mode, hidden, projected, part), *(numbers(dtype, *shape) for shape in shapes))


def recurrent(mode: str, hidden: int, projected: int | None, part: slice) -> Callable[..., NDArray]:
    options = {"mode": mode, "state_size": hidden, "num_layers": 1, "projection_size": projected}

    def layer(*arrays: NDArray) -> NDArray:
        outputs = nd.RNN(*arrays, **options, state_outputs=True)
        return nd.concat(*(y.reshape((-1,)) for y in outputs[part]), dim=0)

    return layer


def regions(dtype: str) -> None:
    x = numbers(dtype, 2, 4, 5, 7)
    rois = np.array([[0, 0, 0, 3, 3], [1, -2.5, 1, 9, 2.25], [1, 4, 4, 4, 4]], dtype)
    align = lambda x, r: nd.contrib.ROIAlign(x, r, (2, 2), 0.9)  # noqa: E731
    sensitive = lambda x, r: nd.contrib.ROIAlign(x, r, (2, 1), 1.0, 2, position_sensitive=True)  # noqa: E731
    for operator in (align, sensitive, lambda x, r: nd.ROIPooling(x, r, (3, 2), 1.0)):
        differentiate(lambda x, r=rois, f=operator: f(x, nd.array(r, dtype=r.dtype)), x)
    grid = rng.uniform(-1.3, 1.3, (2, 2, 3, 2)).astype(dtype)
    differentiate(nd.BilinearSampler, x, grid)
    special = numbers(dtype, 1, 1, 6, 8, special=True)
    nd.ROIPooling(nd.array(special, dtype=dtype), nd.array(rois[:1], dtype=dtype), (3, 3), 1.0)


def nothing(dtype: str) -> None:
    """Arrays without elements, for which there are tasks all the same."""
    x, none = numbers(dtype, 1, 2, 3, 3), np.empty((0, 5), dtype)
    for operator in (nd.contrib.ROIAlign, nd.ROIPooling):
        differentiate(lambda x, f=operator: f(x, nd.array(none, dtype=dtype), (2, 2), 1.0), x)
    survivors(np.empty((0, 4), dtype), None, 0.5)
    h, c = nd.array(numbers(dtype, 1, 2, 3), dtype=dtype), nd.array(numbers(dtype, 1, 2, 3), dtype=dtype)
    for mode, states in (("lstm", (h, c)), ("gru", (h,))):
        weights = nd.array(numbers(dtype, (4 if mode == "lstm" else 3) * 3 * 8), dtype=dtype)
        nd.RNN(nd.empty((0, 2, 3), dtype=dtype), weights, *states, mode=mode, state_size=3, num_layers=1)


def boxes(dtype: str) -> None:
    for n in (1, 9):
        corners = rng.uniform(0, 4, (n, 4))
        corners[:, 2:] += corners[:, :2]
        corners[n // 2] = np.nan
        rows = np.column_stack([rng.integers(0, 2, n), rng.uniform(0.1, 1, n), corners])
        for together in (False, True):
            nd.contrib.box_nms(nd.array(rows[None], dtype=dtype), 0.3, force_suppress=together, id_index=0)
    nd.contrib.box_nms(nd.array(np.array([[[0, 1, 0, 0, 1, 1], [0, 0.9, 0, 0, 1, 1.0]]]), dtype=dtype), 1.0)
    corners = numbers(dtype, 150, 4, special=True)
    corners[40:, 2:] += 10
    corners[np.abs(corners) > 1e30] = np.inf
    native_boxes.overlaps(2, 0, corners, corners[60:67], np.empty((150, 7), dtype), 150, 7, 100)
    x, (best, score) = numbers(dtype, 2, 4, 40, special=True), np.empty((2, 2, 40), dtype)
    native_boxes.best_class(2, 0, x, best, score, 4, 40)
    for scale, most in ((1, 5), (30, 100)):
        places, found = np.empty(most, np.uint32), np.zeros(1, np.uint32)
        limit, sizes = np.array([0.5], dtype), (most, 150)
        native_boxes.separate(1, 0, scale * corners, limit, places, found, *sizes, scratch=5 * most)


def first_elements(dtype: str) -> None:
    """Rows of less than a block and of several; ties, and NaN before and after the first k."""
    for rows, n in ((1, 1), (3, 9), (2, 70), (5, 200)):
        x = rng.integers(-9, 9, (rows, n)).astype(dtype)
        x[0, : len(SPECIAL)] = np.array(SPECIAL, dtype)[:n]
        x[-1, n // 2] = np.nan
        for k in {1, min(3, n), min(n, 64)}:
            for ascending in (False, True):
                nd.topk(nd.array(x, dtype=dtype), k=k, is_ascend=ascending)


def picks(dtype: str) -> None:
    for shape, axis in (((7,), 0), ((4, 5), 1), ((3, 4, 5), 1), ((5000, 2), 1)):
        x, kept = numbers(dtype, *shape), [1 if a == axis else n for a, n in enumerate(shape)]
        for at in (numbers(dtype, *kept, special=True), rng.integers(-9, 9, kept)):
            differentiate(lambda x, a=axis, at=at: nd.pick(x, nd.array(at, dtype=at.dtype), axis=a), x)


def parts(dtype: str) -> None:
    """In the middle of an axis, and at its ends; tasks of several rows, and of parts of them."""
    for before, length, n in ((1, 5, 3), (3, 4, 1), (700, 3, 9), (2, 3, 6001)):
        for first, count in ((0, 2), (1, 2), (length - 1, 1)):
            found = Part(before, first, count, length, n)
            x, y = numbers(dtype, before, length, n), np.empty((before, count, n), dtype)
            tasks, all_tasks = (-(-array.size // gather.ELEMENTS_PER_TASK) for array in (y, x))
            gather.copy_rows(tasks, 0, x, y, *found.taken())
            gather.copy_rows(tasks, 0, y, x, *found.joined())
            gather.put_rows(all_tasks, 0, y, x, *found.put())


def rows_by_number(dtype: str) -> None:
    """Rows that have one, two, three and more summands; more than one task."""
    few = rng.integers(0, 3, 50)
    for numbers_of, rows, n in ((few, 5, 3), (np.arange(7), 9, 1), (rng.integers(0, 40, 60), 40, 600)):
        differentiate(lambda w, at=numbers_of: nd.take(w, nd.array(at)), numbers(dtype, rows, n))
    differentiate(lambda w: nd.take(w, nd.array([[0, 2], [2, 9]]), axis=1), numbers(dtype, 2, 3, 4))


def rows_of_values(dtype: str) -> None:
    for n in (1, 5, 20_000):
        nd.one_hot(nd.array([[0, n - 1], [-1, n]]), n, 2, 3, dtype)
    for shape, axis in (((4, 3), 0), ((3, 4, 5), 1), ((4, 3, 20_000), 0)):
        lengths = nd.array([0, 2, 4])
        differentiate(lambda x, a=axis, m=lengths: nd.SequenceMask(x, m, True, -1, a), numbers(dtype, *shape))


def paths(dtype: str) -> None:
    """Labels that repeat, that do not fit, and none; steps that do not count."""
    steps, batch, classes, blank = 5, 4, 4, 0
    states = np.array([[0, 1, 0, 2, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 3, 0, 0, 0]])
    ends, times = np.array([4, 4, 0, 2]), np.array([5, 2, 4, 1])
    log_p = np.log(rng.dirichlet(np.ones(classes), (steps, batch))).astype(dtype)
    log_p[1, 0] = -np.inf, 0, -np.inf, -np.inf
    counts, dx, nothing = np.empty((steps, batch, 5), dtype), np.empty_like(log_p), np.array([-np.inf], dtype)
    sizes, scratch = np.array([steps, batch, classes, 5, blank]), ctc.ROWS * (5 + ctc.MARGIN)
    ctc.forward_counts(batch, 0, log_p, counts, nothing, states, sizes, scratch=scratch)
    totals = np.array([-3, -np.inf, -1, -2], dtype)
    ctc.gradient(
        batch, 0, log_p, counts, totals, numbers(dtype, 4), dx, nothing, states, ends, times, sizes, scratch=scratch
    )


def resizes(dtype: str) -> None:
    """Bytes at both ends, too; the kernels for float64, which no operator asks for, with the same numbers."""
    bytes = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    bytes[2:] = rng.choice([0, 255], (3, 7, 3))
    for width, height, interp in ((9, 8, 1), (3, 4, 3), (5, 6, 2)):
        for image in (bytes, bytes[..., :1].astype(np.float32)):
            nd.image.resize(nd.array(image, dtype=image.dtype), (width, height), interp=interp)
    x, y, at = bytes.reshape(5, 21).astype(dtype), np.empty((5, 4), dtype), np.array([0, 9, 20, 3, 1, 10, 20, 2])
    shares = (rng.integers(0, 2049, 8)).astype(dtype)
    resize.across(5, 0, x, shares, y, at, 2, 21, 4)
    for run, taps in ((resize.down, (2,)), (resize.down_cut, ())):
        run(4, 0, 8 * x, shares, np.empty((4, 21), dtype), at % 5, *taps, 4, 21)


def interleaved(dtype: str) -> None:
    x = numbers(dtype, 4, 2, 2 * 3 * 5)
    for function in (
        lambda x: nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2),
        lambda x: nd.contrib.interleaved_matmul_selfatt_valatt(x, nd.ones((4, 4, 4), dtype=dtype), heads=2),
    ):
        differentiate(function, x, twice=True)


def gradient_compression(dtype: str) -> None:
    for kind in ("2bit", "1bit"):
        for n in (1, 15, 16, 17, 32, 33, 16 * 512 + 3, 32 * 512 + 1):
            compression = GradientCompression({"type": kind, "threshold": 0.5})
            for _ in range(2):
                words = compression.pack("w", 0, numbers(dtype, n, special=n > 16))
            compression.unpack(words, np.empty(n, dtype))


def dropouts(dtype: str) -> None:
    """Of as many elements as are drawn at once, and not; begun within a number of the counter."""
    like = np.empty(0, dtype)
    for n in (1 << 14, (1 << 14) + 5):
        nd.random.uniform(shape=1)
        dropout._dropout_factors.forward(like, shape=(n,), p=0.3, ctx=cpu())
        with mock.patch.object(distributions, "MIN_DRAWN", n):
            nd.random.uniform(-1, 2, shape=n)


CASES: dict[Callable[[str], None], Sequence[str]] = {
    elementwise: [
        *(f"arithmetic.{f}" for f in ("copy", "negate", "square", "add", "subtract", "multiply", "divide")),
        *(f"arithmetic.{f}" for f in (*WITH_NUMBERS, "clip", "clip_back", "clipped_back", "choose", "keep", "drop")),
        *(f"activation.{f}" for f in ("relu", "relu_back", "tanh", "tanh_back", "leaky", "leaky_back")),
        *(f"activation.{f}" for f in ("gelu", "gelu_back")),
        *(f"activation.{f}" for f in ("elu", "elu_back", "softrelu", "softrelu_back", "softsign_back")),
        *(f"activation.{f}" for f in ("sigmoid", "sigmoid_back")),
        *(f"error_function.{f}" for f in ("erf", "erf_back")),
    ],
    activations: [f"activation.{f}" for f in ("relu_back", "tanh_back", "leaky", "leaky_back", "gelu", "gelu_back")],
    softmaxes: [
        f"softmax.{f}"
        for f in (
            "exponentials",
            "softmax",
            "softmax_back",
            "log_softmax",
            "log_softmax_back",
            "cross_entropy",
            "cross_entropy_back",
        )
    ],
    sums_of_axes: ["sums.sum_planes", "sums.sum_rows"],
    normalizations: [f"normalization.{f}" for f in ("planes", "planes_back", "layers", "layers_back", "move")],
    normalizations_with_relu: ["normalization.planes_relu", "normalization.planes_back_relu"],
    normalizations_with_given_means: ["normalization.scaled_planes", "normalization.scaled_rows"],
    transposes: ["transpose.exchange_axes"],
    interleaved: ["transpose.take_kind", "transpose.put_kind"],
    matrix_products: ["optgen.linalg.blocks.multiply"],
    recurrent_layers: [
        *(f"recurrent.{kind}{way}" for kind in ("lstm", "gru", "elman") for way in ("", "_back")),
        *("recurrent.pack_states", "recurrent.weight_gradients", "panels.pack", "panels.multiply"),
    ],
    regions: [f"regions.{f}" for f in ("mix", "spread", "match", "largest")],
    nothing: ["regions.spread", "boxes.suppress", "recurrent.lstm", "recurrent.gru"],
    boxes: [f"boxes.{f}" for f in ("suppress", "overlaps", "separate", "best_class")],
    first_elements: ["ordering.first"],
    picks: ["gather.pick", "gather.put"],
    rows_by_number: ["gather.sum_rows_by_number"],
    running_sums: ["sums.running_sums"],
    slopes_of_channels: ["activation.prelu", "activation.prelu_back"],
    rows_of_values: ["gather.one_hot", "gather.mask_rows"],
    resizes: ["resize.across", "resize.down", "resize.down_cut"],
    paths: ["ctc.forward_counts", "ctc.gradient"],
    parts: ["gather.copy_rows", "gather.put_rows"],
    dropouts: ["philox.draw"],
    gradient_compression: [f"quantization.{f}" for f in ("pack_2bit", "pack_1bit", "unpack_2bit", "unpack_1bit")],
}
"""What calls kernels, and which."""
