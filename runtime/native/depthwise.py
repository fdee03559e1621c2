"""Depthwise convolution, in which each channel has filters of its own, and its two adjoints. They are sums of shifted
rows: the matrices that GEMM would multiply have few rows.

A channel of an image is first copied with its padding around it, so that rows need no checks at their ends. `g` is the
geometry of `convolution`, with as many groups as channels.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, short, total
from runtime.native.convolution import (
    DEPTH,
    DILATE,
    FILTERS,
    GROUPS,
    HEIGHT,
    KERNEL,
    OUT_DEPTH,
    OUT_HEIGHT,
    OUT_WIDTH,
    PAD,
    PIXELS,
    ROWS,
    STRIDE,
    WIDTH,
)  # fmt: skip
from runtime.native.normalization import add_compensated
from runtime.native.vectors import clear, copy


@function
def row_stride(g: Ints) -> int:
    """The distance of rows in a padded channel, in elements; `plane_stride`: that of planes."""
    return g[WIDTH] + 2 * g[PAD + 2]


@function
def plane_stride(g: Ints) -> int:
    return (g[HEIGHT] + 2 * g[PAD + 1]) * row_stride(g)


@function
def place(d: int, h: int, w: int, g: Ints) -> int:
    """The index of the element at (d, h, w) of a padded channel."""
    return d * plane_stride(g) + h * row_stride(g) + w


@function
def pad_channel(to: Array, image: Array, g: Ints) -> None:
    """Copy a channel, with zeros around it."""
    clear(to, (g[DEPTH] + 2 * g[PAD]) * plane_stride(g))
    for d in range(g[DEPTH]):
        for h in range(g[HEIGHT]):
            copy(
                to + place(d + g[PAD], h + g[PAD + 1], g[PAD + 2], g), image + (d * g[HEIGHT] + h) * g[WIDTH], g[WIDTH]
            )


@function
def gather_3(to: Array, x: Array, w: Array, spacing: int, stride: int, n: int) -> None:
    """Add to each element the products of three weights with elements of x that are `spacing` apart."""
    if stride == 1:
        for i in short(n):
            to[i] += w[0] * x[i] + w[1] * x[i + spacing] + w[2] * x[i + 2 * spacing]
    else:
        for i in range(n):
            j = i * stride
            to[i] += w[0] * x[j] + w[1] * x[j + spacing] + w[2] * x[j + 2 * spacing]


@function
def gather(to: Array, x: Array, a: float, stride: int, n: int) -> None:
    """Add a times every `stride`-th element of x."""
    for i in range(n):
        to[i] += a * x[i * stride]


@function
def gather_row(to: Array, x: Array, w: Array, g: Ints) -> None:
    """Add a row of the output. x is the element of the padded channel under the kernel's first weight, for the first
    pixel of the row."""
    for kd in range(g[KERNEL]):
        for kh in range(g[KERNEL + 1]):
            of = x + place(kd * g[DILATE], kh * g[DILATE + 1], 0, g)
            at = w + (kd * g[KERNEL + 1] + kh) * g[KERNEL + 2]
            if g[KERNEL + 2] == 3:
                gather_3(to, of, at, g[DILATE + 2], g[STRIDE + 2], g[OUT_WIDTH])
            else:
                for kw in range(g[KERNEL + 2]):
                    gather(to, of + kw * g[DILATE + 2], at[kw], g[STRIDE + 2], g[OUT_WIDTH])


@function
def scatter(to: Array, x: Array, a: float, stride: int, n: int) -> None:
    """Add a times x to every `stride`-th element: the transpose of `gather`."""
    if stride == 1:
        for i in short(n):
            to[i] += a * x[i]
    else:
        for i in range(n):
            to[i * stride] += a * x[i]


@function
def scatter_row(to: Array, y: Array, w: Array, g: Ints) -> None:
    """The transpose of `gather_row`."""
    for kd in range(g[KERNEL]):
        for kh in range(g[KERNEL + 1]):
            at = to + place(kd * g[DILATE], kh * g[DILATE + 1], 0, g)
            for kw in range(g[KERNEL + 2]):
                k = (kd * g[KERNEL + 1] + kh) * g[KERNEL + 2] + kw
                scatter(at + kw * g[DILATE + 2], y, w[k], g[STRIDE + 2], g[OUT_WIDTH])


@function
def products(to: Array, x: Array, y: Array, stride: int, n: int) -> None:
    """The products of y with every `stride`-th element of x."""
    if stride == 1:
        for i in short(n):
            to[i] = x[i] * y[i]
    else:
        for i in range(n):
            to[i] = x[i * stride] * y[i]


@kernel
def convolve(task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, g: Ints) -> None:
    """The outputs of one channel of one image. One task for each channel of each image."""
    pad_channel(scratch, x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH], g)
    filters = g[FILTERS] // g[GROUPS]
    to = y + task * filters * g[PIXELS]
    for f in range(task % g[GROUPS] * filters, task % g[GROUPS] * filters + filters):
        for d in range(g[OUT_DEPTH]):
            for h in range(g[OUT_HEIGHT]):
                for i in short(g[OUT_WIDTH]):
                    to[i] = bias[f] if has_bias == 1 else 0.0
                gather_row(to, scratch + place(d * g[STRIDE], h * g[STRIDE + 1], 0, g), w + f * g[ROWS], g)
                to = to + g[OUT_WIDTH]


@kernel
def convolve_image(task: int, scratch: Array, y: Array, w: Array, x: Array, g: Ints) -> None:
    """x = the transpose of `convolve`, applied to y. One task for each channel of each image."""
    clear(scratch, (g[DEPTH] + 2 * g[PAD]) * plane_stride(g))
    filters = g[FILTERS] // g[GROUPS]
    of = y + task * filters * g[PIXELS]
    for f in range(task % g[GROUPS] * filters, task % g[GROUPS] * filters + filters):
        for d in range(g[OUT_DEPTH]):
            for h in range(g[OUT_HEIGHT]):
                scatter_row(scratch + place(d * g[STRIDE], h * g[STRIDE + 1], 0, g), of, w + f * g[ROWS], g)
                of = of + g[OUT_WIDTH]
    image = x + task * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    for d in range(g[DEPTH]):
        for h in range(g[HEIGHT]):
            padded = scratch + place(d + g[PAD], h + g[PAD + 1], g[PAD + 2], g)
            copy(image + (d * g[HEIGHT] + h) * g[WIDTH], padded, g[WIDTH])


@kernel
def convolve_weight(task: int, scratch: Array, y: Array, x: Array, w: Array, images: int, g: Ints) -> None:
    """The gradient of the weights of one channel, summed over all images. One task for each channel.

    `scratch` holds a compensated sum for each weight, the products of one weight, and a padded channel.
    """
    filters = g[FILTERS] // g[GROUPS]
    weights = filters * g[ROWS]
    part = scratch + 2 * weights
    padded = part + g[PIXELS]
    clear(scratch, 2 * weights)
    for n in range(images):
        channel = n * g[GROUPS] + task
        pad_channel(padded, x + channel * g[DEPTH] * g[HEIGHT] * g[WIDTH], g)
        for i in range(weights):
            kw = i % g[KERNEL + 2]
            kh = i // g[KERNEL + 2] % g[KERNEL + 1]
            kd = i % g[ROWS] // (g[KERNEL + 2] * g[KERNEL + 1])
            at = padded + place(kd * g[DILATE], kh * g[DILATE + 1], kw * g[DILATE + 2], g)
            of = y + (channel * filters + i // g[ROWS]) * g[PIXELS]
            to = part + 0
            for d in range(g[OUT_DEPTH]):
                for h in range(g[OUT_HEIGHT]):
                    from_row = at + place(d * g[STRIDE], h * g[STRIDE + 1], 0, g)
                    products(to, from_row, of, g[STRIDE + 2], g[OUT_WIDTH])
                    to = to + g[OUT_WIDTH]
                    of = of + g[OUT_WIDTH]
            add_compensated(scratch + 2 * i, total(part, g[PIXELS]))
    for i in range(weights):
        w[task * weights + i] = scratch[2 * i] + scratch[2 * i + 1]
