"""What a Python program calls: a spec by name, path or text becomes an update rule."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optgen import arguments, pipeline, precision, specfiles
from optgen.diagnostics import Source, SpecErrors
from optgen.execute.choice import Restarts
from optgen.execute.cpu.device import Cpu
from optgen.execute.protocols import Platform
from optgen.execute.rule import UpdateRule
from optgen.model import Optimizer
from optgen.precision import Precision


def parse(text: str | Source) -> Optimizer:
    """Parse and check a spec; SpecErrors with all of its errors, TypeError for what is no text."""
    if not isinstance(text, Source):
        text = Source("<text>", _text(text, "the text of a spec"))
    try:
        return pipeline.check(text)
    except SpecErrors as errors:
        raise errors.with_traceback(None) from None  # it is about the spec: no frame of the compiler says more


def load(
    spec: str | os.PathLike[str] | Optimizer,
    dtype: str | Precision = "float32",
    *,
    target: str = "cpu",
    blocks_by_row: Restarts = False,
    scales_gradient: bool = False,
    **values: Any,
) -> UpdateRule:
    """An optimizer; its kernels are compiled, or taken from the cache, when parameters need them.

    `spec` is the name of a spec that comes with the package (`adam`; `torch/adam` is that of torch.optim), the path of
    a `.opt` file, or what `parse` returned. `dtype` is that of parameters and gradients, or a `Precision`: a dtype with
    masters, storages of states and the numbers of products. The other fields of a Precision can also be given one by
    one, beside a dtype: `load("adam", "bfloat16", master=True)`.

    `target` is `cpu`, or `cuda` for tensors of a GPU, which come to the same bits there. With `scales_gradient`, steps
    multiply every gradient by `step.gradient_factor` as they read it. With `blocks_by_row`, the blocks of quantized
    states restart at each row, so that a matrix can be cut between any two rows; those of parameters with rows of less
    than 16 elements are then float32, too. With `blocks_by_row="long"` they restart at rows of 256 elements and more
    only. `values` are the spec's flags, which choose the equations that are compiled, and its hyper-parameters, which
    every step uses until a step changes them; the learning rate is `lr` or `learning_rate`. One that the spec declares
    `per param` can be a list with a number for each parameter.

    Raises FileNotFoundError, SpecErrors, TypeError for an unknown argument, ValueError for one outside its interval.
    """
    chosen = precision.taken(dtype, values)
    try:
        optimizer = spec if isinstance(spec, Optimizer) else pipeline.checked(read(spec))
    except SpecErrors as errors:
        raise errors.with_traceback(None) from None
    platform = _platform(target)
    return rule_for(platform, optimizer, chosen, values, blocks_by_row=blocks_by_row, scales_gradient=scales_gradient)


def rule_for(
    platform: Platform,
    optimizer: Optimizer,
    precision: Precision,
    values: Mapping[str, Any],
    *,
    blocks_by_row: Restarts = False,
    scales_gradient: bool = False,
) -> UpdateRule:
    """A checked spec on a platform; arguments and errors are those of `load`."""
    dtype, weights = precision.dtype, precision.weights
    arguments.check_weights(optimizer, weights)
    args = arguments.resolve(optimizer, values)
    arguments.warn_of_subnormals(optimizer, dtype, {**args.values, **args.each})
    storages = arguments.storages(optimizer, dtype, precision.storage, weights)
    how: dict[str, Any] = {"blocks_by_row": blocks_by_row, "scales_gradient": scales_gradient}
    return UpdateRule(optimizer, args, precision, storages, target=platform, **how)


def _platform(target: str) -> Platform:
    if target == "cpu":
        return Cpu()
    if target == "cuda":
        from optgen.execute.cuda.device import Cuda

        return Cuda()
    raise ValueError(f"target: 'cpu' or 'cuda', not {target!r}")


def read(spec: str | os.PathLike[str]) -> Source:
    """The text of a spec: a path if it ends in `.opt` or has a folder in it, else a name; torch/adam is a name."""
    given = os.fspath(spec) if isinstance(spec, os.PathLike) else spec
    text = _text(given, "the name of a spec, a path, or what parse() returns")
    if pipeline.is_chain(text):
        return pipeline.chain(text)
    path = specfiles.path_of(text)
    return specfiles.source(path, text if path == Path(text) else None)


def _text(given: Any, expected: str) -> str:
    if isinstance(given, str):
        return given
    hint = "; decode it first" if isinstance(given, bytes) else ""
    raise TypeError(f"expected {expected}, not {type(given).__name__}{hint}")
