"""Convolution and its two adjoints as products whose rows are gathered: see `native.gathered`."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import gathered as native
from runtime.native.panels import aligned, panel_width
from runtime.ndarray.nn.windows import Shape, Window

FILLED = 0.64
"""The least part of the vectors that is to be filled with columns, unless windows are few and large."""
MIN_RUN = 8
"""The fewest consecutive elements under a row of the kernel."""
BLOCK = 256
"""So many pixels of the result are computed at a time, or"""
WIDE_BLOCK = 512
"""so many where"""
BOX_ELEMENTS = 3 << 16
"""their boxes have no more elements than these, and stay in the second cache."""
MAX_SPLIT = 480
"""The most columns of a task, whose sums stay in the cache."""
MIN_TASKS = 8
"""A result is cut into at least so many tasks, by its pixels and then by its columns."""
MANY_CHANNELS = 128
"""From so many channels on, pixels are not a power of 2 apart, at which they would share few lines of the cache."""
MAX_RUN = 192
"""The most products of a run: the panels that a tile meets in one stay in the first cache."""
FILTERS_PER_TASK = 64
"""The filters whose weights a task packs."""
MAX_SHARE = 1 << 18
"""The most elements of the gradient of weights that a task sums, while there are others to take a share;"""
PART_WORK = 3
"""the time that an element takes for each part of the batch, in those of an element of a box."""


class Boxes(NamedTuple):
    """How images are copied with their channels last and their padding around them."""

    channels: int  # that are copied: those of a group
    image: Shape  # depth, height, width
    before: Shape  # padding before the first plane, row and column
    every: Shape  # every how manieth plane, row and column is copied; of columns 1

    @property
    def pixel(self) -> int:
        """The elements from one pixel to the next."""
        if self.channels < native.LANES:
            return self.channels
        pixel = -(-self.channels // native.LANES)
        return (pixel + (self.channels >= MANY_CHANNELS and pixel % 2 == 0)) * native.LANES

    def steps(self, lengths: Shape) -> np.ndarray:
        """The distance of planes, rows and pixels in a box, in elements."""
        _, rows, columns = lengths
        return np.array([rows * columns * self.pixel, columns * self.pixel, self.pixel])

    def sizes(self, lengths: Shape) -> np.ndarray:
        """What `native.copy_box` takes, for boxes of these lengths at most."""
        _, line, pixel = self.steps(lengths)
        rows, columns = np.indices((min(lengths[1], self.image[1]), self.image[2])).reshape(2, -1)
        numbers = [*self.image, *self.before, *self.every[:2], pixel, line, lengths[1]]
        return np.concatenate([numbers, rows * line + columns * pixel])


class Product(NamedTuple):
    """A product of gathered rows with panels, as `native.convolve` takes it."""

    g: np.ndarray
    tasks: int
    scratch: int
    panels: int  # elements
    places: np.ndarray  # where the weights go in the panels


class WeightProduct(NamedTuple):
    """A product that gives weights, as `native.convolve_weight` takes it."""

    g: np.ndarray
    tasks: int  # of each part of the batch
    scratch: int
    step: int  # how far its rows of y are apart
    turned: bool  # whether vectors are of filters
    blocks: int  # of pixels, of all images
    chunk: int  # of these, in a part


def pays(columns: int, channels: int, outputs: Shape, window: Window) -> bool:
    """Whether this is the way to compute a convolution: a product with so many columns, of sums over so many channels
    of a group."""
    if window.groups > 1 and columns % native.LANES:
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 else 1)
    fills = columns >= FILLED * -(-columns // native.LANES) * native.LANES
    return run >= MIN_RUN and (fills or math.prod(outputs) < math.prod(window.kernel))


def pays_for_weight(filters: int, channels: int, window: Window) -> bool:
    """The same for the gradient of weights, whose vectors are of channels or of filters."""
    if window.groups > 1 and filters % native.LANES:
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 and channels < native.LANES else 1)
    return run >= MIN_RUN // 2 and run * filters >= FILLED * native.LANES * min(
        run * vectors_of(filters), filters * vectors_of(run)
    )


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    width = panel_width(x.dtype)
    t = _of_outputs(len(x), x.shape[1], x.shape[2:], len(w), window, width)
    panels = aligned(t.panels, w.dtype)
    filters, rows = len(w) // window.groups, w[0].size
    blocks = -(-filters // width)
    native.pack_filters(
        window.groups * blocks, w.size, w, panels, width, blocks, filters, rows, code_of("turn", w), t.places
    )
    return _product(t, x, panels, bias, (len(x), len(w), *window.outputs(x.shape[2:])), w)


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x: (n, channels, *image)."""
    t = _of_image(len(y), w.shape[1] * window.groups, image, len(w), window, panel_width(y.dtype))
    panels = packed_channels(w, t.panels, window.groups, t.places)
    return _product(t, y, panels, None, (len(y), w.shape[1] * window.groups, *image), w)


def packed_channels(w: np.ndarray, size: int, groups: int, places: np.ndarray) -> np.ndarray:
    """Panels of `size` elements in all with a line for each channel of the weights (filters, channels, ...)."""
    panels, width = aligned(size, w.dtype), panel_width(w.dtype)
    channels, filters = w.shape[1], len(w) // groups
    blocks, kernel = -(-channels // width), math.prod(w.shape[2:])
    tasks = groups * -(-blocks // native.PANELS) * -(-filters // FILTERS_PER_TASK)
    native.pack_channels(
        tasks, w.size, w, panels, width, blocks, filters, channels, kernel, FILTERS_PER_TASK, code_of("turn", w), places
    )
    return panels


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w: (filters, channels/groups, ...).

    Few weights are summed for fixed parts of the batch, and these in order; of many, each task has some filters.
    """
    (n, channels), filters = x.shape[:2], y.shape[1]
    t = _of_weights(n, channels, x.shape[2:], filters, window)
    each, places = channels // window.groups, math.prod(window.kernel)
    count, size = -(-t.blocks // t.chunk), filters * each * places
    parts, w = np.empty((count, size) if count > 1 else 0, x.dtype), np.empty((filters, each, *window.kernel), x.dtype)
    code = code_of("turn", y)
    native.convolve_weight(
        count * t.tasks, 2 * y.size * each * places // FLOPS, y, x, parts, w, t.blocks, t.chunk, t.step,
        int(t.turned), code_of("gathered_sum", x), code, t.g, scratch=t.scratch,
    )  # fmt: skip
    if count > 1:
        native.sum_weight(
            filters, parts.size, parts, w, count, size, each, places, code, places_of(each, places),
            scratch=each * places,
        )  # fmt: skip
    return w


def _product(
    t: Product, x: np.ndarray, panels: np.ndarray, bias: np.ndarray | None, shape: Shape, w: np.ndarray
) -> np.ndarray:
    y = np.empty(shape, x.dtype)
    work = 2 * w[0].size * (y if bias is not None or len(w) == shape[1] else x).size // FLOPS
    native.convolve(
        t.tasks, work, x, panels, bias, y, int(bias is not None), 0, code_of("gathered_gemm", x), code_of("turn", x),
        t.g, scratch=t.scratch,
    )  # fmt: skip
    return y


def code_of(entry: str, x: np.ndarray) -> int:
    from optgen.linalg.own import gathered

    return gathered.address(entry, x.dtype)


@functools.lru_cache(maxsize=256)
def places_of(count: int, step: int) -> np.ndarray:
    """`count` places, a step apart."""
    return np.arange(count, dtype=np.int64) * step


# ---------------------------------------------------------------- tables


class Gathering(NamedTuple):
    """What the rows of a product are: for each pixel of a result, what it meets of padded images."""

    boxes: Boxes
    starts: tuple[np.ndarray, ...]  # for each axis of the result, where its pixels are
    phases: Shape  # pixels so far apart along each axis meet the same places
    offsets: list[np.ndarray]  # (places, 3) of each phase: how far from the pixel they are
    run: int  # consecutive elements of a place
    reach: np.ndarray  # (2, 3): the least and the largest of these offsets along each axis, before runs are joined

    @property
    def pixels(self) -> Shape:
        return tuple(map(len, self.starts))

    def extent(self, axis: int, first: int, length: int) -> tuple[int, int]:
        """Where the box of some planes, rows or columns of the result begins, and how long it is."""
        of = self.starts[axis]
        low, high = self.reach[:, axis]
        return of[first] + low, of[min(first + length, len(of)) - 1] + high - of[first] - low + 1

    def box(self, lengths: Shape) -> Shape:
        """The lengths of a box for any block of these lengths."""
        ends = (range(0, n, length) for n, length in zip(self.pixels, lengths, strict=True))
        return tuple(
            int(max(self.extent(axis, first, lengths[axis])[1] for first in firsts)) for axis, firsts in enumerate(ends)
        )

    def fits(self, lengths: Shape, images: int = 1) -> bool:
        """Whether a block of these lengths is small enough."""
        elements = images * self.boxes.pixel * math.prod(self.extent(i, 0, k)[1] for i, k in enumerate(lengths))
        return images * math.prod(lengths) <= (BLOCK if elements > BOX_ELEMENTS else WIDE_BLOCK)


class Blocks(NamedTuple):
    """How the pixels of a result are cut into blocks of consecutive ones, and the tables that follow."""

    together: int  # images of a block
    each: int  # blocks of an image
    pixels: int  # of the largest block of an image
    box: int  # elements of the box of an image, a multiple of those of a line of the cache
    rows: np.ndarray  # places in the boxes of a block, phase by phase
    of_rows: np.ndarray  # which pixels of a block these are
    segments: np.ndarray  # for each block and phase: its first row, and the rows of an image
    table: np.ndarray  # blocks, as `native` has them
    steps: np.ndarray  # from plane to plane, row to row, pixel to pixel of a box
    sizes: np.ndarray  # as `native.copy_box` takes them


def _blocks(rows: Gathering, n: int) -> Blocks:
    """The blocks of n images."""
    lengths, together = rows.pixels, 1
    if rows.fits(lengths):
        together = block_length(n, _most(n, lambda k: rows.fits(lengths, k)), 1)
    for axis, whole in enumerate(lengths):
        before, after = lengths[:axis], lengths[axis + 1 :]
        most = _most(whole, lambda k, before=before, after=after: rows.fits((*before, k, *after)))
        lengths = (*before, block_length(whole, most, 1), *after)
    longest = rows.box(lengths)
    steps = rows.boxes.steps(longest)
    box = -(-math.prod(longest) * rows.boxes.pixel // native.LANES) * native.LANES
    table, places, pixels, segments, done = [], [], [], [], 0
    for first in itertools.product(*(range(0, s, k) for s, k in zip(rows.pixels, lengths, strict=True))):
        starts = [x[at : at + k] for x, at, k in zip(rows.starts, first, lengths, strict=True)]
        extents = [rows.extent(axis, at, k) for axis, (at, k) in enumerate(zip(first, lengths, strict=True))]
        shape = tuple(map(len, starts))
        count = math.prod(shape)
        table += [np.ravel_multi_index(first, rows.pixels), count, *(x for x, _ in extents), *(k for _, k in extents)]
        at = [(x - begin) * step for x, (begin, _), step in zip(starts, extents, steps, strict=True)]
        place = sum(np.ix_(*at)).reshape(-1)
        which = [(np.arange(k) + i) % s for k, i, s in zip(shape, first, rows.phases, strict=True)]
        phase = np.ravel_multi_index(np.ix_(*which), rows.phases).reshape(-1)
        for r in range(len(rows.offsets)):
            found = np.flatnonzero(phase == r)
            segments += [done, len(found)]
            done += together * len(found)
            places += [image * box + place[found] for image in range(together)]
            pixels += [image * count + found for image in range(together)]
    return Blocks(
        together, len(table) // native.BLOCK_SIZE, max(table[native.COUNT :: native.BLOCK_SIZE]), box,
        np.concatenate(places), np.concatenate(pixels), np.array(segments), np.array(table), steps,
        rows.boxes.sizes(longest),
    )  # fmt: skip


def _most(n: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to n that it holds for, or 1; of a number that it holds for, it holds for all before."""
    return max(1, bisect.bisect_left(range(1, n + 1), True, key=lambda k: not holds(k)))


@functools.lru_cache(maxsize=256)
def _of_outputs(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Product:
    """The product whose rows are the windows of images, and whose columns are filters."""
    of_group = channels // window.groups
    order = np.arange(math.prod(window.kernel) * of_group).reshape(-1, of_group).T.reshape(-1) * width
    return _product_of(_windows(of_group, image, window), n, window.groups, filters // window.groups, width, order)


@functools.lru_cache(maxsize=256)
def _of_image(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Product:
    """The product that gives images, whose rows are of y and whose columns are channels.

    The pixels of a phase, which are a stride apart along each axis, meet the same places of the kernel.
    """
    outputs, images = _three(window.outputs(image), 1), _three(image, 1)
    kernel, stride, pad, dilate = (_three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    axes = [_axis_phases(*x) for x in zip(kernel, stride, pad, dilate, strict=True)]
    of_group, columns = filters // window.groups, channels // window.groups
    blocks = -(-columns // width)
    order, offsets, start = np.empty((blocks, *kernel), np.int64), [], 0
    for chosen in itertools.product(*axes):
        met = list(itertools.product(*chosen))
        for o, places in enumerate(met):
            at = start + (np.arange(blocks) * len(met) + o) * of_group * width
            order[(slice(None), *(k for k, _ in places))] = at
        offsets.append(np.array([[distance for _, distance in places] for places in met]).reshape(-1, 3))
        start += blocks * len(met) * of_group * width
    reached = np.concatenate(offsets)
    reach = np.array([reached.min(axis=0), reached.max(axis=0)])
    starts = tuple(np.arange(size) // s for size, s in zip(images, stride, strict=True))
    rows = Gathering(Boxes(of_group, outputs, (0, 0, 0), (1, 1, 1)), starts, stride, offsets, of_group, reach)
    return _product_of(rows, n, window.groups, columns, width, order.reshape(-1))


def _windows(of_group: int, image: Shape, window: Window) -> Gathering:
    """The windows of images with so many channels in a group."""
    outputs, images = _three(window.outputs(image), 1), _three(image, 1)
    kernel, stride, pad, dilate = (_three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    # Of planes and rows that no place of the kernel is over, there are no copies.
    every = (*(s if k == 1 and p == 0 else 1 for s, k, p in zip(stride[:2], kernel[:2], pad[:2], strict=True)), 1)
    boxes, run = Boxes(of_group, images, pad, every), of_group
    starts = tuple(np.arange(size) * (s // e) for size, s, e in zip(outputs, stride, every, strict=True))
    offsets = np.indices(kernel).reshape(3, -1).T * dilate
    reach = np.array([offsets[0], offsets[-1]])
    if boxes.pixel == of_group and dilate[2] == 1:  # what is under a row of the kernel is one run
        run, offsets = of_group * kernel[2], offsets[:: kernel[2]]
    return Gathering(boxes, starts, (1, 1, 1), [offsets], run, reach)


def _axis_phases(kernel: int, stride: int, pad: int, dilate: int) -> list[list[tuple[int, int]]]:
    """For each phase of an axis, the places of the kernel, and at what distance from the pixel, divided by the stride,
    is the output that met the pixel there."""
    return [
        [(k, (r + pad - k * dilate) // stride) for k in range(kernel) if (r + pad - k * dilate) % stride == 0]
        for r in range(stride)
    ]


def _product_of(rows: Gathering, n: int, groups: int, columns: int, width: int, order: np.ndarray) -> Product:
    """The product with `columns` columns in each group."""
    b = _blocks(rows, n)
    run, offsets = short_runs(rows.run, [x @ b.steps for x in rows.offsets])
    in_all = -(-n // b.together) * b.each
    splits = min(-(-columns // (3 * width)), max(-(-MIN_TASKS // (in_all * groups)), -(-columns // MAX_SPLIT)))
    split = block_length(columns, -(-columns // splits), width)
    splits = -(-columns // split)
    starts = np.cumsum([0, *map(len, offsets)])
    panel_columns = -(-columns // width) * width
    phases = [x for r, o in enumerate(offsets) for x in (starts[r], len(o), starts[r] * run * panel_columns)]
    size = panel_columns * run * starts[-1]
    pixels = math.prod(rows.pixels)
    g = _tables(
        b, n, rows, [groups, rows.boxes.channels, size, columns, splits, split, run, pixels, len(offsets)],
        b.of_rows * split, offsets, phases, np.arange(split) * pixels,
    )  # fmt: skip
    scratch = b.together * (b.box + b.pixels * split)
    return Product(g, in_all * groups * splits, scratch, groups * int(size), order)


@functools.lru_cache(maxsize=256)
def _of_weights(n: int, channels: int, image: Shape, filters: int, window: Window) -> WeightProduct:
    """The product whose rows are pixels, and whose columns are filters."""
    each, columns, places = channels // window.groups, filters // window.groups, math.prod(window.kernel)
    rows = _windows(each, image, window)
    b = _blocks(rows, n)
    in_all = -(-n // b.together) * b.each
    share, parts = _shares(n * math.prod(image) * each, columns, each * places, window.groups)
    chunk = -(-in_all // parts)
    run, offsets = short_runs(rows.run, [x @ b.steps for x in rows.offsets])
    step = (-(-share // native.LANES) | 1) * native.LANES  # rows do not share few lines of the cache
    splits = -(-columns // share)
    turned = run * vectors_of(share) < share * vectors_of(run)
    to = np.concatenate([np.arange(each) * places, np.arange(share) * each * places])
    g = _tables(
        b, n, rows, [window.groups, each, 0, columns, splits, share, run, math.prod(rows.pixels), 1], to, offsets,
        [0, len(offsets[0]), 0], np.arange(b.together * b.pixels) * step,
    )  # fmt: skip
    sums = turned * step * each * places + (share * each * places if chunk >= in_all else 0)
    scratch = b.together * (b.box + b.pixels * step) + sums
    return WeightProduct(g, window.groups * splits, scratch, step, turned, in_all, chunk)


def vectors_of(elements: int) -> int:
    """The vectors that hold so many elements."""
    return -(-elements // native.LANES)


def _shares(elements: int, filters: int, weights: int, groups: int) -> tuple[int, int]:
    """The filters of a task, and the parts of the batch, for images with so many elements in a group, and filters with
    so many weights: what copies and sums the least. Each share of the filters copies the images."""
    best = None
    for shares in range(1, -(-filters // native.LANES) + 1):
        share = block_length(filters, -(-filters // shares), native.LANES)
        taken = -(-filters // share)
        parts = -(-MIN_TASKS // (groups * taken))
        too_large = share * weights > MAX_SHARE and share > native.LANES
        cost = taken * elements + (parts > 1) * PART_WORK * parts * filters * weights
        if best is None or (too_large, cost) < best[0]:
            best = (too_large, cost), share, parts
    assert best is not None
    return best[1:]


def _tables(
    b: Blocks, n: int, rows: Gathering, numbers: Sequence[int], to: np.ndarray, offsets: Sequence[np.ndarray],
    phases: Sequence[int], places: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The sizes and the tables, one after the other."""
    tables = [b.rows, to, np.concatenate(offsets), phases, b.segments, places, b.table, b.sizes]
    at = np.cumsum([native.TABLES + len(tables), *map(len, tables)])[:-1]
    sizes = [n, b.together, b.each, *numbers, math.prod(rows.boxes.image), b.box, b.pixels]
    return np.concatenate([sizes, at, *tables]).astype(np.int64)


def block_length(n: int, most: int, multiple: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all; rounded up to a multiple."""
    return -(-n // -(-n // most) // multiple) * multiple


def short_runs(run: int, offsets: Sequence[np.ndarray]) -> tuple[int, list[np.ndarray]]:
    """Runs of at most MAX_RUN elements, and their offsets."""
    pieces = next(p for p in range(-(-run // MAX_RUN), run + 1) if run % p == 0)
    run //= pieces
    return run, [(x[:, None] + np.arange(pieces) * run).reshape(-1) for x in offsets]


def _three(axes: Sequence[int], other: int) -> Shape:
    return (other,) * (3 - len(axes)) + tuple(axes)
