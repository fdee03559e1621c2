"""Gradients in few bits. What is lost is kept, and added to the next gradient of the same key and context.

What is sent are words of 32 bits, laid out as MXNet does it (2bit: 1.9.1; 1bit: 2.0, 1.9.1 has none). The elements of
a gradient, in C order, are in its bytes one after the other, each byte filled from its highest bits on, the first byte
of a word being its lowest one:

- 2bit: 16 elements in a word. `11` is the threshold, for values from it on; `10` its opposite, for values from that
  down; `00` is 0, for all between. Nothing sends `01`, which is read as 0.
- 1bit: 32 elements in a word. `1` is 1, for values above the threshold; `0` is -1, for all others.

Bits behind the last element are 0. With 2 bits and threshold 0.5, the elements 0.5, -0.5, 0.1 make the word 0xe0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime.base import MXNetError, did_you_mean
from runtime.context import Context, cpu
from runtime.core import backend
from runtime.kvstore import gpu_compression as words_of
from runtime.kvstore.base import Key
from runtime.native import quantization
from runtime.native.quantization import WORDS_PER_TASK

_KEPT_IN = {"float16": np.float32, "bfloat16": np.float32, "float32": np.float32, "float64": np.float64}
"""The types of residuals, by those of gradients."""

_CPU = cpu()


@dataclass(frozen=True)
class _Format:
    per_word: int
    pack: LoopKernel
    unpack: LoopKernel


_FORMATS = {
    "2bit": _Format(quantization.ELEMENTS_2BIT, quantization.pack_2bit, quantization.unpack_2bit),
    "1bit": _Format(quantization.ELEMENTS_1BIT, quantization.pack_1bit, quantization.unpack_1bit),
}


class GradientCompression:
    """What a store's `set_gradient_compression` is given: `type`, '2bit' or '1bit', and `threshold`, 0.5 if not given.

    A gradient has a key and a position in the list of that key's gradients, one for each context. What was lost of the
    one before is added to it. The sum is sent as numbers of few bits each. Kept is the residual, what is left of it: in
    float64 for gradients of float64, in float32 for others (float16, bfloat16, float32). In that type the sum is
    compared with the threshold; what is sent is the threshold rounded to the type of the gradient.

    An infinite gradient stays infinite as a residual, so that the same is sent from then on. NaN stays, too: it is sent
    as 0 with 2 bits, as -1 with 1 bit.

    Raises MXNetError for any other parameters, or a threshold for 2 bits that is not above 0.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping) or "type" not in params:
            raise MXNetError(f"gradient compression takes a dict with a 'type', {list(_FORMATS)}, not {params!r}")
        for name in params:
            if name not in ("type", "threshold"):
                raise MXNetError(f"gradient compression has no parameter '{name}'; known: type, threshold")
        self.type, threshold = str(params["type"]), params.get("threshold", 0.5)
        if self.type not in _FORMATS:
            raise MXNetError(f"unknown gradient compression '{self.type}'{did_you_mean(self.type, _FORMATS)}")
        try:
            self.threshold = float(threshold)
        except (TypeError, ValueError):
            raise MXNetError(f"the threshold of gradient compression is a number, not {threshold!r}") from None
        if not np.isfinite(self.threshold) or (self.type == "2bit" and self.threshold <= 0):
            raise MXNetError(f"the threshold of {self.type} gradient compression cannot be {self.threshold}")
        self._format = _FORMATS[self.type]
        self._levels: dict[np.dtype, np.ndarray] = {}
        self._residuals: dict[tuple[Key, int], np.ndarray] = {}
        self._words: dict[tuple[Key, int], np.ndarray] = {}
        self._arrived: dict[tuple[Key, int], np.ndarray] = {}

    @property
    def per_word(self) -> int:
        """How many elements a word has: 16, or 32."""
        return self._format.per_word

    def words(self, count: int) -> int:
        """How many words hold `count` elements."""
        return -(-count // self.per_word)

    def check(self, key: Key, position: int, grad: np.ndarray) -> None:
        """Raise MXNetError for a gradient that is no array of floats, in whose type the threshold is 0 or infinite, or
        that has another shape than the one before it."""
        self._levels_in(grad.dtype, f"key {key!r}: ")
        residual = self._residuals.get((key, position))
        if residual is not None and residual.shape != grad.shape:
            raise MXNetError(
                f"key {key!r}: a gradient of shape {grad.shape}, but what was lost of the one before has shape "
                f"{residual.shape}"
            )

    def pack(self, key: Key, position: int, grad: np.ndarray) -> np.ndarray:
        """What is sent of `grad`: `words(grad.size)` words (uint32).

        They are in memory of this key and position, which the next call for these uses again. Raises what `check` does,
        with nothing changed.
        """
        self.check(key, position, grad)
        levels, place, n = self._levels_in(grad.dtype), (key, position), grad.size
        residual = self._residuals.get(place)
        if residual is None or residual.dtype != levels.dtype:
            residual = np.zeros(grad.shape, levels.dtype) if residual is None else residual.astype(levels.dtype)
        if backend.array_module(grad) is not np:
            return self._pack_there(place, grad, residual, levels)
        self._residuals[place] = residual = backend.to_host(residual)
        words = self._words.get(place)
        if words is None:
            words = self._words[place] = np.empty(self.words(n), np.uint32)
        grad = np.ascontiguousarray(grad, levels.dtype)
        self._format.pack(-(-words.size // WORDS_PER_TASK), n, grad, residual, levels, words, n)
        return words

    def _pack_there(self, place: tuple[Key, int], grad: Any, residual: Any, levels: np.ndarray) -> Any:
        """`pack` of a gradient on a GPU, where the words then are, and the residual stays."""
        if backend.is_host(residual) or residual.device != grad.device:
            residual = backend.to_device_of(grad, backend.to_host(residual))
        self._residuals[place] = residual
        with grad.device:
            return words_of.pack(32 // self.per_word, grad.astype(levels.dtype, copy=False), residual, levels)

    def unpack(self, words: np.ndarray, out: np.ndarray) -> None:
        """Write the numbers sent in `words` (uint32) to `out`, a C-contiguous array of the type of the gradient in the
        memory of the words.

        It may be a part of the gradient: one that begins at a multiple of `per_word` elements.

        Raises MXNetError for a number of words that is not `words(out.size)`, and for what is no array of floats.
        """
        n = out.size
        if words.size != self.words(n):
            raise MXNetError(f"{n} elements are {self.words(n)} words of {self.type} compression, not {words.size}")
        levels = self._levels_in(out.dtype)
        if not backend.is_host(out):
            with out.device:
                return words_of.unpack(32 // self.per_word, words, out, levels)
        numbers = out if out.dtype == levels.dtype else np.empty(out.shape, levels.dtype)
        self._format.unpack(-(-words.size // WORDS_PER_TASK), n, numbers, levels, words, n)
        if numbers is not out:
            out[...] = numbers

    def __call__(self, key: Key, position: int, grad: np.ndarray, context: Context = _CPU) -> np.ndarray:
        """What arrives of `grad` in a context: an array of its shape and type, in memory of this key and position,
        which the next call for these uses again. Raises what `check` does, with nothing changed."""
        words = backend.to_context(self.pack(key, position, grad), context)
        arrived = self._arrived.get((key, position))
        if arrived is None or arrived.dtype != grad.dtype or type(arrived) is not type(words):
            with backend.device_scope(context):
                arrived = self._arrived[key, position] = backend.xp_for(context).empty(grad.shape, grad.dtype)
        self.unpack(words, arrived)
        return arrived

    def states(self) -> dict[str, np.ndarray]:
        """Copies of all residuals, by names that are JSON: `["w", 0]` for key 'w' and position 0."""
        return {json.dumps(place): backend.to_host(x).copy() for place, x in self._residuals.items()}

    def load_states(self, states: Mapping[str, np.ndarray]) -> None:
        """Go on with residuals that `states` gave, in place of those there are.

        Raises MXNetError, with nothing changed, for names and types of arrays that `states` does not give. That the
        shapes fit is checked when gradients come.
        """
        residuals = {_place(name): residual for name, residual in states.items()}
        for name, residual in states.items():
            if residual.dtype not in (np.float32, np.float64):
                raise MXNetError(
                    f"residuals of gradient compression are float32 or float64; {name} is {residual.dtype}"
                )
        self._residuals = {place: np.array(residual, order="C") for place, residual in residuals.items()}
        self._words, self._arrived = {}, {}

    def _levels_in(self, dtype: np.dtype, whose: str = "") -> np.ndarray:
        """The threshold and the number that is sent, for gradients of a type; in the type of their residuals."""
        levels = self._levels.get(dtype)
        if levels is None:
            kept_in = _KEPT_IN.get(dtype.name)
            if kept_in is None:
                raise MXNetError(f"{whose}gradients of type {dtype} are not compressed; use one of {list(_KEPT_IN)}")
            with np.errstate(all="ignore"):
                number = np.float64(self.threshold if self.type == "2bit" else 1).astype(dtype)
                levels = np.array([self.threshold, number]).astype(kept_in)
            if not np.isfinite(levels).all() or (self.type == "2bit" and levels.min() == 0):
                raise MXNetError(
                    f"{whose}the threshold {self.threshold} of {self.type} gradient compression is no number of type "
                    f"{dtype}, that of the gradient, but too large or too small for it"
                )
            self._levels[dtype] = levels
        return levels


def _place(name: str) -> tuple[Key, int]:
    """The key and the position that a residual's name stands for."""
    try:
        key, position = json.loads(name)
    except (ValueError, TypeError, RecursionError):
        key = position = None
    known = type(key) in (int, str) and type(position) is int and position >= 0
    if not known or json.dumps([key, position]) != name:
        raise MXNetError(f"a residual of gradient compression is named by a key and a position, not {name!r}")
    return key, position
