"""Layers of real sizes, here, in MXNet and in PyTorch; and a process that times one of them a sample at a time.

    python benchmarks/layer_calls.py runtime

reads lines of a number of seconds, "forward" or "gradient", and the name of a layer, and writes how long a call took,
the median over so many seconds; NaN where the library, or the layer, has no such thing. "gradient" is the whole of it:
the recorded call, and the walk back to its data and its parameters.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # MXNet's interpreter may be Python 3.8, which has no such subscripts
    Call = Callable[..., Any]
    Shape = tuple[int, ...]


class Layer(NamedTuple):
    """Makes a layer, from the package `mx` or from `torch`: a block, a module or a function."""

    name: str
    shape: Shape  # of its data
    gluon: Callable[[Any], Call]
    torch: Callable[[Any], Call] | None = None
    differentiable: bool = True


def spelled(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def convolution(
    channels: int, filters: int, kernel: Sequence[int], image: Shape, *, batch: int = 8, stride: int = 1, pad: int = 0,
    dilation: int = 1, groups: int = 1, transposed: bool = False,
) -> Layer:  # fmt: skip
    """Without a bias."""
    axes = len(image)
    options = {"groups": groups, "dilation": dilation}
    words = [f"{channels} to {filters}, {spelled(kernel)}"]
    words += [f"by {stride}"] * (stride > 1) + [f"dilated by {dilation}"] * (dilation > 1)
    words += [f"in {groups} groups"] * (groups > 1) + ["transposed"] * transposed
    end = "Transpose" if transposed else ""

    def gluon(mx: Any) -> Call:
        kind = getattr(mx.gluon.nn, f"Conv{axes}D{end}")
        return kind(filters, tuple(kernel), stride, pad, in_channels=channels, use_bias=False, **options)

    def torch(torch: Any) -> Call:
        kind = getattr(torch.nn, f"Conv{end}{axes}d")
        return kind(channels, filters, tuple(kernel), stride, pad, bias=False, **options)

    return Layer(f"{' '.join(words)}; {batch} of {spelled(image)}", (batch, channels, *image), gluon, torch)


def square(channels: int, filters: int, kernel: int, image: int, **options: Any) -> Layer:
    """A convolution of square images; padded so that 3 by 3, and so on, keep the size."""
    pad = kernel // 2 * options.get("dilation", 1)
    return convolution(channels, filters, (kernel, kernel), (image, image), **{"pad": pad, **options})


def recurrent(kind: str, units: int, layers: int, steps: int, batch: int) -> Layer:
    def gluon(mx: Any) -> Call:
        return getattr(mx.gluon.rnn, kind)(units, layers, input_size=units)

    def torch(torch: Any) -> Call:
        layer = getattr(torch.nn, kind)(units, units, layers)
        return lambda x: layer(x)[0]

    name = f"{kind} of {layers} x {units} units; {steps} steps of {batch}"
    return Layer(name, (steps, batch, units), gluon, torch)


def elementwise(name: str, gluon: str | Callable[[Any], Call], torch: Call) -> Layer:
    """`gluon`: a layer, or the name of an activation."""
    make = (lambda mx: lambda x: mx.nd.Activation(x, act_type=gluon)) if isinstance(gluon, str) else gluon
    return Layer(f"{name}; 8x64x56x56", (8, 64, 56, 56), make, torch)


def loss(name: str, shape: Shape, gluon: str, torch: str, classes: int = 0) -> Layer:
    """`classes`: the labels are classes, and not of the shape of the data."""

    def make_gluon(mx: Any) -> Call:
        function = getattr(mx.gluon.loss, gluon)()
        label = mx.nd.array([i % classes for i in range(shape[0])]) if classes else mx.nd.ones(shape)
        return lambda x: function(x, label)

    def make_torch(torch_: Any) -> Call:
        function = getattr(torch_.nn, torch)(reduction="none")
        if classes:
            label = torch_.arange(shape[0]) % classes
            return lambda x: function(x, label)
        return lambda x: function(x, torch_.ones(shape)).mean(1)

    return Layer(f"{name}; {spelled(shape)}", shape, make_gluon, make_torch)


def ctc() -> Layer:
    steps, batch, classes, length = 100, 16, 64, 20

    def gluon(mx: Any) -> Call:
        label = mx.nd.array([[(i * j) % (classes - 1) for j in range(length)] for i in range(batch)])
        function = mx.gluon.loss.CTCLoss(layout="TNC")
        return lambda x: function(x, label)

    def torch(torch: Any) -> Call:
        label = torch.tensor([[1 + (i * j) % (classes - 1) for j in range(length)] for i in range(batch)])
        lengths = torch.full((batch,), steps), torch.full((batch,), length)
        function = torch.nn.CTCLoss(reduction="none")
        return lambda x: function(torch.log_softmax(x, -1), label, *lengths)

    return Layer(f"CTC; {spelled((steps, batch, classes))}, {length} labels", (steps, batch, classes), gluon, torch)


def proposal() -> Layer:
    anchors, image = 12, (38, 50)

    def gluon(mx: Any) -> Call:
        boxes = 0.1 * mx.nd.random.normal(shape=(1, 4 * anchors, *image))
        size = mx.nd.array([[600.0, 800.0, 1.0]])
        return lambda x: mx.nd.contrib.Proposal(x, boxes, size)

    return Layer(f"Proposal; {spelled((2 * anchors, *image))}", (1, 2 * anchors, *image), gluon, differentiable=False)


def sequence_mask() -> Layer:
    shape = 35, 32, 200

    def gluon(mx: Any) -> Call:
        lengths = mx.nd.array([i % 35 + 1 for i in range(32)])
        return lambda x: mx.nd.SequenceMask(x, lengths, use_sequence_length=True)

    def torch(torch: Any) -> Call:
        beyond = torch.arange(35)[:, None] >= torch.arange(32) % 35 + 1
        return lambda x: x.masked_fill(beyond[..., None], 0.0)

    return Layer(f"SequenceMask; {spelled(shape)}", shape, gluon, torch)


def embedding() -> Layer:
    words, units, batch = 10_000, 200, (35, 32)

    def gluon(mx: Any) -> Call:
        block = mx.gluon.nn.Embedding(words, units)
        block.initialize()
        ids = mx.nd.arange(35 * 32).reshape(batch)
        return lambda x: block(ids) + x

    def torch(torch: Any) -> Call:
        module = torch.nn.Embedding(words, units)
        ids = torch.arange(35 * 32).reshape(batch)
        return lambda x: module(ids) + x

    return Layer(f"Embedding of {words} x {units}; {spelled(batch)}, and a sum", (*batch, units), gluon, torch)


def layer(name: str, shape: Shape, gluon: Callable[[Any], Call], torch: Callable[[Any], Call]) -> Layer:
    return Layer(f"{name}; {spelled(shape)}", shape, gluon, torch)


GROUPS: dict[str, list[Layer]] = {
    "ResNet": [
        square(3, 64, 7, 224, stride=2),
        square(64, 64, 1, 56),
        square(64, 64, 3, 56),
        square(64, 256, 1, 56),
        square(128, 128, 3, 56, stride=2),
        square(128, 128, 3, 28),
        square(256, 256, 3, 14),
        square(512, 512, 3, 7),
        square(512, 2048, 1, 7),
        square(1024, 2048, 1, 14, stride=2),
    ],
    "ResNeXt": [
        square(128, 128, 3, 56, groups=32),
        square(256, 256, 3, 28, groups=32),
        square(512, 512, 3, 14, groups=32),
        square(256, 256, 3, 56, stride=2, groups=32),
    ],
    "MobileNet": [
        square(32, 32, 3, 112, groups=32),
        square(64, 64, 3, 112, stride=2, groups=64),
        square(512, 512, 3, 14, groups=512),
        square(1024, 1024, 3, 7, groups=1024),
    ],
    "dilated": [
        square(512, 512, 3, 60, batch=1, dilation=4),
        square(2048, 256, 3, 30, batch=1, dilation=12),
    ],
    "DCGAN": [
        square(3, 64, 4, 64, batch=16, stride=2, pad=1),
        square(128, 256, 4, 16, batch=16, stride=2, pad=1),
        square(512, 256, 4, 4, batch=16, stride=2, pad=1, transposed=True),
        square(128, 64, 4, 16, batch=16, stride=2, pad=1, transposed=True),
        square(64, 3, 4, 32, batch=16, stride=2, pad=1, transposed=True),
    ],
    "3-D": [
        convolution(3, 64, (3, 3, 3), (16, 56, 56), batch=1, pad=1),
        convolution(64, 128, (3, 3, 3), (8, 28, 28), batch=1, pad=1),
    ],
    "recurrent": [
        recurrent("LSTM", 200, 2, 35, 32),
        recurrent("LSTM", 512, 1, 35, 1),
        recurrent("GRU", 200, 2, 35, 32),
    ],
    "dense": [
        layer("Dense 2048 to 1000", (64, 2048), lambda mx: mx.gluon.nn.Dense(1000), lambda t: t.nn.Linear(2048, 1000)),
        embedding(),
    ],
    "pooling": [
        layer("max 2x2", (8, 64, 56, 56), lambda mx: mx.gluon.nn.MaxPool2D(2), lambda t: t.nn.MaxPool2d(2)),
        layer(
            "max 3x3 by 2",
            (8, 64, 112, 112),
            lambda mx: mx.gluon.nn.MaxPool2D(3, 2, 1),
            lambda t: t.nn.MaxPool2d(3, 2, 1),
        ),
        layer(
            "max 13x13",
            (1, 512, 19, 19),
            lambda mx: mx.gluon.nn.MaxPool2D(13, 1, 6),
            lambda t: t.nn.MaxPool2d(13, 1, 6),
        ),
        layer("mean 2x2", (8, 64, 56, 56), lambda mx: mx.gluon.nn.AvgPool2D(2), lambda t: t.nn.AvgPool2d(2)),
        layer(
            "mean of all",
            (8, 2048, 7, 7),
            lambda mx: mx.gluon.nn.GlobalAvgPool2D(),
            lambda t: t.nn.AdaptiveAvgPool2d(1),
        ),
    ],
    "norms": [
        layer("BatchNorm", (8, 64, 56, 56), lambda mx: mx.gluon.nn.BatchNorm(), lambda t: t.nn.BatchNorm2d(64)),
        layer("LayerNorm", (32, 128, 768), lambda mx: mx.gluon.nn.LayerNorm(), lambda t: t.nn.LayerNorm(768)),
        layer("GroupNorm, 8", (8, 64, 56, 56), lambda mx: mx.gluon.nn.GroupNorm(8), lambda t: t.nn.GroupNorm(8, 64)),
        layer(
            "InstanceNorm",
            (8, 64, 56, 56),
            lambda mx: mx.gluon.nn.InstanceNorm(),
            lambda t: t.nn.InstanceNorm2d(64, affine=True),
        ),
    ],
    "softmax": [
        *(
            layer(name, shape, lambda mx, f=name: getattr(mx.nd, f), lambda t, f=name: lambda x: getattr(t, f)(x, -1))
            for name in ("softmax", "log_softmax")
            for shape in ((64, 1000), (384, 12, 128), (1120, 10_000))
        ),
    ],
    "activations": [
        elementwise("relu", "relu", lambda t: t.relu),
        elementwise("sigmoid", "sigmoid", lambda t: t.sigmoid),
        elementwise("tanh", "tanh", lambda t: t.tanh),
        elementwise("softrelu", "softrelu", lambda t: t.nn.functional.softplus),
        elementwise("softsign", "softsign", lambda t: t.nn.functional.softsign),
        elementwise("leaky relu", lambda mx: mx.gluon.nn.LeakyReLU(0.1), lambda t: t.nn.LeakyReLU(0.1)),
        elementwise("elu", lambda mx: mx.gluon.nn.ELU(), lambda t: t.nn.functional.elu),
        elementwise("selu", lambda mx: mx.gluon.nn.SELU(), lambda t: t.nn.functional.selu),
        elementwise("gelu", lambda mx: mx.gluon.nn.GELU(), lambda t: t.nn.functional.gelu),
    ],
    "losses": [
        loss("cross-entropy", (64, 1000), "SoftmaxCrossEntropyLoss", "CrossEntropyLoss", 1000),
        loss("cross-entropy", (1120, 10_000), "SoftmaxCrossEntropyLoss", "CrossEntropyLoss", 10_000),
        loss("binary cross-entropy", (64, 10_000), "SigmoidBinaryCrossEntropyLoss", "BCEWithLogitsLoss"),
        ctc(),
    ],
    "sequences and boxes": [
        sequence_mask(),
        Layer(
            "MultiBoxPrior; 38x38",
            (1, 3, 38, 38),
            lambda mx: lambda x: mx.nd.contrib.MultiBoxPrior(x, sizes=(0.1, 0.2), ratios=(1, 2, 0.5)),
            differentiable=False,
        ),
        proposal(),
    ],
}
LAYERS = {layer.name: layer for layers in GROUPS.values() for layer in layers}


# ---------------------------------------------------------------- the process


def of_gluon(package: str, layer: Layer) -> dict[str, Callable[[], None]]:
    """The calls to time, by column, in the Gluon of a package."""
    mx = importlib.import_module(package)
    call = layer.gluon(mx)
    if isinstance(call, mx.gluon.Block):
        call.initialize(mx.init.Xavier() if call.collect_params(".*weight") else None)
    x = mx.nd.random.normal(shape=layer.shape)
    x.attach_grad()

    def forward() -> None:
        call(x)
        mx.nd.waitall()

    if not layer.differentiable:
        return {"forward": forward}
    flow = mx.nd.ones_like(call(x))

    def gradient() -> None:
        with mx.autograd.record():
            y = call(x)
        y.backward(flow)
        mx.nd.waitall()

    return {"forward": forward, "gradient": gradient}


def of_torch(layer: Layer) -> dict[str, Callable[[], None]]:
    if layer.torch is None:
        return {}
    import torch

    call = layer.torch(torch)
    x = torch.randn(layer.shape, requires_grad=True)
    flow = torch.ones_like(call(x))

    def forward() -> None:
        with torch.no_grad():
            call(x)

    def gradient() -> None:
        call(x).backward(flow)

    return {"forward": forward, "gradient": gradient}


def sample(call: Callable[[], None], seconds: float) -> float:
    """Seconds of a call, the median over so many seconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    (library,) = sys.argv[1:]
    made, calls = "", {}
    for line in sys.stdin:
        seconds, column, name = line.rstrip("\n").split(" ", 2)
        if name != made:
            wanted = LAYERS[name]
            made, calls = name, of_torch(wanted) if library == "pytorch" else of_gluon(library, wanted)
            for call in calls.values():
                sample(call, 0.0)
        print(sample(calls[column], float(seconds)) if column in calls else "nan", flush=True)


if __name__ == "__main__":
    main()
