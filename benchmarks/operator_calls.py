"""The operators that networks use, on arrays so small that a call takes no longer than it has to, in three libraries.

Each function returns calls by name, over arrays that want gradients; `of_runtime` has all names. NumPy has no
gradients, and calls only where one function of it does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Calls = dict[str, Callable[[], Any]]


class Inputs(NamedTuple):
    """What the calls take, as arrays of NumPy, or made from them by another library."""

    x: Any  # (4, 8), as is y
    y: Any
    row: Any  # (1, 8)
    weight: Any  # (5, 8)
    bias: Any  # (5,)
    vectors: Any  # (10, 8)
    image: Any  # (1, 2, 8, 8)
    filters: Any  # (3, 2, 3, 3)
    offsets: Any  # (3,)
    gamma: Any  # (8,), as is beta
    beta: Any


def inputs() -> Inputs:
    shapes = [(4, 8), (4, 8), (1, 8), (5, 8), (5,), (10, 8), (1, 2, 8, 8), (3, 2, 3, 3), (3,), (8,), (8,)]
    random = np.random.default_rng(0)
    return Inputs(*(random.uniform(0.5, 1.5, shape).astype(np.float32) for shape in shapes))


LABELS = np.array([1, 0, 7, 3])


def of_runtime(given: Inputs) -> Calls:
    from runtime import nd

    i = Inputs(*map(nd.array, given))
    for array in i:
        array.attach_grad()
    x, y, labels = i.x, i.y, nd.array(LABELS)
    mean, variance = nd.zeros(8), nd.ones(8)
    return {
        "x + y": lambda: x + y,
        "x * y": lambda: x * y,
        "x * 2": lambda: x * 2.0,
        "x + row": lambda: x + i.row,
        "x > y": lambda: x > y,
        "where": lambda: nd.where(x, x, y),
        "exp": lambda: nd.exp(x),
        "relu": lambda: nd.relu(x),
        "tanh": lambda: nd.tanh(x),
        "clip": lambda: nd.clip(x, 0.0, 1.0),
        "reshape": lambda: x.reshape((8, 4)),
        "transpose": lambda: x.T,
        "expand_dims": lambda: x.expand_dims(0),
        "broadcast_to": lambda: i.row.broadcast_to((4, 8)),
        "x[1]": lambda: x[1],
        "x[1:3]": lambda: x[1:3],
        "x[:, 2:6]": lambda: x[:, 2:6],
        "slice_axis": lambda: nd.slice_axis(x, axis=1, begin=2, end=6),
        "concat": lambda: nd.concat(x, y, dim=1),
        "stack": lambda: nd.stack(x, y),
        "split": lambda: nd.split(x, 2, axis=1),
        "sum": lambda: x.sum(),
        "sum(axis=1)": lambda: x.sum(axis=1),
        "mean": lambda: x.mean(),
        "max(axis=1)": lambda: x.max(axis=1),
        "softmax": lambda: nd.softmax(x),
        "log_softmax": lambda: nd.log_softmax(x),
        "pick": lambda: nd.pick(x, labels),
        "dot": lambda: nd.dot(x, i.weight, transpose_b=True),
        "FullyConnected": lambda: nd.FullyConnected(x, i.weight, i.bias, num_hidden=5),
        "Embedding": lambda: nd.Embedding(labels, i.vectors, 10, 8),
        "Dropout": lambda: nd.Dropout(x, p=0.5, mode="always"),
        "LayerNorm": lambda: nd.LayerNorm(x, i.gamma, i.beta),
        "BatchNorm": lambda: nd.BatchNorm(x, i.gamma, i.beta, mean, variance, fix_gamma=False),
        "Pooling": lambda: nd.Pooling(i.image, kernel=(2, 2), stride=(2, 2), pool_type="max"),
        "Convolution": lambda: nd.Convolution(i.image, i.filters, i.offsets, kernel=(3, 3), num_filter=3),
    }


def of_numpy(i: Inputs) -> Calls:
    x, y = i.x, i.y
    row_of = np.arange(4)
    return {
        "x + y": lambda: x + y,
        "x * y": lambda: x * y,
        "x * 2": lambda: x * 2.0,
        "x + row": lambda: x + i.row,
        "x > y": lambda: x > y,
        "where": lambda: np.where(x, x, y),
        "exp": lambda: np.exp(x),
        "relu": lambda: np.maximum(x, 0.0),
        "tanh": lambda: np.tanh(x),
        "clip": lambda: x.clip(0.0, 1.0),
        "reshape": lambda: x.reshape((8, 4)),
        "transpose": lambda: x.T.copy(),
        "expand_dims": lambda: np.expand_dims(x, 0),
        "broadcast_to": lambda: np.broadcast_to(i.row, (4, 8)).copy(),
        "x[1]": lambda: x[1],
        "x[1:3]": lambda: x[1:3],
        "x[:, 2:6]": lambda: x[:, 2:6].copy(),
        "slice_axis": lambda: x[:, 2:6].copy(),
        "concat": lambda: np.concatenate((x, y), axis=1),
        "stack": lambda: np.stack((x, y)),
        "split": lambda: np.split(x, 2, axis=1),
        "sum": lambda: x.sum(),
        "sum(axis=1)": lambda: x.sum(axis=1),
        "mean": lambda: x.mean(),
        "max(axis=1)": lambda: x.max(axis=1),
        "pick": lambda: x[row_of, LABELS],
        "dot": lambda: x @ i.weight.T,
        "FullyConnected": lambda: x @ i.weight.T + i.bias,
        "Embedding": lambda: i.vectors[LABELS],
    }


def of_torch(given: Inputs) -> Calls:
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)  # none of this is shared among threads
    i = Inputs(*(torch.from_numpy(array.copy()).requires_grad_() for array in given))
    x, y, labels = i.x, i.y, torch.from_numpy(LABELS)
    column = labels[:, None]
    mean, variance = torch.zeros(8), torch.ones(8)
    return {
        "x + y": lambda: x + y,
        "x * y": lambda: x * y,
        "x * 2": lambda: x * 2.0,
        "x + row": lambda: x + i.row,
        "x > y": lambda: x > y,
        "where": lambda: torch.where(x > 0, x, y),
        "exp": lambda: torch.exp(x),
        "relu": lambda: torch.relu(x),
        "tanh": lambda: torch.tanh(x),
        "clip": lambda: torch.clamp(x, 0.0, 1.0),
        "reshape": lambda: x.reshape((8, 4)),
        "transpose": lambda: x.T.contiguous(),
        "expand_dims": lambda: x.unsqueeze(0),
        "broadcast_to": lambda: i.row.expand((4, 8)).contiguous(),
        "x[1]": lambda: x[1],
        "x[1:3]": lambda: x[1:3],
        "x[:, 2:6]": lambda: x[:, 2:6].contiguous(),
        "slice_axis": lambda: x.narrow(1, 2, 4).contiguous(),
        "concat": lambda: torch.cat((x, y), dim=1),
        "stack": lambda: torch.stack((x, y)),
        "split": lambda: torch.split(x, 4, dim=1),
        "sum": lambda: x.sum(),
        "sum(axis=1)": lambda: x.sum(dim=1),
        "mean": lambda: x.mean(),
        "max(axis=1)": lambda: x.amax(dim=1),
        "softmax": lambda: torch.softmax(x, dim=-1),
        "log_softmax": lambda: torch.log_softmax(x, dim=-1),
        "pick": lambda: x.gather(1, column),
        "dot": lambda: x @ i.weight.T,
        "FullyConnected": lambda: F.linear(x, i.weight, i.bias),
        "Embedding": lambda: F.embedding(labels, i.vectors),
        "Dropout": lambda: F.dropout(x, 0.5, training=True),
        "LayerNorm": lambda: F.layer_norm(x, (8,), i.gamma, i.beta),
        "BatchNorm": lambda: F.batch_norm(x, mean, variance, i.gamma, i.beta, training=True),
        "Pooling": lambda: F.max_pool2d(i.image, 2, 2),
        "Convolution": lambda: F.conv2d(i.image, i.filters, i.offsets),
    }
