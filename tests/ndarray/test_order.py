"""Files of `runtime.ndarray` and `runtime.autograd` import only what is above them, in functions and for types too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_only("sources, which are the same for every device")

ROOT = Path(__file__).parents[2]

AUTOGRAD = ["modes", "graph", "trace", "traversal", "function", "__init__"]

NDARRAY = [
    "ndarray",
    "operator",
    "two_gradients",
    "shape/reshape",
    "reduce/reductions",
    "elementwise/special",
    "elementwise/unary",
    "elementwise/binary",
    "elementwise/casting",
    "elementwise/__init__",
    "elementwise/straight_through",
    "shape/broadcast",
    "shape/subscript",
    "shape/slicing",
    "creation",
    "sparse/base",
    "sparse/row_sparse",
    "sparse/csr",
    "sparse/creation",
    "sparse/arithmetic",
    "sparse/products",
    "sparse/rules",
    "sparse/densify",
    "sparse/__init__",
    "serialization",
    "methods",
    "shape/sequence",
    "shape/gather",
    "shape/pick",
    "reduce/ordering",
    "linalg/products",
    "linalg/diagonals",
    "linalg/matrices",
    "linalg/transforms",
    "nn/activation",
    "nn/softmax",
    "nn/normalization",
    "nn/batch_norm",
    "nn/local_norms",
    "nn/fully_connected",
    "nn/dropout",
    "nn/windows",
    "nn/gpu_windows",
    "nn/channels_last",
    "nn/gathered",
    "nn/depthwise",
    "nn/grouped",
    "nn/pointwise",
    "nn/winograd",
    "nn/convolution",
    "nn/pooling",
    "nn/attention",
    "nn/ctc",
    "nn/output_ops",
    "nn/contrib",
    "nn/first_versions",
    "nn/quantized",
    "nn/point_processes",
    "vision/interpolation",
    "vision/resize",
    "vision/regions",
    "vision/grid_sample",
    "vision/deformable",
    "vision/proposals",
    "vision/correlation",
    "vision/boxes",
    "vision/gpu_multibox",
    "vision/multibox",
    "rnn/gpu_recurrent",
    "rnn/recurrent",
    "rnn/stacked",
    "random/distributions",
    "random/__init__",
    "random/operators",
    "random/densities",
    "updates/rule",
    "updates/multi_tensor",
    "updates/optimizer_ops",
    "updates/sums",
    "dlpack",
    "custom",
    "contrib",
    "image",
    "_internal",
    "__init__",
]
"""Of both packages the files, in the order data flows: each imports only those above it."""

ABOVE_AUTOGRAD = {"base", "core"}
ABOVE_NDARRAY = {"attribute", "autograd", "base", "context", "core", "native", "util"}
"""What they import of the rest of `runtime`."""


def module(package: str, name: str) -> str:
    """The module that a file of a package of `runtime` is."""
    return ".".join(("runtime", package, *name.removesuffix("__init__").strip("/").split("/"))).rstrip(".")


def files(package: str) -> dict[str, bool]:
    """The files of a package, and whether there is more in them than a docstring."""
    folder = ROOT / "runtime" / package
    paths = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.py")}
    return {name: len(ast.parse(path.read_text(encoding="utf-8")).body) > 1 for name, path in paths.items()}


def imported(path: Path) -> set[str]:
    """Every name of `runtime` that a file imports, in full, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "runtime"}


@pytest.mark.parametrize(
    ("package", "order", "above"), [("autograd", AUTOGRAD, ABOVE_AUTOGRAD), ("ndarray", NDARRAY, ABOVE_NDARRAY)]
)
def test_each_file_imports_only_those_above_it(package: str, order: list[str], above: set[str]) -> None:
    found = files(package)
    assert sorted(order) == sorted(name for name, filled in found.items() if filled), "the order names every file"
    empty = {module(package, name) for name, filled in found.items() if not filled}
    places = {module(package, name): i for i, name in enumerate(order)}
    for i, name in enumerate(order):
        for target in imported(ROOT / "runtime" / package / f"{name}.py"):
            if target.split(".")[1] != package:
                assert target.split(".")[1] in above, f"{package}/{name} never sees {target}"
            elif target not in empty:
                place = places.get(target, places.get(target.rpartition(".")[0], len(order)))
                assert place < i, f"{package}/{name} is above {target}"
