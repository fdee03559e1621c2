"""Shapes of layers: of weights, labels and states from those of data."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.symbol.shapes.common import Shape, Shapes, Values, merged, place, product, text


def fully_connected(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    units = values["num_hidden"]
    data, y = inputs[0], outputs[0]
    if data is None:
        return inputs, outputs
    length = product(data[1:]) if values["flatten"] else data[-1]
    y = merged(y, (data[0], units) if values["flatten"] else (*data[:-1], units))
    assert y is not None
    data = (y[0], *data[1:]) if values["flatten"] else (*y[:-1], data[-1])
    weight = merged(inputs[1], (units, length))
    assert weight is not None
    if weight[1] != -1 and (len(data) == 2 or not values["flatten"]):
        data = (*data[:-1], weight[1])
    biases = [bias if bias == (units, 1) else merged(bias, (units,)) for bias in inputs[2:]]
    return [data, weight, *biases], [y]


def _channels_at(layout: str | None) -> int:
    return -1 if layout is not None and layout.endswith("C") else 1


def _window(values: Values) -> tuple[Shape, Shape, Shape, Shape]:
    """Kernel, stride, dilation and padding, a length for each axis."""
    kernel = values["kernel"]
    n = len(kernel)
    stride, dilate = values["stride"] or (1,) * n, values.get("dilate") or (1,) * n
    pad = values["pad"] or (0,) * n
    for name, lengths, least in (("kernel", kernel, 1), ("stride", stride, 1), ("dilate", dilate, 1), ("pad", pad, 0)):
        if None in lengths or min(lengths, default=least) < least:
            raise ValueError(f"{name} is {lengths}, and must be at least {least} along each axis")
        if len(lengths) != n:
            raise ValueError(f"{name} is {lengths}, and must have one number for each axis of the kernel {kernel}")
    return kernel, stride, dilate, pad


def _share(values: Values, channels: int) -> int:
    """The channels of one group; -1 where `channels` is not known."""
    groups, filters = values["num_group"], values["num_filter"]
    if groups < 1:
        raise ValueError(f"num_group is {groups}, and must be at least 1")
    if filters % groups or (channels != -1 and channels % groups):
        shown = "" if channels == -1 else f"{channels} channels and "
        raise ValueError(f"{shown}{filters} filters cannot be cut into num_group = {groups}")
    return -1 if channels == -1 else channels // groups


def convolution(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    filters = values["num_filter"]
    kernel, stride, dilate, pad = _window(values)
    last = _channels_at(values["layout"]) == -1
    data, weight, y = inputs[0], inputs[1], outputs[0]
    if data is None:
        return inputs, outputs
    if len(data) != len(kernel) + 2:
        raise ValueError(f"data of {len(data)} axes does not fit a kernel {kernel}")
    n, channels, image = (data[0], data[-1], data[1:-1]) if last else (data[0], data[1], data[2:])
    share = _share(values, channels)
    weight = merged(weight, (filters, *kernel, share) if last else (filters, share, *kernel))
    spatial = [
        -1 if length == -1 else (length + 2 * p - d * (k - 1) - 1) // s + 1
        for length, k, s, d, p in zip(image, kernel, stride, dilate, pad, strict=True)
    ]
    if any(length < 1 and length != -1 for length in spatial):
        raise ValueError(f"a kernel {kernel} is larger than images of {image}")
    y = merged(y, (n, *spatial, filters) if last else (n, filters, *spatial))
    assert y is not None
    found = y[1:-1] if last else y[2:]
    image = tuple(
        length if length != -1 or out == -1 or s != 1 else out + d * (k - 1) - 2 * p
        for length, out, k, s, d, p in zip(image, found, kernel, stride, dilate, pad, strict=True)
    )
    data = (y[0], *image, channels) if last else (y[0], channels, *image)
    return [data, weight, *[merged(bias, (filters,)) for bias in inputs[2:]]], [y]


def deconvolution(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    filters = values["num_filter"]
    kernel, stride, dilate, pad = _window(values)
    data, y = inputs[0], outputs[0]
    if data is None:
        return inputs, outputs
    if len(data) != len(kernel) + 2:
        raise ValueError(f"data of {len(data)} axes does not fit a kernel {kernel}")
    whole = [
        -1 if length == -1 else s * (length - 1) + d * (k - 1) + 1
        for length, k, s, d in zip(data[2:], kernel, stride, dilate, strict=True)
    ]
    _share(values, data[1])
    weight = merged(inputs[1], (data[1], filters // values["num_group"], *kernel))
    y = merged(y, (data[0], filters, *_transposed(values, whole, stride, pad)))
    return [data, weight, *[merged(bias, (filters,)) for bias in inputs[2:]]], [y]


def _transposed(values: Values, whole: Sequence[int], stride: Shape, pad: Shape) -> Shape:
    """The lengths of what a Deconvolution gives, which are `whole` without padding."""
    adj, target = values["adj"] or (0,) * len(whole), values["target_shape"]
    for name, lengths in (("adj", adj), ("target_shape", target)):
        if lengths and (len(lengths) != len(whole) or None in lengths or min(lengths) < 0):
            raise ValueError(f"{name} is {lengths}, and must have one number, at least 0, for each axis of the kernel")
    if target and any(target):
        if any(wanted > full != -1 for wanted, full in zip(target, whole, strict=True)):
            raise ValueError(f"target_shape {target} is too big: without padding it is {text(tuple(whole))}")
        return target
    if any(a >= s for a, s in zip(adj, stride, strict=True)):
        raise ValueError(f"adj {adj} must be smaller than stride {stride}")
    return tuple(-1 if n == -1 else n - 2 * p + a for n, p, a in zip(whole, pad, adj, strict=True))


def pooling(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    last = _channels_at(values.get("layout")) == -1
    image = data[1:-1] if last else data[2:]
    if not values["global_pool"] and len(image) != len(values["kernel"]):
        raise ValueError(f"data of {len(data)} axes does not fit a kernel {values['kernel']}")
    if values["global_pool"]:
        spatial = [1] * len(image)
    else:
        axes = len(values["kernel"])
        leading = {key: (values[key] or ())[:axes] for key in ("stride", "pad")}
        kernel, stride, _, pad = _window({**values, **leading})
        spatial = [
            -1 if length == -1 else _pooled(length, k, s, p, values["pooling_convention"])
            for length, k, s, p in zip(image, kernel, stride, pad, strict=True)
        ]
    return inputs, [(data[0], *spatial, data[-1]) if last else (*data[:2], *spatial)]


def _pooled(length: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    if convention == "same":
        return -(-length // stride)
    room = length + 2 * pad - kernel
    if room < 0:
        raise ValueError(f"a kernel of {kernel} is larger than a length of {length} with padding {pad}")
    return (-(-room // stride) if convention == "full" else room // stride) + 1


def normalization(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = merged(inputs[0], outputs[0])
    length = -1 if data is None else data[place(values.get("axis", 1), len(data))]
    others = [merged(x, (length,)) for x in inputs[1:]]
    return [data, *others], [data, *[merged(y, (length,)) for y in outputs[1:]]]


def with_sparseness(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A moving average of each value of a sample."""
    data = merged(inputs[0], outputs[0])
    return [data, inputs[1] if data is None else merged(inputs[1], (product(data[1:]),))], [data]


def group_norm(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, groups = merged(inputs[0], outputs[0]), values["num_groups"]
    statistics = None if data is None else (data[0], groups)
    scale = [merged(x, (groups,)) for x in inputs[1:]]
    return [data, *scale], [data, *[merged(y, statistics) for y in outputs[1:]]]


def layer_norm(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    inputs, (data, *_) = normalization(values, inputs, outputs[:1])
    kept = None if data is None else tuple(1 if i == values["axis"] % len(data) else n for i, n in enumerate(data))
    return inputs, [data, *[merged(y, kept) for y in outputs[1:]]]


def leaky(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = merged(inputs[0], outputs[0])
    slopes = inputs[1:]
    if slopes and slopes[0] is None and data is not None:
        slopes = [(data[1],) if len(data) > 1 else (1,)]
    return [data, *slopes], [data]


def embedding(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    weight = merged(inputs[1], (values["input_dim"], values["output_dim"]))
    return [inputs[0], weight], [outputs[0] if inputs[0] is None else (*inputs[0], values["output_dim"])]


def recurrent(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    steps, batch, size = data
    directions = 2 if values["bidirectional"] else 1
    units, layers = values["state_size"], values["num_layers"]
    gates = {"lstm": 4, "gru": 3}.get(values["mode"], 1)
    kept = values["projection_size"] or units
    parameters = -1
    if size != -1:
        first = units * gates * (size + kept + 2)
        later = units * gates * (kept * directions + kept + 2)
        projected = values["projection_size"] * units * layers if values["projection_size"] else 0
        parameters = directions * (first + (layers - 1) * later + projected)
    state = (layers * directions, batch, kept)
    cell = (layers * directions, batch, units)
    found: Shapes = [data, (parameters,), state]
    if values["mode"] == "lstm":
        found.append(cell)
    if values["use_sequence_length"]:
        found.append((batch,))
    results: Shapes = [(steps, batch, kept * directions), state, cell]
    return [merged(a, b) for a, b in zip(inputs, found, strict=True)], results[: len(outputs)]


def label(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A softmax whose label is a class for each sample, or for each place."""
    data = merged(inputs[0], outputs[0])
    label = inputs[1]
    if data is not None and label is None:
        if values.get("multi_output"):
            label = (data[0], *data[2:])
        else:
            label = data[:-1] if values.get("preserve_shape") else data[:1]
    return [data, label], [data]


def regression(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = merged(inputs[0], outputs[0])
    label = inputs[1]
    if label is None and data is not None:
        label = data[:1] if len(data) == 2 and data[1] == 1 else data
    return [data, label], [data]


def upsampling(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data, scale = inputs[0], values["scale"]
    if data is None:
        return inputs, outputs
    if values["sample_type"] == "bilinear":
        size = 2 * scale - scale % 2
        weight = merged(inputs[1], (data[1], 1, size, size))
        return [data, weight], [(data[0], data[1], data[2] * scale, data[3] * scale)]
    if any(x is None for x in inputs):
        return inputs, outputs
    channels = data[1] if values["multi_input_mode"] == "sum" else sum(x[1] for x in inputs if x is not None)
    return inputs, [(data[0], channels, data[2] * scale, data[3] * scale)]
