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
MAX_ELEMENTS = 1 << 23
"""Boxes of several pixels have no more elements than these."""
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
        rows, columns = np.indices([min(x) for x in zip(lengths[1:], self.image[1:], strict=True)]).reshape(2, -1)
        numbers = [*self.image, *self.before, *self.every[:2], pixel, line, lengths[1]]
        return np.concatenate([numbers, rows * line + columns * pixel])


class PlaceGroup(NamedTuple):
    """Places of the kernel that meet the same pixels of a result."""

    pixels: tuple[np.ndarray, ...]  # along each axis
    offsets: np.ndarray  # (places, 3): how far from the pixel's start what they meet is
    places: np.ndarray  # their numbers


class Windows(NamedTuple):
    """What each pixel of a result meets of padded images."""

    boxes: Boxes
    starts: tuple[np.ndarray, ...]  # for each axis of the result, where its pixels are
    groups: list[PlaceGroup]
    overlap: bool  # whether a pixel may be in several groups, or in none, as padding is left out
    reach: list[tuple[int, int]]  # for each axis, the least and the greatest offset, and 0

    @property
    def pixels(self) -> Shape:
        """Those of the result along each axis."""
        return tuple(map(len, self.starts))

    def extent(self, axis: int, first: int, length: int) -> tuple[int, int]:
        """Where the box of some planes, rows or columns of the result begins, and how long it is."""
        of = self.starts[axis]
        end = min(first + length, len(of)) - 1
        low, high = (int(of[at]) + offset for at, offset in zip((first, end), self.reach[axis], strict=True))
        if self.overlap:  # there is no padding
            low, high = max(low, 0), min(high, -(-self.boxes.image[axis] // self.boxes.every[axis]) - 1)
        return low, max(high - low + 1, 1)

    def box(self, lengths: Shape) -> Shape:
        """The lengths of a box for any block of these lengths."""
        ends = (range(0, n, length) for n, length in zip(self.pixels, lengths, strict=True))
        return tuple(
            max(self.extent(axis, first, lengths[axis])[1] for first in firsts) for axis, firsts in enumerate(ends)
        )

    def fits(self, lengths: Shape, images: int = 1) -> bool:
        """Whether a block of these lengths is small enough."""
        elements = images * self.boxes.pixel * math.prod(self.extent(i, 0, k)[1] for i, k in enumerate(lengths))
        most = WIDE_BLOCK if elements <= BOX_ELEMENTS else BLOCK if elements <= MAX_ELEMENTS else 1
        return images * math.prod(lengths) <= most


def of_outputs(channels: int, image: Shape, window: Window, *, sparse: bool = False) -> Windows:
    """What outputs meet of images, of which so many channels are copied at a time; without padding, if `sparse`."""
    outputs, images = three(window.outputs(image), 1), three(image, 1)
    kernel, stride, pad, dilate = (three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    # Of planes and rows that no place of the kernel is over, there are no copies.
    every = (*(s if k == 1 and p == 0 else 1 for s, k, p in zip(stride[:2], kernel[:2], pad[:2], strict=True)), 1)
    starts = tuple(np.arange(size) * (s // e) for size, s, e in zip(outputs, stride, every, strict=True))
    places = np.indices(kernel).reshape(3, -1).T
    if not sparse:
        groups = [PlaceGroup(tuple(map(np.arange, outputs)), places * dilate, np.arange(len(places)))]
    else:
        met = [_axis_meetings(*x) for x in zip(images, outputs, kernel, stride, pad, dilate, strict=True)]
        pixels = [tuple(np.array(of[k], int) for of, k in zip(met, place, strict=True)) for place in places]
        each = zip(pixels, (places * dilate - pad)[:, None], np.arange(len(places))[:, None], strict=True)
        groups = [PlaceGroup(*x) for x in each]
        pad = (0, 0, 0)
    return Windows(Boxes(channels, images, pad, every), starts, groups, sparse, _reach(groups))


def of_image(channels: int, image: Shape, window: Window, *, sparse: bool = False) -> Windows:
    """What the pixels of images meet of outputs, of which so many channels are copied at a time; without padding, if
    `sparse`. Pixels that are a stride apart along each axis meet the same places."""
    outputs, images = three(window.outputs(image), 1), three(image, 1)
    kernel, stride, pad, dilate = (three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    groups = []
    for phase in np.ndindex(phases_of(image, window)):
        axes = []  # of each, the places that pixels of the phase meet, at what distance, and these pixels
        for n, outs, ks, s, p, d, r in zip(images, outputs, kernel, stride, pad, dilate, phase, strict=True):
            of_phase = np.arange(r, n, s)
            taps = [(k, (r + p - k * d) // s) for k in range(ks) if (r + p - k * d) % s == 0]
            axes.append([(k, at, of_phase[max(-at, 0) : max(outs - at, 0)] if sparse else of_phase) for k, at in taps])
        met = list(itertools.product(*axes))
        places = np.ravel_multi_index(np.array([[k for k, _, _ in x] for x in met], int).reshape(-1, 3).T, kernel)
        offsets = np.array([[at for _, at, _ in x] for x in met], int).reshape(-1, 3)
        if sparse:
            pixels = [tuple(x for _, _, x in of) for of in met]
            groups += [PlaceGroup(*x) for x in zip(pixels, offsets[:, None], places[:, None], strict=True)]
        else:
            of_phase = tuple(np.arange(r, n, s) for n, s, r in zip(images, stride, phase, strict=True))
            groups.append(PlaceGroup(of_phase, offsets, places))
    unmet = np.setdiff1d(np.arange(math.prod(kernel)), np.concatenate([x.places for x in groups]))
    if unmet.size:  # their phases lie outside of the image, but their weights have a place
        groups.append(PlaceGroup((np.empty(0, int),) * 3, np.zeros((unmet.size, 3), int), unmet))
    starts = tuple(np.arange(size) // s for size, s in zip(images, stride, strict=True))
    return Windows(Boxes(channels, outputs, (0, 0, 0), (1, 1, 1)), starts, groups, sparse, _reach(groups))


def _reach(groups: Sequence[PlaceGroup]) -> list[tuple[int, int]]:
    offsets = np.concatenate([x.offsets for x in groups])
    return [(int(axis.min(initial=0)), int(axis.max(initial=0))) for axis in offsets.T]


def phases_of(image: Shape, window: Window) -> Shape:
    """The phases of the pixels of an image along three axes, of which the first may be missing."""
    return three([min(s, n) for s, n in zip(window.stride, image, strict=True)], 1)


def filled_of_outputs(image: Shape, window: Window) -> float:
    """The share of the windows of outputs that lies over the image, and not over its padding."""
    return _pairs(image, window) / math.prod(window.outputs(image)) / math.prod(window.kernel)


def filled_of_image(image: Shape, window: Window) -> float:
    """The share of what pixels of the image meet that is outputs."""
    axes = zip(image, *window[:4], strict=True)
    there = [sum(len(range((k * d - p) % s, n, s)) for k in range(ks)) for n, ks, s, p, d in axes]
    return _pairs(image, window) / max(1, math.prod(there))


def _pairs(image: Shape, window: Window) -> int:
    """How many times an output and a pixel meet."""
    axes = zip(image, window.outputs(image), *window[:4], strict=True)
    return math.prod(sum(map(len, _axis_meetings(*x))) for x in axes)


def _axis_meetings(image: int, output: int, kernel: int, stride: int, pad: int, dilate: int) -> list[range]:
    """Along an axis, the outputs for which each place of the kernel is over a pixel of the image, and not over padding;
    they are consecutive."""
    before = [pad - k * dilate for k in range(kernel)]  # how far the place is before the image for the first output
    return [range(max(-(-x // stride), 0), min(-(-(image + x) // stride), output)) for x in before]


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
    rows: np.ndarray  # where the windows of a block are in its boxes, group by group; blocks that are alike share them
    of_rows: np.ndarray  # which pixels of a block these are
    segments: np.ndarray  # for each block and group: its first row, and the rows of an image
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
        together = block_length(max(n, 1), _most(n, lambda k: windows.fits(lengths, k)), 1)
    for axis, whole in enumerate(lengths):
        before, after = lengths[:axis], lengths[axis + 1 :]
        most = _most(whole, lambda k, before=before, after=after: windows.fits((*before, k, *after)))
        lengths = (*before, block_length(whole, most, 1), *after)
    longest = windows.box(lengths)
    steps = windows.boxes.steps(longest)
    box = -(-math.prod(longest) * windows.boxes.pixel // native.LANES) * native.LANES
    table, rows, of_rows, segments, done = [], [], [], [], 0
    alike: dict[tuple[bytes, ...], list[int]] = {}  # the segments of blocks whose slices have these contents
    for slices in itertools.product(*(_slices(windows, *x) for x in zip(range(3), lengths, steps, strict=True))):
        count = math.prod(len(x.at) for x in slices)
        at_first = np.ravel_multi_index([x.first for x in slices], windows.pixels)
        table += [at_first, count, *(x.start for x in slices), *(x.length for x in slices)]
        key = tuple(x.content for x in slices)
        if key not in alike:
            alike[key] = []
            place = sum(np.ix_(*(x.at for x in slices))).reshape(-1)
            for inside in zip(*(x.inside for x in slices), strict=True):
                found = np.flatnonzero(math.prod(np.ix_(*inside)))
                alike[key] += [done, len(found)]
                done += together * len(found)
                rows += [image * box + place[found] for image in range(together)]
                of_rows += [image * count + found for image in range(together)]
        segments += alike[key]
    return Blocks(
        together, len(table) // native.BLOCK_SIZE, max(table[native.COUNT :: native.BLOCK_SIZE]), box,
        np.concatenate(rows), np.concatenate(of_rows), np.array(segments), np.array(table), steps,
        windows.boxes.sizes(longest),
    )  # fmt: skip


class Slice(NamedTuple):
    """The planes, rows or columns of a block."""

    first: int
    start: int  # where its box begins
    length: int  # of its box
    at: np.ndarray  # where the windows begin in the box, in elements
    inside: np.ndarray  # (groups, ...): whether they are of each group of places, 0 or 1

    @property
    def content(self) -> bytes:
        """The same for slices of an axis with the same `at` and `inside`."""
        return self.at.tobytes() + self.inside.tobytes()


def _slices(windows: Windows, axis: int, length: int, step: int) -> list[Slice]:
    """The slices of `length` planes, rows or columns; `step` is from one to the next in a box."""
    starts = windows.starts[axis]
    inside = np.zeros((len(windows.groups), len(starts)), int)
    for of_group, group in zip(inside, windows.groups, strict=True):
        of_group[group.pixels[axis]] = 1
    found = []
    for first in range(0, len(starts), length):
        start, box_length = windows.extent(axis, first, length)
        end = first + length
        found.append(Slice(first, start, box_length, (starts[first:end] - start) * step, inside[:, first:end]))
    return found


def _most(n: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to n that it holds for, or 1; of a number that it holds for, it holds for all before."""
    return max(1, bisect.bisect_left(range(1, n + 1), True, key=lambda k: not holds(k)))


def block_length(n: int, most: int, multiple: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all; rounded up to a multiple."""
    return -(-n // -(-n // most) // multiple) * multiple
