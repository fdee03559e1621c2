"""Convolution and its two adjoints as products whose rows are gathered: see `native.gathered`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optgen.backends import machine
from runtime.core.blas import FLOPS
from runtime.core.kept import kept, of_sizes
from runtime.native import gathered as native
from runtime.native.channels_last import LANES
from runtime.native.panels import aligned, panel_width
from runtime.ndarray.nn import channels_last
from runtime.ndarray.nn.channels_last import Blocks, Windows, block_length, blocks
from runtime.ndarray.nn.windows import Shape, Window

FILLED = 0.62
"""The least part of the vectors that is to be filled with columns, unless windows are few and large."""
MIN_RUN = 8
"""The fewest consecutive elements under a row of the kernel."""
MAX_SPLIT = machine.value("convolutions.columns_per_task")
"""The most columns of a task, whose sums stay in the cache."""
MIN_TASKS = 8
"""A result is cut into at least so many tasks, by its pixels and then by its columns."""
MAX_RUN = 192
"""The most products of a run: the panels that a tile meets in one stay in the first cache."""
FILTERS_PER_TASK = machine.value("convolutions.filters_packed")
"""The filters whose weights a task packs."""
MAX_SPREAD = 1024
"""The most pixels that boxes have for each place of the kernel: what lies between the places is copied, too."""
MAX_PARTS = 512
"""The most groups of places of a kernel, for each of which a product is made."""
SPARSE_GAIN = 0.95
"""Padding is left out if the products that remain take no more than so much of the time, where"""
SPARSE_WORK = 8
"""the sums of a place of the kernel take as long as so many channels."""
PART_WORK = 3
"""The time that an element of the gradient of weights takes for each part of the batch, in those of an element of a
box."""


class Product(NamedTuple):
    """A product of gathered rows with panels, as `native.convolve` takes it."""

    g: np.ndarray
    tasks: int
    scratch: int
    panels: int  # elements
    places: np.ndarray  # where the weights go in the panels
    apart: int  # how far blocks of panels are apart


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
    if (window.groups > 1 and columns % LANES) or _is_spread(window):
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 else 1)
    fills = columns >= FILLED * -(-columns // LANES) * LANES
    return run >= MIN_RUN and (fills or math.prod(outputs) < math.prod(window.kernel))


def pays_for_image(columns: int, channels: int, image: Shape, window: Window) -> bool:
    """The same for the gradient of images."""
    few = math.prod(channels_last.phases_of(image, window)) <= MAX_PARTS
    return few and pays(columns, channels, image, window)


def pays_for_weight(filters: int, channels: int, window: Window) -> bool:
    """The same for the gradient of weights, whose vectors are of channels or of filters."""
    if (window.groups > 1 and filters % LANES) or _is_spread(window):
        return False
    run = channels * (window.kernel[-1] if window.dilate[-1] == 1 and channels < LANES else 1)
    return run >= MIN_RUN // 2 and run * filters >= FILLED * LANES * min(
        run * vectors_of(filters), filters * vectors_of(run)
    )


def _is_spread(window: Window) -> bool:
    return window.extent > MAX_SPREAD * math.prod(window.kernel)


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    width = panel_width(x.dtype)
    y = np.empty((len(x), len(w), *window.outputs(x.shape[2:])), x.dtype)  # before the tables: there may be no memory
    t = _of_outputs(len(x), x.shape[1], x.shape[2:], len(w), window, width)
    panels = packed_filters(w, t.panels, window.groups, width, t.places, t.apart)
    return _product(t, x, panels, bias, y, w)


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x: (n, channels, *image)."""
    t = _of_image(len(y), w.shape[1] * window.groups, image, len(w), window, panel_width(y.dtype))
    panels = packed_channels(w, t.panels, window.groups, t.places)
    x = np.empty((len(y), w.shape[1] * window.groups, *image), y.dtype)
    return _product(t, y, panels, None, x, w)


def packed_filters(w: np.ndarray, size: int, groups: int, width: int, places: np.ndarray, apart: int) -> np.ndarray:
    """Panels of `size` elements in all, `width` wide, with a line for each filter of the weights (filters, channels,
    ...). `places` are where the weights of a filter go, and blocks of panels are `apart`."""
    panels = aligned(size, w.dtype)
    filters = len(w) // groups
    count = -(-filters // width)
    native.pack_filters(
        groups * count, w.size, w, panels, width, count, filters, w[0].size, apart, code_of("turn", w), places
    )
    return panels


def packed_channels(w: np.ndarray, size: int, groups: int, places: np.ndarray) -> np.ndarray:
    """Panels of `size` elements in all with a line for each channel of the weights (filters, channels, ...)."""
    panels, width = aligned(size, w.dtype), panel_width(w.dtype)
    channels, filters = w.shape[1], len(w) // groups
    count, kernel = -(-channels // width), math.prod(w.shape[2:])
    tasks = groups * -(-count // native.PANELS) * -(-filters // FILTERS_PER_TASK)
    native.pack_channels(
        tasks, w.size, w, panels, width, count, filters, channels, kernel, FILTERS_PER_TASK, code_of("turn", w), places
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
    t: Product, x: np.ndarray, panels: np.ndarray, bias: np.ndarray | None, y: np.ndarray, w: np.ndarray
) -> np.ndarray:
    work = 2 * w[0].size * (y if bias is not None or len(w) == y.shape[1] else x).size // FLOPS
    native.convolve(
        t.tasks, work, x, panels, bias, y, int(bias is not None), 0, code_of("gathered_gemm", x), code_of("turn", x),
        t.g, scratch=t.scratch,
    )  # fmt: skip
    return y


def code_of(entry: str, x: np.ndarray) -> int:
    from optgen.linalg.own import gathered

    return gathered.address(entry, x.dtype)


@functools.lru_cache(maxsize=256)
@of_sizes
def places_of(count: int, step: int) -> np.ndarray:
    """`count` places, a step apart."""
    return np.arange(count, dtype=np.int64) * step


# ---------------------------------------------------------------- tables


def _is_sparse(channels: int, window: Window, filled: float) -> bool:
    """Whether what padding gives is left out, and each place of the kernel has a product of its own."""
    return 0 < filled * (channels + SPARSE_WORK) < SPARSE_GAIN * channels and math.prod(window.kernel) <= MAX_PARTS


@kept
def _of_outputs(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Product:
    """The product whose rows are the windows of images, and whose columns are filters."""
    of_group, columns = channels // window.groups, filters // window.groups
    sparse = _is_sparse(of_group, window, channels_last.filled_of_outputs(image, window))
    windows = channels_last.of_outputs(of_group, image, window, sparse=sparse)
    places, panels = math.prod(window.kernel), -(-columns // width)
    # Panels of all places, or for each place panels of its own.
    each, apart = (panels, of_group * width) if windows.overlap else (1, places * of_group * width)
    order = (np.arange(places)[:, None] * each * of_group + np.arange(of_group)) * width
    b = blocks(windows, n)
    run, offsets = _runs(windows, b, window)
    return _product_of(windows, b, n, window.groups, columns, width, run, offsets, order.T.reshape(-1), apart)


@kept
def _of_image(n: int, channels: int, image: Shape, filters: int, window: Window, width: int) -> Product:
    """The product that gives images, whose rows are of y and whose columns are channels."""
    of_group, columns = filters // window.groups, channels // window.groups
    sparse = _is_sparse(of_group, window, channels_last.filled_of_image(image, window))
    windows = channels_last.of_image(of_group, image, window, sparse=sparse)
    panels, start = -(-columns // width), 0
    order = np.empty((panels, math.prod(window.kernel)), np.int64)
    for group in windows.groups:
        count = len(group.places)
        order[:, group.places] = start + (np.arange(panels)[:, None] * count + np.arange(count)) * of_group * width
        start += panels * count * of_group * width
    b = blocks(windows, n)
    run, offsets = short_runs(of_group, [x.offsets @ b.steps for x in windows.groups])
    return _product_of(windows, b, n, window.groups, columns, width, run, offsets, order.reshape(-1))


def _runs(windows: Windows, b: Blocks, window: Window) -> tuple[int, list[np.ndarray]]:
    """The consecutive elements that windows consist of, and how far they are from a pixel, group by group: what is
    under a place of the kernel, or under a row of it, or parts of that."""
    run, every = windows.boxes.channels, 1
    if windows.boxes.pixel == run and window.dilate[-1] == 1 and not windows.overlap:
        run, every = run * window.kernel[-1], window.kernel[-1]
    return short_runs(run, [x.offsets[::every] @ b.steps for x in windows.groups])


def _product_of(
    windows: Windows, b: Blocks, n: int, groups: int, columns: int, width: int, run: int, offsets: list[np.ndarray],
    order: np.ndarray, apart: int = 0,
) -> Product:  # fmt: skip
    """The product with `columns` columns in each group."""
    in_all = b.in_all(n)
    splits = min(-(-columns // (3 * width)), max(-(-MIN_TASKS // (in_all * groups)), -(-columns // MAX_SPLIT)))
    split = block_length(columns, -(-columns // splits), width)
    splits = -(-columns // split)
    panel_columns, pixels = -(-columns // width) * width, math.prod(windows.pixels)
    size = panel_columns * run * sum(map(len, offsets))
    g = tables(
        b, n, windows, [groups, windows.boxes.channels, size, columns, splits, split, run, pixels], b.of_rows * split,
        offsets, run * panel_columns, np.arange(split) * pixels,
    )  # fmt: skip
    scratch = b.together * (b.box + b.pixels * split)
    return Product(g, in_all * groups * splits, scratch, groups * size, order, apart)


@kept
def _of_weights(n: int, channels: int, image: Shape, filters: int, window: Window) -> WeightProduct:
    """The product whose rows are pixels, and whose columns are filters."""
    each, columns, places = channels // window.groups, filters // window.groups, math.prod(window.kernel)
    sparse = _is_sparse(each, window, channels_last.filled_of_outputs(image, window))
    windows = channels_last.of_outputs(each, image, window, sparse=sparse)
    b = blocks(windows, n)
    in_all = b.in_all(n)
    share, parts = _shares(n * math.prod(image) * each, columns, each * places, window.groups)
    chunk = -(-in_all // parts)
    run, offsets = _runs(windows, b, window)
    step = (-(-share // LANES) | 1) * LANES  # rows do not share few lines of the cache
    splits = -(-columns // share)
    turned = run * vectors_of(share) < share * vectors_of(run)
    copies = np.concatenate([np.arange(n) * k for n, k in ((b.pixels, step), (each, places), (share, each * places))])
    g = tables(
        b, n, windows, [window.groups, each, 0, columns, splits, share, run, math.prod(windows.pixels)],
        b.of_rows * step, offsets, 0, copies,
    )  # fmt: skip
    sums = turned * step * each * places + (share * each * places if chunk >= in_all else 0)
    scratch = b.together * (b.box + b.pixels * step) + sums
    return WeightProduct(g, window.groups * splits, scratch, step, turned, in_all, chunk)


def vectors_of(elements: int) -> int:
    """The vectors that hold so many elements."""
    return -(-elements // LANES)


def _shares(elements: int, filters: int, weights: int, groups: int) -> tuple[int, int]:
    """The filters of a task, and the parts of the batch, for images with so many elements in a group, and filters with
    so many weights: what copies and sums the least. Each share of the filters copies the images."""
    best = None
    for shares in range(1, -(-filters // LANES) + 1):
        share = block_length(filters, -(-filters // shares), LANES)
        taken = -(-filters // share)
        parts = -(-MIN_TASKS // (groups * taken))
        cost = taken * elements + (parts > 1) * PART_WORK * parts * filters * weights
        if best is None or cost < best[0]:
            best = cost, share, parts
    assert best is not None
    return best[1:]


def tables(
    b: Blocks, n: int, windows: Windows, numbers: Sequence[int], to: np.ndarray, offsets: Sequence[np.ndarray],
    panels: int, places: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The sizes and the tables, one after the other. `numbers` are those from `native.GROUPS` to `native.PIXELS`;
    `offsets` are those of each group of places, and `panels` the elements of panels for each of them."""
    starts = np.cumsum([0, *map(len, offsets)])
    parts = [x for start, o in zip(starts, offsets, strict=False) for x in (start, len(o), start * panels)]
    found = [b.rows, to, np.concatenate(offsets), parts, b.segments, places, b.table, b.sizes]
    at = np.cumsum([native.TABLES + len(found), *map(len, found)])[:-1]
    sizes = [n, b.together, b.each, *numbers, len(offsets), int(windows.overlap)]
    sizes += [math.prod(windows.boxes.image), b.box, b.pixels]
    return np.concatenate([sizes, at, *found]).astype(np.int64)


def short_runs(run: int, offsets: Sequence[np.ndarray]) -> tuple[int, list[np.ndarray]]:
    """Runs of at most MAX_RUN elements, and their offsets."""
    pieces = next(p for p in range(-(-run // MAX_RUN), run + 1) if run % p == 0)
    run //= pieces
    return run, [(x[:, None] + np.arange(pieces) * run).reshape(-1) for x in offsets]
