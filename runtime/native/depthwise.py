"""Convolution of each channel alone, and its two adjoints: sums of shifted rows, where GEMM has nothing to multiply.

A channel of an image is laid out with zeros around it first, so that rows have no edges. `g` is the geometry of
`convolution`, with as many groups as channels.
"""

from __future__ import annotations

from runtime.native.compile import Array, Ints, function, short, total
from runtime.native.convolution import (
    DEPTH, DILATE, FILTERS, GROUPS, HEIGHT, KERNEL, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH, PAD, PIXELS, ROWS, STRIDE, WIDTH,
)  # fmt: skip
from runtime.native.kernel import kernel
from runtime.native.normalization import add, clear


@function
def framed_size(g: Ints) -> int:
    """How many elements a channel has with the zeros around it."""
    return (g[DEPTH] + 2 * g[PAD]) * (g[HEIGHT] + 2 * g[PAD + 1]) * (g[WIDTH] + 2 * g[PAD + 2])


@function
def row(d: int, h: int, g: Ints) -> int:
    """Where a row of the image begins there."""
    upper = (d + g[PAD]) * (g[HEIGHT] + 2 * g[PAD + 1]) + h + g[PAD + 1]
    return upper * (g[WIDTH] + 2 * g[PAD + 2]) + g[PAD + 2]


@function
def place(k: int, r: int, g: Ints) -> int:
    """Where there the k-th element of the kernel lies when it makes the first element of output row r."""
    kw = k % g[KERNEL + 2]
    kh = k // g[KERNEL + 2] % g[KERNEL + 1]
    kd = k // (g[KERNEL + 2] * g[KERNEL + 1])
    d = r // g[OUT_HEIGHT] * g[STRIDE] + kd * g[DILATE]
    h = r % g[OUT_HEIGHT] * g[STRIDE + 1] + kh * g[DILATE + 1]
    return (d * (g[HEIGHT] + 2 * g[PAD + 1]) + h) * (g[WIDTH] + 2 * g[PAD + 2]) + kw * g[DILATE + 2]


@function
def frame(to: Array, image: Array, g: Ints) -> None:
    clear(to, framed_size(g))
    for d in range(g[DEPTH]):
        for h in range(g[HEIGHT]):
            copy(to + row(d, h, g), image + (d * g[HEIGHT] + h) * g[WIDTH], g[WIDTH])


@function
def copy(to: Array, x: Array, n: int) -> None:
    for i in short(n):
        to[i] = x[i]


@function
def gather(to: Array, x: Array, a: float, stride: int, n: int) -> None:
    """Add a times every `stride`-th element."""
    if stride == 1:
        for i in short(n):
            to[i] += a * x[i]
    elif stride == 2:  # a constant makes vector code
        for i in range(n):
            to[i] += a * x[2 * i]
    else:
        for i in range(n):
            to[i] += a * x[i * stride]


@function
def spread(to: Array, x: Array, a: float, stride: int, n: int) -> None:
    """Add a times x to every `stride`-th element."""
    if stride == 1:
        for i in short(n):
            to[i] += a * x[i]
    else:
        for i in range(n):
            to[i * stride] += a * x[i]


@function
def products(to: Array, x: Array, y: Array, stride: int, n: int) -> None:
    if stride == 1:
        for i in short(n):
            to[i] = x[i] * y[i]
    else:
        for i in range(n):
            to[i] = x[i * stride] * y[i]


@kernel
def convolve(task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, g: Ints) -> None:
    """A channel of one image, and the filters that it has. A task for each of both."""
    frame(scratch, x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH], g)
    filters = g[FILTERS] // g[GROUPS]
    for i in range(filters):
        f = task % g[GROUPS] * filters + i
        for r in range(g[OUT_DEPTH] * g[OUT_HEIGHT]):
            to = y + ((task * filters + i) * g[PIXELS] + r * g[OUT_WIDTH])
            for j in short(g[OUT_WIDTH]):
                to[j] = bias[f] if has_bias == 1 else 0.0
            for k in range(g[ROWS]):
                gather(to, scratch + place(k, r, g), w[f * g[ROWS] + k], g[STRIDE + 2], g[OUT_WIDTH])


@kernel
def convolve_image(task: int, scratch: Array, y: Array, w: Array, x: Array, g: Ints) -> None:
    """What a channel of one image gave to each output. A task for each of both."""
    clear(scratch, framed_size(g))
    filters = g[FILTERS] // g[GROUPS]
    for i in range(filters):
        f = task % g[GROUPS] * filters + i
        for r in range(g[OUT_DEPTH] * g[OUT_HEIGHT]):
            of = y + ((task * filters + i) * g[PIXELS] + r * g[OUT_WIDTH])
            for k in range(g[ROWS]):
                spread(scratch + place(k, r, g), of, w[f * g[ROWS] + k], g[STRIDE + 2], g[OUT_WIDTH])
    image = x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    for d in range(g[DEPTH]):
        for h in range(g[HEIGHT]):
            copy(image + (d * g[HEIGHT] + h) * g[WIDTH], scratch + row(d, h, g), g[WIDTH])


@kernel
def convolve_weight(task: int, scratch: Array, y: Array, x: Array, w: Array, images: int, g: Ints) -> None:
    """For the filters of one channel, the sums of products over all images. A task for each channel.

    `scratch` holds a sum of two numbers for each weight, the products of one of them, and a framed channel.
    """
    filters = g[FILTERS] // g[GROUPS]
    weights = filters * g[ROWS]
    part = scratch + 2 * weights
    framed = part + g[PIXELS]
    clear(scratch, 2 * weights)
    for n in range(images):
        at = n * g[GROUPS] + task
        frame(framed, x + at * g[DEPTH] * g[HEIGHT] * g[WIDTH], g)
        for i in range(weights):
            of = y + (at * filters + i // g[ROWS]) * g[PIXELS]
            for r in range(g[OUT_DEPTH] * g[OUT_HEIGHT]):
                first = r * g[OUT_WIDTH]
                products(
                    part + first, framed + place(i % g[ROWS], r, g), of + first, g[STRIDE + 2], g[OUT_WIDTH]
                )  # fmt: skip
            add(scratch + 2 * i, total(part, g[PIXELS]))
    for i in range(weights):
        w[task * weights + i] = scratch[2 * i] + scratch[2 * i + 1]
