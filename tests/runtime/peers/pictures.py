"""What is computed of pictures by MXNet and here, with the same draws. Imports nothing but NumPy."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

PIXELS = np.random.RandomState(0).randint(0, 256, (17, 22, 3)).astype(np.uint8)
OBJECTS = np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.95], [2, 0, 0, 0.2, 0.1]], np.float32)
COLOURS: dict[str, Any] = {
    "rand_mirror": True, "mean": True, "std": True, "brightness": 0.1, "contrast": 0.2, "saturation": 0.3, "hue": 0.1,
    "pca_noise": 0.1, "rand_gray": 0.4, "inter_method": 1,
}  # fmt: skip


def sizes(mx: Any) -> dict[str, Any]:
    """Images of other sizes, parts and borders."""
    x, found = mx.nd.array(PIXELS, dtype="uint8"), {}
    for method in range(5):
        for width, height in ((7, 5), (11, 17), (30, 31), (11, 6), (5, 40)):
            found[f"resize {method} {width} {height}"] = mx.image.imresize(x, width, height, interp=method)
    for method in (0, 9):
        found[f"short {method}"] = mx.image.resize_short(x, 12, method)
    for size in ((9, 12), (30, 4), (40, 40)):
        found[f"random {size}"], _ = mx.image.random_crop(x, size, 1)
        found[f"centre {size}"], _ = mx.image.center_crop(x, size, 1)
        found[f"sized {size}"], _ = mx.image.random_size_crop(x, size, (0.1, 0.9), (0.75, 1.33), 1)
    found["fixed"] = mx.image.fixed_crop(x, 3, 4, 10, 12, (13, 9), 3)
    for kind in range(5):
        found[f"border {kind}"] = mx.image.copyMakeBorder(x, 2, 3, 4, 5, kind, values=(1, 2, 3))
    return {key: value.asnumpy() for key, value in found.items()}


def augmented(mx: Any) -> dict[str, Any]:
    """Images, and images with objects, changed by all augmenters."""
    found = {}
    for i in range(4):
        y = mx.nd.array(PIXELS, dtype="uint8")
        sized = bool(i % 2)
        for change in mx.image.CreateAugmenter((3, 8, 7), resize=12, rand_crop=True, rand_resize=sized, **COLOURS):
            y = change(y)
        found[f"augmented {i}"] = y.asnumpy()
    arguments = {**COLOURS, "rand_crop": 0.7, "rand_pad": 0.6, "min_object_covered": [0.1, 0.5], "area_range": (0.2, 3)}
    changes = mx.image.CreateDetAugmenter((3, 8, 7), resize=30, **arguments)
    for i in range(8):
        y, objects = mx.nd.array(PIXELS, dtype="uint8"), OBJECTS.copy()
        for change in changes:
            y, objects = change(y, objects)
        found[f"detection {i}"], found[f"objects {i}"] = y.asnumpy(), np.asarray(objects)
    return found


def iterated(mx: Any, folder: Path) -> dict[str, Any]:
    """Batches of seven pictures in a folder, `0.png` to `6.png`."""
    found = {}
    objects = [[np.array([2, 5] + [i, 0.1, 0.2, 0.6, 0.8] * (1 + i % 3), np.float32), f"{i}.png"] for i in range(7)]
    own = {
        "classes": (mx.image.ImageIter, {"imglist": [[i, f"{i}.png"] for i in range(7)], "shuffle": True}),
        "objects": (mx.image.ImageDetIter, {"imglist": objects, "rand_crop": 0.5, "rand_mirror": True}),
    }
    for name, (kind, arguments) in own.items():
        for last in ("pad", "discard", "roll_over"):
            batches = kind(3, (3, 5, 6), path_root=str(folder), last_batch_handle=last, inter_method=1, **arguments)
            for i in range(2):
                rounds = list(batches)
                batches.reset()
                found[f"{name} {last} {i} data"] = np.stack([batch.data[0].asnumpy() for batch in rounds])
                found[f"{name} {last} {i} label"] = np.stack([batch.label[0].asnumpy() for batch in rounds])
                found[f"{name} {last} {i} pad"] = np.array([batch.pad for batch in rounds])
    return found


def measure(mx: Any, folder: Path) -> dict[str, np.ndarray]:
    """All of it."""
    random.seed(3)
    np.random.seed(3)
    decoded = {f"jpeg {flag}": mx.image.imread(str(folder / "colours.jpg"), flag).asnumpy() for flag in (0, 1)}
    return {**decoded, **sizes(mx), **augmented(mx), **iterated(mx, folder)}
