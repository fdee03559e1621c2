"""Pooling over the windows of a plane, which is one channel of one image and has three axes (the first may have length
1). Each kernel has one task for each plane.

A window is the part of the kernel that lies over the plane. Its sum or maximum is taken in two steps: down the columns,
for all columns of the plane at once, then across those of the window.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, total
from runtime.native.vectors import clear

# Indices into `g`, the geometry:
DEPTH, HEIGHT, WIDTH = 0, 1, 2  # the plane
OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH = 3, 4, 5  # the output
KERNEL, STRIDE, PAD = 6, 9, 12  # of depth; those of height and width follow
OFFSETS = 15  # for each element of the kernel, in order, its place in the plane, from that of the first
LOWEST = -3.4028234663852886e38
"""The maximum of no elements, as in MXNet: the lowest finite number of float32."""


@function
def low(place: int, axis: int, g: Ints) -> int:
    """The first element, along an axis, of the window at a place."""
    return max(place * g[STRIDE + axis] - g[PAD + axis], 0)


@function
def high(place: int, axis: int, g: Ints) -> int:
    """One past the last element of that window."""
    return min(place * g[STRIDE + axis] - g[PAD + axis] + g[KERNEL + axis], g[axis])


@function
def first(k: int, g: Ints) -> int:
    """The first window along the width whose column k lies in the plane."""
    columns = max(g[PAD + 2] - k + g[STRIDE + 2] - 1, 0)
    return columns if g[STRIDE + 2] == 1 else columns // g[STRIDE + 2]  # a division takes as long as a row of maxima


@function
def last(k: int, g: Ints) -> int:
    """One past the last such window."""
    columns = g[WIDTH] + g[PAD + 2] - k + g[STRIDE + 2] - 1
    return min(columns if g[STRIDE + 2] == 1 else columns // g[STRIDE + 2], g[OUT_WIDTH])


@function
def max_into(y: Array, x: Array, start: int, stop: int, stride: int) -> None:
    for i in range(start, stop):
        y[i] = max(y[i], x[i * stride])


@function
def add_into(y: Array, x: Array, start: int, stop: int, stride: int) -> None:
    for i in range(start, stop):
        y[i] += x[i * stride]


@function
def spread_into(x: Array, y: Array, start: int, stop: int, stride: int) -> None:
    for i in range(start, stop):
        x[i * stride] += y[i]


@kernel
def pool_max(task: int, scratch: Array, x: Array, y: Array, g: Ints) -> None:
    """The largest element of each window."""
    plane = x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    row = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    for od in range(g[OUT_DEPTH]):
        for oh in range(g[OUT_HEIGHT]):
            for i in range(g[WIDTH]):
                scratch[i] = LOWEST
            for d in range(low(od, 0, g), high(od, 0, g)):
                for h in range(low(oh, 1, g), high(oh, 1, g)):
                    max_into(scratch, plane + (d * g[HEIGHT] + h) * g[WIDTH], 0, g[WIDTH], 1)
            for i in range(g[OUT_WIDTH]):
                row[i] = LOWEST
            for k in range(g[KERNEL + 2]):
                at = scratch + (k - g[PAD + 2])
                if g[STRIDE + 2] == 2:  # a constant makes vector code
                    max_into(row, at, first(k, g), last(k, g), 2)
                else:
                    max_into(row, at, first(k, g), last(k, g), g[STRIDE + 2])
            row = row + g[OUT_WIDTH]


@function
def pool_2x2(x0: Array, x1: Array, y: Array, n: int) -> None:
    """`pool_max` of a row of adjacent windows of 2 by 2, in its order."""
    for i in range(n):
        left = max(max(LOWEST, x0[2 * i]), x1[2 * i])
        right = max(max(LOWEST, x0[2 * i + 1]), x1[2 * i + 1])
        y[i] = max(left, right)


@kernel
def pool_squares(task: int, x: Array, y: Array, g: Ints) -> None:
    """`pool_max` of the windows of `pool_2x2`, in a plane with two axes. Many networks have only these, and a kernel of
    their own compiles in a quarter of the time."""
    for h in range(g[OUT_HEIGHT]):
        upper = x + (task * g[HEIGHT] + 2 * h) * g[WIDTH]
        pool_2x2(upper, upper + g[WIDTH], y + (task * g[OUT_HEIGHT] + h) * g[OUT_WIDTH], g[OUT_WIDTH])


@function
def is_global(g: Ints) -> int:
    """1 if there is one window, and it holds the whole plane."""
    result = 1 if g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH] == 1 else 0
    for axis in range(3):
        if low(0, axis, g) > 0 or high(0, axis, g) < g[axis]:
            result = 0
    return result


@kernel
def pool_sum(task: int, scratch: Array, x: Array, scale: Array, y: Array, g: Ints) -> None:
    """The sum of each window, times the scale of its place."""
    plane = x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    outputs = g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    row = y + task * outputs
    if is_global(g) == 1:
        row[0] = total(plane, g[DEPTH] * g[HEIGHT] * g[WIDTH]) * scale[0]
    else:
        for od in range(g[OUT_DEPTH]):
            for oh in range(g[OUT_HEIGHT]):
                clear(scratch, g[WIDTH])
                for d in range(low(od, 0, g), high(od, 0, g)):
                    for h in range(low(oh, 1, g), high(oh, 1, g)):
                        add_into(scratch, plane + (d * g[HEIGHT] + h) * g[WIDTH], 0, g[WIDTH], 1)
                clear(row, g[OUT_WIDTH])
                for k in range(g[KERNEL + 2]):
                    at = scratch + (k - g[PAD + 2])
                    if g[STRIDE + 2] == 2:
                        add_into(row, at, first(k, g), last(k, g), 2)
                    else:
                        add_into(row, at, first(k, g), last(k, g), g[STRIDE + 2])
                for i in range(g[OUT_WIDTH]):
                    row[i] *= scale[(od * g[OUT_HEIGHT] + oh) * g[OUT_WIDTH] + i]
                row = row + g[OUT_WIDTH]


@kernel
def unpool_sum(task: int, scratch: Array, y: Array, scale: Array, x: Array, g: Ints) -> None:
    """The transpose of `pool_sum`: add to each element of a window its output times its scale."""
    size = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    plane = x + task * size
    row = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    scaled = scratch + g[WIDTH]
    if is_global(g) == 1:
        for i in range(size):
            plane[i] = row[0] * scale[0]
    else:
        clear(plane, size)
        for od in range(g[OUT_DEPTH]):
            for oh in range(g[OUT_HEIGHT]):
                for i in range(g[OUT_WIDTH]):
                    scaled[i] = row[i] * scale[(od * g[OUT_HEIGHT] + oh) * g[OUT_WIDTH] + i]
                clear(scratch, g[WIDTH])
                for k in range(g[KERNEL + 2]):
                    at = scratch + (k - g[PAD + 2])
                    if g[STRIDE + 2] == 1:  # a constant makes vector code
                        spread_into(at, scaled, first(k, g), last(k, g), 1)
                    elif g[STRIDE + 2] == 2:
                        spread_into(at, scaled, first(k, g), last(k, g), 2)
                    else:
                        spread_into(at, scaled, first(k, g), last(k, g), g[STRIDE + 2])
                for d in range(low(od, 0, g), high(od, 0, g)):
                    for h in range(low(oh, 1, g), high(oh, 1, g)):
                        add_into(plane + (d * g[HEIGHT] + h) * g[WIDTH], scratch, 0, g[WIDTH], 1)
                row = row + g[OUT_WIDTH]


@function
def largest(plane: Array, od: int, oh: int, ow: int, g: Ints) -> int:
    """The index in its plane of the first largest element of a window; -1 if the window is empty."""
    best = LOWEST
    place = -1
    start = low(ow, 2, g)
    stop = high(ow, 2, g)
    for d in range(low(od, 0, g), high(od, 0, g)):
        for h in range(low(oh, 1, g), high(oh, 1, g)):
            at = (d * g[HEIGHT] + h) * g[WIDTH]
            for w in range(at + start, at + stop):
                if plane[w] > best or place < 0:
                    best = plane[w]
                    place = w
    return place


@function
def unpool_2x2(g0: Array, x0: Array, x1: Array, to0: Array, to1: Array, n: int) -> None:
    """`unpool_max` of a row of adjacent windows of 2 by 2, without branches, so that it becomes vector code.

    x0 and x1 are the rows of the plane, to0 and to1 those of the result, and g0 is the row of outputs.
    """
    for i in range(n):
        a = x0[2 * i]
        b = x0[2 * i + 1]
        c = x1[2 * i]
        d = x1[2 * i + 1]
        top = max(a, b)
        bottom = max(c, d)
        to0[2 * i] = g0[i] if a >= b and top >= bottom else 0.0
        to0[2 * i + 1] = g0[i] if a < b and top >= bottom else 0.0
        to1[2 * i] = g0[i] if c >= d and top < bottom else 0.0
        to1[2 * i + 1] = g0[i] if c < d and top < bottom else 0.0


@function
def prefer_row(best: Array, found: Array, x: Array, element: int, n: int) -> None:
    """Where a row of the plane is larger than the best of the rows before, or that is NaN, it is the best, and the
    element of the kernel, with which the row begins, is found."""
    for i in range(n):
        a = x[i]
        b = best[i]
        old = found[i]
        new = 1.0 if a > b else (1.0 if b != b else 0.0)
        best[i] = a if new > 0.5 else b
        found[i] = float(element) if new > 0.5 else old


@function
def begin(best: Array, found: Array, x: Array, element: int, g: Ints) -> None:
    """The first element of each window of a row, and which of the kernel it is; -1 if the window is empty."""
    width = g[WIDTH]
    size = g[KERNEL + 2]
    stride = g[STRIDE + 2]
    pad = g[PAD + 2]
    for i in range(g[OUT_WIDTH]):
        at = i * stride - pad
        start = max(at, 0)
        if start < min(at + size, width):
            best[i] = x[start]
            found[i] = float(element + start - at)
        else:
            found[i] = -1.0


@function
def prefer(best: Array, found: Array, x: Array, of: Array, k: int, start: int, stop: int, stride: int) -> None:
    """For windows `start` to `stop`: if x[i * stride], under column k of the kernel, is larger than the best, or equal
    and in an earlier row, it is the best, and its element found. Without branches, so that it becomes vector code."""
    for i in range(start, stop):
        a = x[i * stride]
        b = best[i]
        element = of[i * stride] + float(k)
        old = found[i]
        earlier = 1.0 if element < old else 0.0
        new = 1.0 if a > b else (earlier if a == b else 0.0)
        best[i] = a if new > 0.5 else b
        found[i] = element if new > 0.5 else old


@function
def unpool_row(plane: Array, of: Array, y: Array, scratch: Array, od: int, oh: int, g: Ints) -> None:
    """`unpool_max` of one row of windows, none of which is empty along depth and height. The largest elements are found
    as in `pool_max`, down the columns and then across. The additions follow.

    NaN is passed over; but where it is the first element of a window, nothing is larger.
    """
    n = g[OUT_WIDTH]
    width = g[WIDTH]
    stride = g[STRIDE + 2]
    found = scratch + n
    highest = found + n
    rows = highest + width
    d0 = od * g[STRIDE] - g[PAD]
    h0 = oh * g[STRIDE + 1] - g[PAD + 1]
    upper = of + (low(od, 0, g) * g[HEIGHT] + low(oh, 1, g)) * width
    row = ((low(od, 0, g) - d0) * g[KERNEL + 1] + low(oh, 1, g) - h0) * g[KERNEL + 2]
    begin(scratch, found, upper, row, g)
    for i in range(width):
        highest[i] = upper[i]
        rows[i] = float(row)
    for d in range(low(od, 0, g), high(od, 0, g)):
        for h in range(low(oh, 1, g), high(oh, 1, g)):
            element = ((d - d0) * g[KERNEL + 1] + h - h0) * g[KERNEL + 2]
            prefer_row(highest, rows, of + (d * g[HEIGHT] + h) * width, element, width)
    for k in range(g[KERNEL + 2]):
        at = k - g[PAD + 2]
        if stride == 1:  # a constant makes vector code
            prefer(scratch, found, highest + at, rows + at, k, first(k, g), last(k, g), 1)
        elif stride == 2:
            prefer(scratch, found, highest + at, rows + at, k, first(k, g), last(k, g), 2)
        else:
            prefer(scratch, found, highest + at, rows + at, k, first(k, g), last(k, g), stride)
    corner = plane + ((d0 * g[HEIGHT] + h0) * width - g[PAD + 2])
    for i in range(n):
        if found[i] >= 0.0:
            corner[i * stride + g[OFFSETS + int(found[i])]] += y[i]


@kernel
def unpool_max(task: int, scratch: Array, y: Array, x: Array, to: Array, g: Ints) -> None:
    """Add each output, to zeros, at the place of the largest element of its window in x."""
    size = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    outputs = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    clear(to + task * size, size)
    for od in range(g[OUT_DEPTH]):
        for oh in range(g[OUT_HEIGHT]):
            row = outputs + (od * g[OUT_HEIGHT] + oh) * g[OUT_WIDTH]
            if low(od, 0, g) < high(od, 0, g) and low(oh, 1, g) < high(oh, 1, g):
                unpool_row(to + task * size, x + task * size, row, scratch, od, oh, g)


@kernel
def unpool_squares(task: int, y: Array, x: Array, to: Array, g: Ints) -> None:
    """`unpool_max` of the windows of `unpool_2x2`, in a plane with two axes."""
    size = g[HEIGHT] * g[WIDTH]
    plane = to + task * size
    of = x + task * size
    clear(plane, size)
    for h in range(g[OUT_HEIGHT]):
        upper = 2 * h * g[WIDTH]
        lower = upper + g[WIDTH]
        row = y + (task * g[OUT_HEIGHT] + h) * g[OUT_WIDTH]
        unpool_2x2(row, of + upper, of + lower, plane + upper, plane + lower, g[OUT_WIDTH])


@kernel
def gather_max(task: int, of: Array, x: Array, y: Array, g: Ints) -> None:
    """The transpose of `unpool_max`: for each window, the element of `of` at the place of the largest element in x."""
    size = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    outputs = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    plane = of + task * size
    for od in range(g[OUT_DEPTH]):
        for oh in range(g[OUT_HEIGHT]):
            for ow in range(g[OUT_WIDTH]):
                place = largest(x + task * size, od, oh, ow, g)
                outputs[(od * g[OUT_HEIGHT] + oh) * g[OUT_WIDTH] + ow] = plane[place] if place >= 0 else 0.0
