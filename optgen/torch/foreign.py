"""State dicts of other libraries' optimizers in 8 or 4 bits: bitsandbytes and torchao (`torchao.optim`).

Both keep codes in blocks that run on from row to row, a float32 scale for each, and the map from codes to numbers.
bitsandbytes (0.43 to 0.50) calls the states `state1` and `state2`, their scales `absmax1` and maps `qmap1`; since 0.49,
they stand in a dict of their own. torchao (0.18) has a subclass of tensors for each kind of codes, with their `codes`,
`scale` and `qmap`; two codes of 4 bits are in a byte, the first one in its upper half. Neither library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.ir import Buffer
from optgen.ir.storage import packing
from optgen.torch.bound import kernel_of
from optgen.torch.forms import SCALE
from optgen.torch.memory import ParamMemory, axes_in_memory, is_dtensor
from optgen.torch.rules import Owner, load
from optgen.torch.spelling import naming
from optgen.torch.state import STEP
from optgen.torch.values import GroupValues

WRAPPED = "__bnb_optimizer_quant_state__"
"""The key under which bitsandbytes keeps the states of a parameter."""
SUBCLASSES = ("OptimState8bit", "OptimState4bit", "OptimStateFp8")
"""torchao's tensors. The last one has codes of float8 and no map."""
_OURS = {"exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "v_max"}
_TORCHS = {name: name for name in _OURS}
NAMES: Mapping[str, Mapping[str, str]] = {
    "Adam": _OURS, "AdamW": _OURS, "LAMB": _OURS, "Lion": {"exp_avg": "m"}, "TorchAdam": _TORCHS,
    "TorchAdamW": _TORCHS, "TorchSGD": {"exp_avg": "momentum_buffer"},
}  # fmt: skip
"""The keys of states here, of each spec whose states mean the same there, by torchao's keys."""
BITSANDBYTES = {"1": "exp_avg", "2": "exp_avg_sq"}
"""torchao's keys of the states that bitsandbytes numbers."""
SAME_VALUES = ("lr", "betas", "eps", "weight_decay", "momentum", "amsgrad")
"""The keys of groups that mean the same there."""
BLOCK = 256
"""Elements of a block of bitsandbytes."""

Coded = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Codes of a parameter's shape, the scales of their blocks, and the numbers that codes stand for."""


def converted(optimizer: Owner, state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict as this optimizer's, if it is of bitsandbytes or torchao; any other one as it is.

    States keep their codes where these are kept here by the same map, and are float32 numbers otherwise. ValueError for
    states that this optimizer has not, or that are cut.
    """
    found = {k: _unwrapped(x) for k, x in state_dict["state"].items() if isinstance(x, Mapping)}
    if not any(map(_is_foreign, found.values())):
        return state_dict
    if optimizer.spec.name not in NAMES:
        raise ValueError(
            f"{type(optimizer).__name__}: the state dict is of bitsandbytes or torchao, whose states have no meaning "
            f"here; they are converted for {', '.join(sorted(NAMES))}"
        )
    state, groups = dict(state_dict["state"]), []
    for own, saved in zip(optimizer.param_groups, state_dict["param_groups"], strict=False):
        values = {key: x for key, x in saved.items() if key in SAME_VALUES and key in own}
        groups.append({**own, **values, "params": saved["params"]})
        for number, p in zip(saved["params"], own["params"], strict=False):
            if number in found:
                with naming([p], optimizer.describe):
                    state[number] = _states(optimizer, own, p, found[number])
    groups += state_dict["param_groups"][len(groups) :]
    return {**state_dict, "state": state, "param_groups": groups}


def as_bitsandbytes(optimizer: Owner) -> dict[str, Any]:
    """The state dict that `load_state_dict` of bitsandbytes' optimizer takes, of one in 8 bits: its groups have the
    values that mean the same there.

    States with the storage int8_dynamic keep their codes, if their blocks run on from row to row, or end with rows.
    ValueError for states in other codes.
    """
    if optimizer.spec.name not in NAMES:
        raise ValueError(f"{type(optimizer).__name__}: bitsandbytes has no optimizer with such states")
    content = optimizer.state_dict()  # type: ignore[attr-defined]
    params = [p for group in optimizer.param_groups for p in group["params"]]
    names = {NAMES[optimizer.spec.name][there]: k for k, there in BITSANDBYTES.items() if there in _here(optimizer)}
    for number, kept in content["state"].items():
        made: dict[str, Any] = {}
        for key, k in names.items():
            if key + SCALE in kept:
                with naming([params[number]], optimizer.describe):
                    made |= _for_bitsandbytes(optimizer, params[number], key, k, kept)
            elif kept.get(key) is not None:
                made[f"state{k}"] = kept[key].float()
        content["state"][number] = {"step": int(kept.get(STEP, 1)), WRAPPED: made}
    groups = content["param_groups"]
    content["param_groups"] = [{k: x for k, x in g.items() if k in (*SAME_VALUES, "params")} for g in groups]
    return content  # type: ignore[no-any-return]


def _here(optimizer: Owner) -> Mapping[str, str]:
    return NAMES[optimizer.spec.name]


def _for_bitsandbytes(
    optimizer: Owner, param: torch.Tensor, key: str, k: str, kept: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The codes of a state as bitsandbytes has them. Blocks within longer rows, which it has not, are refused."""
    buffer = _buffer(optimizer, _group_of(optimizer, param), param, key)
    codes, scales = kept[key], kept[key + SCALE]
    if buffer.storage != "int8_dynamic" or is_dtensor(codes) or scales.numel() != -(-codes.numel() // BLOCK):
        raise ValueError(
            f"params[0]: state['{key}'] is in {buffer.storage}, in blocks that restart at rows: bitsandbytes has codes "
            "of int8_dynamic in blocks that run on; give it the numbers, which an optimizer without storage loads"
        )
    numbers = torch.from_numpy(_map(buffer)).to(codes.device)
    return {f"state{k}": codes, f"qmap{k}": numbers, f"absmax{k}": scales.flatten()}


def _group_of(optimizer: Owner, param: torch.Tensor) -> Mapping[str, Any]:
    return next(group for group in optimizer.param_groups if any(p is param for p in group["params"]))


# ---------------------------------------------------------------- one parameter


def _unwrapped(kept: Mapping[str, Any]) -> dict[str, Any]:
    inner = kept.get(WRAPPED)
    return {**{k: x for k, x in kept.items() if k != WRAPPED}, **(inner if isinstance(inner, Mapping) else {})}


def _is_foreign(kept: Mapping[str, Any]) -> bool:
    return "state1" in kept or any(type(x).__name__ in SUBCLASSES for x in kept.values())


def _states(optimizer: Owner, group: Mapping[str, Any], param: torch.Tensor, kept: Mapping[str, Any]) -> dict[str, Any]:
    """The states of a parameter by the keys here."""
    names, found = _here(optimizer), dict[str, Any]()
    if optimizer.state_keys.has_step and "step" in kept:
        found[STEP] = kept["step"]
    for there, x in _by_torchaos_keys(kept, param).items():
        if there not in names:
            raise ValueError(
                f"params[0]: the state dict is of another optimizer: it has a state '{there}', and "
                f"{optimizer.spec.name} has {', '.join(names.values())}"
            )
        key = names[there]
        if isinstance(x, torch.Tensor):
            found[key] = x
            continue
        codes, scales, numbers = x
        buffer = _buffer(optimizer, group, param, key)
        block = _block_of(codes, scales)
        if buffer.is_quantized and block == buffer.format.block and numbers is not None and _is_map(numbers, buffer):
            found[key] = _packed(codes) if buffer.format.is_packed else codes
            found[key + SCALE] = scales
        else:
            found[key] = _decoded(codes, scales, numbers, block)
    return found


def _by_torchaos_keys(kept: Mapping[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor | Coded]:
    """The states: tensors of numbers, or in codes."""
    if any(is_dtensor(x) for x in kept.values()):
        raise ValueError(
            "params[0]: states of another library that are cut into shards; gather them there, as by "
            "get_optimizer_state_dict with full_state_dict=True"
        )
    if "state1" not in kept:
        states = {key: x for key, x in kept.items() if key != "step"}
        return {key: _of_torchao(key, x, param) for key, x in states.items() if x is not None}
    found: dict[str, torch.Tensor | Coded] = {}
    for k, there in BITSANDBYTES.items():
        codes = kept.get(f"state{k}")
        if codes is None:
            continue
        if tuple(codes.shape) != tuple(param.shape):
            raise ValueError(
                f"params[0]: state{k} of shape {tuple(codes.shape)}: bitsandbytes keeps several states in it, as for "
                "AdEMAMix, which are not converted"
            )
        is_coded = codes.dtype == torch.uint8
        found[there] = _checked(f"state{k}", codes, kept.get(f"absmax{k}"), kept.get(f"qmap{k}")) if is_coded else codes
    return found


def _of_torchao(key: str, x: Any, param: torch.Tensor) -> torch.Tensor | Coded:
    kind = type(x).__name__
    if kind not in SUBCLASSES:
        return x  # type: ignore[no-any-return]
    codes = x.codes
    if kind == "OptimState4bit":
        codes = torch.stack([codes >> 4, codes & 15], dim=-1)
    return _checked(key, codes.reshape(param.shape), x.scale, getattr(x, "qmap", None))


def _checked(key: str, codes: torch.Tensor, scales: Any, numbers: Any) -> Coded:
    """ValueError unless scales are of blocks, and the map has a number for each code."""
    is_fp8 = codes.dtype == torch.float8_e4m3fn
    fits = isinstance(scales, torch.Tensor) and scales.dim() == 1 and scales.numel() > 0
    if not fits or not (is_fp8 or (isinstance(numbers, torch.Tensor) and numbers.numel() in (16, 256))):
        raise ValueError(
            f"params[0]: state '{key}' of another library: codes without the scales of blocks, or their map"
        )
    return codes, scales.float(), None if is_fp8 else numbers.float()


def _block_of(codes: torch.Tensor, scales: torch.Tensor) -> int:
    """How many elements have a scale: bitsandbytes' last block may be short, and torchao's blocks are whole."""
    n = codes.numel()
    return BLOCK if scales.numel() == -(-n // BLOCK) else -(-n // scales.numel())


def _decoded(codes: torch.Tensor, scales: torch.Tensor, numbers: torch.Tensor | None, block: int) -> torch.Tensor:
    """The numbers, blocks of which are neighbours in memory."""
    axes = axes_in_memory(codes) or list(range(codes.dim()))
    flat = codes.permute(axes).flatten()
    values = flat.float() if numbers is None else numbers[flat.long()]
    values = values * scales.repeat_interleave(block)[: flat.numel()]
    in_memory = values.view([codes.shape[k] for k in axes])
    return in_memory.permute([axes.index(k) for k in range(len(axes))])


def _packed(codes: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(packing.pack(codes.flatten().cpu().numpy())).to(codes.device)


# ---------------------------------------------------------------- maps


def _buffer(optimizer: Owner, group: Mapping[str, Any], param: torch.Tensor, key: str) -> Buffer:
    """How a state is kept here."""
    values = GroupValues(optimizer.spec, optimizer.spelling, group)
    rule = load(optimizer, param, values.arguments, values.options, blocks="long")
    states = kernel_of(rule, ParamMemory(param)).states.values()
    found = next((b for b in states if optimizer.state_keys.key_of(b.name) == key), None)
    if found is None:
        raise ValueError(f"params[0]: the state dict is of an optimizer with other arguments: it has a state '{key}'")
    return found


def _map(buffer: Buffer) -> Any:
    """The numbers that the codes of a buffer stand for, in their order."""
    codes = np.arange(1 << buffer.format.bits, dtype=np.uint8)
    stored = packing.pack(codes) if buffer.format.is_packed else codes
    return np.asarray(storage.decode(stored, np.ones(1, np.float32), buffer, codes.shape))


def _is_map(numbers: torch.Tensor, buffer: Buffer) -> bool:
    """Whether it is the map of a buffer, up to the last places of float32."""
    own = _map(buffer)
    return numbers.shape == own.shape and bool(np.allclose(numbers.cpu().numpy(), own, rtol=1e-6, atol=1e-7))
