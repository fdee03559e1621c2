"""Images with their channels last: what each pixel of a result meets of them, and blocks of pixels; see
`native.channels_last`.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from runtime.native import channels_last as native
from runtime.ndarray.nn.windows import Shape, Window

BLOCK = 256
"""So many pixels of the result are computed at a time, or"""
WIDE_BLOCK = 512
"""so many where"""
BOX_ELEMENTS = 3 << 16
"""their boxes have no more elements than these, and stay in the second cache."""
MANY_CHANNELS = 128
"""From so many channels on, pixels are not a power of 2 apart, at which they would share few lines of the cache."""


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


class Windows(NamedTuple):
    """What each pixel of a result meets of padded images."""

    boxes: Boxes
    starts: tuple[np.ndarray, ...]  # for each axis of the result, where its pixels are
    phases: Shape  # pixels so far apart along each axis meet the same places
    offsets: list[np.ndarray]  # (places, 3) of each phase: how far from the pixel they are
    reach: np.ndarray  # (2, 3): the least and the largest of these offsets along each axis

    @property
    def pixels(self) -> Shape:
        """Those of the result along each axis."""
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


def of_outputs(channels: int, image: Shape, window: Window) -> Windows:
    """What outputs meet of images, of which so many channels are copied at a time."""
    outputs, images = three(window.outputs(image), 1), three(image, 1)
    kernel, stride, pad, dilate = (three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    # Of planes and rows that no place of the kernel is over, there are no copies.
    every = (*(s if k == 1 and p == 0 else 1 for s, k, p in zip(stride[:2], kernel[:2], pad[:2], strict=True)), 1)
    starts = tuple(np.arange(size) * (s // e) for size, s, e in zip(outputs, stride, every, strict=True))
    offsets = np.indices(kernel).reshape(3, -1).T * dilate
    return Windows(Boxes(channels, images, pad, every), starts, (1, 1, 1), [offsets], offsets[[0, -1]])


def of_image(channels: int, image: Shape, window: Window) -> tuple[Windows, list[np.ndarray]]:
    """What the pixels of images meet of outputs, of which so many channels are copied at a time; and for each phase,
    the places of the kernel where they met. Pixels that are a stride apart along each axis meet the same places."""
    outputs, images = three(window.outputs(image), 1), three(image, 1)
    kernel, stride, pad, dilate = (three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    axes = [_axis_phases(*x) for x in zip(kernel, stride, pad, dilate, strict=True)]
    places, offsets = [], []
    for chosen in itertools.product(*axes):
        met = np.array(list(itertools.product(*chosen)), np.int64).reshape(-1, 3, 2)
        places.append(np.ravel_multi_index(tuple(met[..., 0].T), kernel))
        offsets.append(met[..., 1])
    reached = np.concatenate(offsets)
    starts = tuple(np.arange(size) // s for size, s in zip(images, stride, strict=True))
    reach = np.array([reached.min(axis=0), reached.max(axis=0)])
    return Windows(Boxes(channels, outputs, (0, 0, 0), (1, 1, 1)), starts, stride, offsets, reach), places


def _axis_phases(kernel: int, stride: int, pad: int, dilate: int) -> list[list[tuple[int, int]]]:
    """For each phase of an axis, the places of the kernel, and at what distance from the pixel, divided by the stride,
    is the output that met the pixel there."""
    return [
        [(k, (r + pad - k * dilate) // stride) for k in range(kernel) if (r + pad - k * dilate) % stride == 0]
        for r in range(stride)
    ]


def three(axes: Sequence[int], other: int) -> Shape:
    """Numbers for three axes, of which the first may be missing."""
    return (other,) * (3 - len(axes)) + tuple(axes)


# ---------------------------------------------------------------- blocks


class Blocks(NamedTuple):
    """How the pixels of a result are cut into blocks of consecutive ones, and the tables that follow."""

    together: int  # images of a block
    each: int  # blocks of an image
    pixels: int  # of the largest block of an image
    box: int  # elements of the box of an image, a multiple of those of a line of the cache
    rows: np.ndarray  # where the windows of a block are in its boxes, phase by phase
    of_rows: np.ndarray  # which pixels of a block these are
    segments: np.ndarray  # for each block and phase: its first row, and the rows of an image
    table: np.ndarray  # blocks, as `native` has them
    steps: np.ndarray  # from plane to plane, row to row, pixel to pixel of a box
    sizes: np.ndarray  # as `native.copy_box` takes them

    def in_all(self, n: int) -> int:
        """The blocks of n images."""
        return -(-n // self.together) * self.each


def blocks(windows: Windows, n: int) -> Blocks:
    """The blocks of n images."""
    lengths, together = windows.pixels, 1
    if windows.fits(lengths):
        together = block_length(n, _most(n, lambda k: windows.fits(lengths, k)), 1)
    for axis, whole in enumerate(lengths):
        before, after = lengths[:axis], lengths[axis + 1 :]
        most = _most(whole, lambda k, before=before, after=after: windows.fits((*before, k, *after)))
        lengths = (*before, block_length(whole, most, 1), *after)
    longest = windows.box(lengths)
    steps = windows.boxes.steps(longest)
    box = -(-math.prod(longest) * windows.boxes.pixel // native.LANES) * native.LANES
    table, places, pixels, segments, done = [], [], [], [], 0
    for first in itertools.product(*(range(0, s, k) for s, k in zip(windows.pixels, lengths, strict=True))):
        starts = [x[at : at + k] for x, at, k in zip(windows.starts, first, lengths, strict=True)]
        extents = [windows.extent(axis, at, k) for axis, (at, k) in enumerate(zip(first, lengths, strict=True))]
        shape = tuple(map(len, starts))
        count = math.prod(shape)
        at_first = np.ravel_multi_index(first, windows.pixels)
        table += [at_first, count, *(x for x, _ in extents), *(k for _, k in extents)]
        at = [(x - begin) * step for x, (begin, _), step in zip(starts, extents, steps, strict=True)]
        place = sum(np.ix_(*at)).reshape(-1)
        which = [(np.arange(k) + i) % s for k, i, s in zip(shape, first, windows.phases, strict=True)]
        phase = np.ravel_multi_index(np.ix_(*which), windows.phases).reshape(-1)
        for r in range(len(windows.offsets)):
            found = np.flatnonzero(phase == r)
            segments += [done, len(found)]
            done += together * len(found)
            places += [image * box + place[found] for image in range(together)]
            pixels += [image * count + found for image in range(together)]
    return Blocks(
        together, len(table) // native.BLOCK_SIZE, max(table[native.COUNT :: native.BLOCK_SIZE]), box,
        np.concatenate(places), np.concatenate(pixels), np.array(segments), np.array(table), steps,
        windows.boxes.sizes(longest),
    )  # fmt: skip


def _most(n: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to n that it holds for, or 1; of a number that it holds for, it holds for all before."""
    return max(1, bisect.bisect_left(range(1, n + 1), True, key=lambda k: not holds(k)))


def block_length(n: int, most: int, multiple: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all; rounded up to a multiple."""
    return -(-n // -(-n // most) // multiple) * multiple
