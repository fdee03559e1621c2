"""Steps under PyTorch's FakeTensorMode, in which tensors have shapes and no numbers."""

from __future__ import annotations

import torch


def refuse(name: str) -> None:
    """RuntimeError if FakeTensorMode is on: kernels would write the numbers of tensors that are real."""
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
        raise RuntimeError(
            f"{name}: a step under FakeTensorMode: steps are compiled kernels, which read and write memory that fake "
            "tensors have not; call step() outside of the mode"
        )
