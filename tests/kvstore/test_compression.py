"""Gradients in few bits: the words that are sent, what arrives, what is kept; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from runtime import MXNetError
from runtime.kvstore.compression import GradientCompression
from runtime.native.quantization import WORDS_PER_TASK

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SIZES = (0, 1, 15, 16, 17, 31, 32, 33, 4097, 160 * WORDS_PER_TASK + 5)  # the last one is shared among threads


def sent_by(kind: str, values: np.ndarray, threshold: float) -> np.ndarray:
    """The definition, in NumPy: the numbers sent of values to which the residual is added."""
    if kind == "1bit":
        return 2 * (values > threshold).astype(values.dtype) - 1
    return threshold * ((values >= threshold).astype(values.dtype) - (values <= -threshold).astype(values.dtype))


def words_of(kind: str, sent: np.ndarray) -> np.ndarray:
    """The definition of the words: the bits of all elements, the highest of each byte first."""
    bits = sent > 0 if kind == "1bit" else np.stack([sent != 0, sent > 0], axis=1)
    packed = np.packbits(bits)
    return np.concatenate([packed, np.zeros(-packed.size % 4, np.uint8)]).view("<u4")


def gradients(size: int, dtype: Any, threshold: float, steps: int = 4) -> list[np.ndarray]:
    """Random ones, among them thresholds, zeros of both signs, the smallest and largest numbers and, last, others."""
    rng = np.random.default_rng(size)
    grads = [(rng.normal(size=size) * 2 * threshold).astype(dtype) for _ in range(steps)]
    special = np.array([threshold, -threshold, 0.0, -0.0, 1e-45, 1e38], dtype)
    for grad in grads[: steps - 1]:
        places = rng.random(size) < 0.3
        grad[places] = rng.choice(special, places.sum())
    grads[-1][:3] = np.array([np.inf, -np.inf, np.nan], dtype)[:size]
    return [*grads, grads[0], -grads[-1]]


def assert_same_bits(x: np.ndarray, y: np.ndarray) -> None:
    """Of every element; but any NaN is as good as any other."""
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    different = x.view(f"u{x.dtype.itemsize}") != y.view(f"u{y.dtype.itemsize}")
    assert (np.isnan(x[different]) & np.isnan(y[different])).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the definition, about infinities
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", BFLOAT16], ids=str)
@pytest.mark.parametrize(("kind", "threshold"), [("2bit", 0.5), ("2bit", 0.1), ("1bit", 0.25), ("1bit", -0.1)])
def test_the_definition_bit_by_bit(kind: str, threshold: float, dtype: Any) -> None:
    for size in SIZES:
        compression = GradientCompression({"type": kind, "threshold": threshold})
        residual = np.zeros(size, "float64" if dtype == "float64" else "float32")
        for grad in gradients(size, dtype, abs(threshold)):
            residual += grad
            sent = sent_by(kind, residual, threshold).astype(dtype)
            residual -= sent
            words = compression.pack("w", 0, grad)
            assert words.size == compression.words(size) == -(-size // compression.per_word)
            np.testing.assert_array_equal(words, words_of(kind, sent))
            arrived = np.empty_like(grad)
            compression.unpack(words, arrived)
            assert_same_bits(arrived, sent)
            assert_same_bits(compression.states()['["w", 0]'], residual)


def test_words_as_mxnet_lays_them_out() -> None:
    compression = GradientCompression({"type": "2bit", "threshold": 0.5})
    assert compression.pack("w", 0, np.float32([0.5, -0.5, 0.1])).tobytes() == b"\xe0\x00\x00\x00"
    grad = np.zeros((3, 7), np.float32)
    grad[0, 4], grad[2, 6] = 1, -1  # elements 4 and 20
    words = compression.pack("v", 0, grad)
    assert words.tobytes() == b"\x00\xc0\x00\x00" + b"\x00\x80\x00\x00"
    none = np.full(16, np.nan, np.float32)
    compression.unpack(np.array([0x55555555], np.uint32), none)  # 01: nothing sends that
    assert not none.any()
    compression = GradientCompression({"type": "1bit", "threshold": 0})
    grad = np.where(np.isin(np.arange(33), (1, 8, 32)), 1, -1).astype(np.float32)
    assert compression.pack("w", 0, grad).tobytes() == b"\x40\x80\x00\x00" + b"\x80\x00\x00\x00"


@pytest.mark.parametrize("kind", ["1bit", "2bit"])
def test_parts(kind: str) -> None:
    """What arrives of a part that begins at a whole word; words may come from a message, and cannot be written to."""
    compression = GradientCompression({"type": kind})
    grad = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    words, arrived = compression.pack(3, 1, grad), compression(3, 2, grad)
    for begin, end in ((0, 5000), (0, 4096), (4096, 5000), (32, 64), (4992, 5000), (96, 96)):
        message = words[begin // compression.per_word :][: compression.words(end - begin)].tobytes()
        part = np.full(end - begin + 1, 7, np.float32)
        compression.unpack(np.frombuffer(message, np.uint32), part[:-1])
        np.testing.assert_array_equal(part, [*arrived[begin:end], 7])


def test_shapes_strides_and_memory() -> None:
    compression = GradientCompression({"type": "2bit"})
    grad = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    np.testing.assert_array_equal(compression("t", 0, grad.T), compression("c", 0, grad).T)
    assert compression("scalar", 0, np.float32([2.0])[0].reshape(())) == 0.5
    first = compression.pack("w", 0, grad)
    assert first is compression.pack("w", 0, -grad) and first is not compression.pack("w", 1, grad)
    wide = compression("wide", 0, grad), compression("wide", 0, grad.astype(np.float64))
    assert [x.dtype for x in wide] == [np.float32, np.float64]  # what the first lost is not lost to the second
    np.testing.assert_allclose(wide[0] + wide[1] + compression.states()['["wide", 0]'], 2 * grad.astype(np.float64))


def test_states_go_on() -> None:
    rng = np.random.default_rng(0)
    grads = [rng.normal(size=(2, 50)).astype(np.float32) for _ in range(3)]
    first = GradientCompression({"type": "2bit"})
    first("a'\"[", 0, grads[0]), first("a'\"[", 1, grads[1]), first("b", 0, grads[2].astype(np.float16))
    states = first.states()
    second = GradientCompression({"type": "2bit"})
    second("gone", 0, grads[0])
    second.load_states({json.loads(json.dumps(name)): state for name, state in states.items()})
    for k in range(3):
        np.testing.assert_array_equal(first("a'\"[", k, grads[k]), second("a'\"[", k, grads[k]))
    assert list(states) == ['["a\'\\"[", 0]', '["a\'\\"[", 1]', '["b", 0]']
    np.testing.assert_array_equal(second.states()['["b", 0]'], states['["b", 0]'])
    with pytest.raises(MXNetError, match=r"key 'b': a gradient of shape \(3,\), .* has shape \(2, 50\)"):
        second.pack("b", 0, np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "name", ["w", '["w"]', '["w", -1]', '["w", 0, 0]', "[null, 0]", "[true, 0]", '["w",0]', '["w", 0.5]', "7"]
)
def test_states_refused(name: str) -> None:
    compression = GradientCompression({"type": "1bit"})
    compression("w", 0, np.ones(3, np.float32))
    kept = np.zeros(3, np.float32)
    with pytest.raises(MXNetError, match="named by a key and a position, not"):
        compression.load_states({'["w", 0]': kept, name: kept})
    with pytest.raises(MXNetError, match=r"are float32 or float64; .* is int32"):
        compression.load_states({'["w", 0]': kept, '["v", 0]': kept.astype(np.int32)})
    assert compression.states()['["w", 0]'].tolist() == [0, 0, 0]


def test_gradients_refused() -> None:
    def kind(name: str, threshold: float) -> GradientCompression:
        return GradientCompression({"type": name, "threshold": threshold})

    for name, threshold, dtype, words in (
        ("2bit", 0.5, np.int32, "key 'w': gradients of type int32 are not compressed; use one of"),
        ("2bit", 1e-9, np.float16, "key 'w': the threshold 1e-09 of 2bit .* is no number of type float16"),
        ("2bit", 1e6, np.float16, "too large or too small"),
        ("1bit", 1e39, np.float32, "too large or too small"),
    ):
        compression = kind(name, threshold)
        with pytest.raises(MXNetError, match=words):
            compression("w", 0, np.ones(3, dtype))
        assert not compression.states()
    with pytest.raises(MXNetError, match="17 elements are 2 words of 2bit compression, not 1"):
        kind("2bit", 1).unpack(np.zeros(1, np.uint32), np.empty(17, np.float32))
    with pytest.raises(TypeError, match="uint8"):
        kind("2bit", 1).unpack(np.zeros(1, np.uint8), np.empty(16, np.float32))
