"""Marks of tests that need what older versions of PyTorch have not."""

from __future__ import annotations

import inspect
import types

import pytest
import torch

from optgen.torch import features

needs_unclamped = pytest.mark.skipif(
    not features.HAS_MUON or "spectral_unclamped" not in str(inspect.getdoc(torch.optim.Muon)),
    reason="this PyTorch has no Muon with adjust_lr_fn='spectral_unclamped'",
)
"""Since PyTorch 2.14."""
needs_fsdp_on_cpus = pytest.mark.skipif(
    not hasattr(torch.cpu.Stream, "record_event"), reason="this PyTorch's fully_shard runs on GPUs alone"
)
_ANNOTATION = inspect.signature(torch.optim.Adam).parameters["foreach"].annotation

needs_muon = pytest.mark.skipif(not features.HAS_MUON, reason="this PyTorch has no torch.optim.Muon")
needs_unions = pytest.mark.skipif(
    not isinstance(_ANNOTATION, types.UnionType), reason="this PyTorch annotates arguments with Optional and Union"
)
"""Since PyTorch 2.10. The stub file has PyTorch's annotations, and is written with those."""
