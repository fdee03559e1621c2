"""Convolution and its two adjoints as products of gathered rows: see `native.gathered`.

Here the tables are made, once for each geometry. `image` and `outputs` have three axes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import gathered as native
from runtime.native.panels import panel_width
from runtime.ndarray.nn.windows import Shape, Window

FILLED = 0.64
"""The least part of the vectors that is to be filled with columns, unless windows are few and large."""
MIN_RUN = 8
"""The fewest consecutive elements under a row of the kernel."""
BLOCK = 256
"""About so many pixels of the result are computed at a time."""
MAX_SPLIT = 480
"""The most columns of a task, whose sums stay in the cache."""
MIN_TASKS = 8
"""A result is cut into at least so many tasks, by its pixels and then by its columns."""
COPY_ELEMENTS = 1 << 16
"""About so many elements are copied by a task."""
MANY_CHANNELS = 128
"""From so many channels on, pixels are not a power of 2 apart, at which they would share few lines of the cache."""
MAX_RUN = 512
"""The most products of a run: sums of more would round more."""
PARTS = 8
"""Parts of the batch for which the gradient of weights is computed apart;"""
SPLIT_WEIGHTS = 1 << 17
"""from so many weights on, filters are divided among tasks instead."""


class Padded(NamedTuple):
    """Images with their channels last and their padding around them."""

    sizes: np.ndarray  # as `native.channels_last` takes them
    shape: Shape  # with the padding, depth, height, width
    pixel: int  # elements from one pixel to the next
    parts: int  # tasks of an image

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.pixel


class Tables(NamedTuple):
    """A product of gathered rows."""

    padded: Padded
    g: np.ndarray  # as `native.convolve` and `native.convolve_weight` take it
    tasks: int
    blocks: int  # of pixels, of all images
    scratch: int
    panels: int  # elements
    places: np.ndarray  # where the weights go in the panels


def pays(columns: int, channels: int, outputs: Shape, window: Window) -> bool:
    """Whether this is the way to compute a convolution: a product with so many columns, of sums over so many channels
    of a group."""
    if window.groups > 1 and columns % native.LANES:
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 else 1)
    fills = columns >= FILLED * -(-columns // native.LANES) * native.LANES
    return run >= MIN_RUN and (fills or math.prod(outputs) < math.prod(window.kernel))


def pays_for_weight(filters: int, channels: int, window: Window) -> bool:
    """The same for the gradient of weights, whose columns are channels."""
    if window.groups > 1 and filters % native.LANES:
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 and channels < native.LANES else 1)
    return run >= FILLED * -(-run // native.LANES) * native.LANES


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    outputs = window.outputs(x.shape[2:])
    t = _of_outputs(len(x), x.shape[1], x.shape[2:], len(w), window, panel_width(x.dtype))
    panels = np.empty(t.panels, w.dtype)
    rows = w[0].size
    filters = len(w) // window.groups
    blocks = -(-filters // panel_width(x.dtype))
    native.pack_filters(
        window.groups * blocks,
        w.size,
        w,
        panels,
        panel_width(x.dtype),
        blocks,
        filters,
        rows,
        code_of("turn", w),
        t.places,
    )
    return _product(t, x, panels, bias, (len(x), len(w), *outputs), w)


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x: (n, channels, *image)."""
    channels, places = w.shape[1], math.prod(window.kernel)
    t = _of_image(len(y), channels * window.groups, image, len(w), window, panel_width(y.dtype))
    panels = np.empty(t.panels, w.dtype)
    width = panel_width(y.dtype)
    native.pack_channels(
        len(w), w.size, w, panels, width, -(-channels // width), len(w) // window.groups, channels, places,
        code_of("turn", w), t.places,
    )  # fmt: skip
    return _product(t, y, panels, None, (len(y), channels * window.groups, *image), w)


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w: (filters, channels/groups, ...).

    Few weights are summed for fixed parts of the batch, and these in order; of many, each task has some filters.
    """
    (n, channels), filters = x.shape[:2], y.shape[1]
    t = _of_outputs(n, channels, x.shape[2:], filters, window, panel_width(x.dtype))
    pixels, lanes, groups = math.prod(y.shape[2:]), native.LANES, window.groups
    last = np.empty(-(-filters // lanes) * lanes * n * pixels, y.dtype)
    code = code_of("turn", y)
    native.filters_last(n, y.size, y, last, filters, n, pixels, code, places_of(pixels, lanes))
    of_group, each = filters // groups, channels // groups
    places = math.prod(window.kernel)
    size = filters * each * places
    share, chunk = lanes * -(-of_group // (lanes * MIN_TASKS)), t.blocks
    if size < SPLIT_WEIGHTS:
        share, chunk = of_group, -(-t.blocks // PARTS)
    count = -(-t.blocks // chunk)
    parts = np.empty((count, size), x.dtype)
    tasks = count * groups * -(-of_group // share)
    native.convolve_weight(
        tasks, 2 * last.size * each * places // FLOPS, last, copied(t.padded, x), parts, of_group, share, chunk,
        code_of("gathered_sum", x), t.g,
    )  # fmt: skip
    w = np.empty((filters, each, *window.kernel), x.dtype)
    native.finish_weight(
        filters, parts.size, parts, w, count, size, each, places, code, places_of(each, places), scratch=each * places
    )
    return w


def _product(
    t: Tables, x: np.ndarray, panels: np.ndarray, bias: np.ndarray | None, shape: Shape, w: np.ndarray
) -> np.ndarray:
    y = np.empty(shape, x.dtype)
    work = 2 * w[0].size * (y if bias is not None or len(w) == shape[1] else x).size // FLOPS
    native.convolve(
        t.tasks, work, copied(t.padded, x), panels, bias, y, int(bias is not None), 0, code_of("gathered_gemm", x),
        code_of("turn", x), t.g, scratch=t.scratch,
    )  # fmt: skip
    return y


def copied(padded: Padded, x: np.ndarray) -> np.ndarray:
    """Images with their channels last."""
    to = np.empty(len(x) * padded.size, x.dtype)
    native.channels_last(len(x) * padded.parts, to.size, x, to, code_of("turn", x), padded.sizes)
    return to


def code_of(entry: str, x: np.ndarray) -> int:
    from optgen.linalg.own import gathered

    return gathered.address(entry, x.dtype)


@functools.lru_cache(maxsize=256)
def places_of(count: int, step: int) -> np.ndarray:
    """`count` places, a step apart."""
    return np.arange(count, dtype=np.int64) * step


# ---------------------------------------------------------------- tables


@functools.lru_cache(maxsize=256)
def _of_outputs(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Tables:
    """The product whose rows are the windows of images, and whose columns are filters."""
    outputs, images = _three(window.outputs(image), 1), _three(image, 1)
    kernel, stride, pad, dilate = (_three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    # Of planes and rows that no place of the kernel is over, there are no copies.
    every = [s if k == 1 and p == 0 else 1 for s, k, p in zip(stride[:2], kernel[:2], pad[:2], strict=True)] + [1]
    size = tuple(-(-length // e) + 2 * p for length, e, p in zip(images, every, pad, strict=True))
    whole = padded(channels, images, size, pad, every)
    moves = [s // e for s, e in zip(stride, every, strict=True)]
    rows, offsets = _places(outputs, moves, whole), _places(kernel, dilate, whole)
    of_group = run = channels // window.groups
    order = np.arange(math.prod(kernel) * of_group).reshape(-1, of_group).T.reshape(-1) * width
    if whole.pixel == of_group and dilate[2] == 1:  # what is under a row of the kernel is one run
        run, offsets = of_group * kernel[2], offsets[:: kernel[2]]
    return _tables(whole, n, window.groups, filters, width, run, rows, np.zeros(len(rows), np.int64), [offsets], order)


@functools.lru_cache(maxsize=256)
def _of_image(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Tables:
    """The product that gives images, whose rows are of y and whose columns are channels.

    The pixels of a phase, which are a stride apart along each axis, meet the same places of the kernel.
    """
    outputs, images = _three(window.outputs(image), 1), _three(image, 1)
    kernel, stride, pad, dilate = (_three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    axes = [_axis_phases(*x) for x in zip(images, outputs, kernel, stride, pad, dilate, strict=True)]
    before = tuple(low for _, low, _ in axes)
    whole = padded(filters, outputs, tuple(size for _, _, size in axes), before, (1, 1, 1))
    steps = _steps_of(whole)
    pixels = np.indices(images).reshape(3, -1)
    rows = sum((x // s + low) * step for x, s, low, step in zip(pixels, stride, before, steps, strict=True))
    phase = np.ravel_multi_index([x % s for x, s in zip(pixels, stride, strict=True)], stride)
    of_group, blocks = filters // window.groups, -(-channels // window.groups // width)
    order, offsets, start = np.empty((blocks, *kernel), np.int64), [], 0
    for chosen in itertools.product(*(found for found, _, _ in axes)):
        met = list(itertools.product(*chosen))
        for o, places in enumerate(met):
            at = start + (np.arange(blocks) * len(met) + o) * of_group * width
            order[(slice(None), *(k for k, _ in places))] = at
        offsets.append(np.array([sum(x * s for (_, x), s in zip(p, steps, strict=True)) for p in met], np.int64))
        start += blocks * len(met) * of_group * width
    return _tables(whole, n, window.groups, channels, width, of_group, rows, phase, offsets, order.reshape(-1))


def _axis_phases(
    image: int, outputs: int, kernel: int, stride: int, pad: int, dilate: int
) -> tuple[list[list[tuple[int, int]]], int, int]:
    """For each phase of an axis, the places of the kernel, and at what distance from the pixel, divided by the stride,
    is the output that met the pixel there. Then the padding that the outputs need before them, and their length with
    all padding."""
    found = [
        [(k, (r + pad - k * dilate) // stride) for k in range(kernel) if (r + pad - k * dilate) % stride == 0]
        for r in range(stride)
    ]
    reached = [(r, at) for r, phase in enumerate(found) for _, at in phase]
    low = max(0, *(-at for _, at in reached))
    high = max((image - 1 - r) // stride + at for r, at in reached)
    return found, low, low + max(outputs, high + 1)


def _tables(
    padded: Padded, n: int, groups: int, columns: int, width: int, run: int, rows: np.ndarray, phase: np.ndarray,
    offsets: list[np.ndarray], order: np.ndarray,
) -> Tables:  # fmt: skip
    """The product with these rows, of which each is in a phase with offsets of its own, and `columns` columns."""
    pixels, columns, length = len(rows), columns // groups, run * sum(map(len, offsets))
    run, offsets = short_runs(run, offsets)
    block = min(pixels, block_length(pixels, BLOCK, 8))
    blocks, together = -(-pixels // block), min(n, max(1, BLOCK // pixels))
    in_all = -(-n // together) * blocks
    splits = min(-(-columns // (3 * width)), max(-(-MIN_TASKS // (in_all * groups)), -(-columns // MAX_SPLIT)))
    split = block_length(columns, -(-columns // splits), width)
    sequence, segments, done = [], [], 0
    for start in range(0, pixels, block):
        of_block = phase[start : start + block]
        for r in range(len(offsets)):
            found = np.flatnonzero(of_block == r)
            segments += [done, len(found)]
            sequence += [(image, start, found) for image in range(together)]
            done += together * len(found)
    of_rows = np.concatenate([image * padded.size + rows[start + found] for image, start, found in sequence])
    to = np.concatenate([(image * block + found) * split for image, _, found in sequence])
    starts = np.cumsum([0, *map(len, offsets)])
    panel_columns = -(-columns // width) * width
    phases = [x for r, o in enumerate(offsets) for x in (starts[r], len(o), starts[r] * run * panel_columns)]
    tables = [of_rows, to, np.concatenate(offsets), phases, segments, np.arange(split) * pixels]
    places = np.cumsum([native.TABLES + len(tables), *map(len, tables)])[:-1]
    size = panel_columns * length
    sizes = [n, padded.size, together, blocks, block, groups, padded.sizes[native.CHANNELS] // groups, size]
    sizes += [columns, -(-columns // split), split, run, pixels, len(offsets)]
    g = np.concatenate([sizes, places, *tables]).astype(np.int64)
    tasks = in_all * groups * -(-columns // split)
    return Tables(padded, g, tasks, in_all, together * block * split, groups * size, order)


def block_length(n: int, most: int, multiple: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all; rounded up to a multiple."""
    return -(-n // -(-n // most) // multiple) * multiple


def short_runs(run: int, offsets: list[np.ndarray]) -> tuple[int, list[np.ndarray]]:
    """Runs of at most MAX_RUN elements, and their offsets."""
    pieces = next(p for p in range(-(-run // MAX_RUN), run + 1) if run % p == 0)
    run //= pieces
    return run, [(x[:, None] + np.arange(pieces) * run).reshape(-1) for x in offsets]


def padded(channels: int, image: Shape, shape: Shape, before: Shape, every: Sequence[int]) -> Padded:
    """Of images, every so manieth plane and row, with padding around them; `shape` is with it."""
    pixel = channels
    if channels >= native.LANES:
        pixel = -(-channels // native.LANES) * native.LANES
        if channels >= MANY_CHANNELS and pixel // native.LANES % 2 == 0:
            pixel += native.LANES
    lines = max(1, COPY_ELEMENTS // (shape[2] * pixel))
    parts = -(-shape[0] * shape[1] // lines)
    sizes = [channels, *image, *shape, *before, *every[:2], pixel, lines, parts]
    places = np.arange(image[2]) * pixel
    return Padded(np.concatenate([sizes, places]).astype(np.int64), shape, pixel, parts)


def _steps_of(padded: Padded) -> Shape:
    """The distance of planes, rows and pixels in elements."""
    _, height, width = padded.shape
    return height * width * padded.pixel, width * padded.pixel, padded.pixel


def _places(counts: Shape, moves: Sequence[int], padded: Padded) -> np.ndarray:
    """The places that a grid of `counts` has, which moves by so many planes, rows and pixels."""
    steps = [move * step for move, step in zip(moves, _steps_of(padded), strict=True)]
    return sum(x * step for x, step in zip(np.indices(counts).reshape(3, -1), steps, strict=True))


def _three(axes: Sequence[int], other: int) -> Shape:
    return (other,) * (3 - len(axes)) + tuple(axes)
