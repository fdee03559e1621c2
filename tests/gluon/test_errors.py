"""What people do wrong, and what they are told: `errors.txt` holds the messages.

A message says what was wrong, where (operator, block, parameter, shapes, types) and what to do. After a change run
`pytest --update-golden tests/gluon/test_errors.py`, and read the new text as somebody who has made the mistake.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn, rnn
from runtime.gluon.data import ArrayDataset, DataLoader, SimpleDataset

MISTAKES: dict[str, Callable[[Path], object]] = {}
"""By what is wrong: a function that does it, given a folder for files."""


def mistake(what: str) -> Callable:
    def note(function: Callable[[Path], object]) -> Callable[[Path], object]:
        MISTAKES[what] = function
        return function

    return note


@pytest.mark.cpu_only("messages that name contexts of the CPU")
def test_messages(golden: Callable[[Path, str], None], tmp_path: Path) -> None:
    parts = []
    for what, function in MISTAKES.items():
        with pytest.raises(Exception) as caught, mx.name.NameManager():  # names are counted from 0
            function(tmp_path)
        message = str(caught.value).replace(str(tmp_path), "FOLDER")
        parts.append(f"# {what}\n{caught.type.__name__}: {message}\n")
    golden(Path(__file__).parent / "errors.txt", "\n".join(parts))


@pytest.mark.parametrize("error", [AssertionError, ValueError, mx.MXNetError])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mx.metric.create("accurac"),
        lambda: mx.init.create("xavie"),
        lambda: mx.init.Mixed(["bias"], []),
        lambda: mx.init.Load({"w": nd.ones(2)})("w", nd.ones(3)),
        lambda: mx.metric.check_label_shapes([1, 2], [1]),
        lambda: rnn.LSTM(2, layout="CNT"),
        lambda: rnn.RNNCell(2).unroll(3, [nd.ones((1, 2))] * 2),
        lambda: rnn.ZoneoutCell(rnn.RNNCell(2)).base_cell.begin_state(1),
        lambda: nd.ones((2, 3)).sum(axis=2),
        lambda: gluon.data.ArrayDataset([1, 2], [1]),
    ],
)
def test_arguments_that_do_not_fit_are_caught_as_whatever_mxnet_raises(wrong: Callable, error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong()


def dense(**kwargs: object) -> nn.Dense:
    """Two units for three inputs, initialized."""
    layer = nn.Dense(2, in_units=3, **kwargs)
    layer.initialize()
    return layer


def network(inputs: int | None = None) -> nn.HybridSequential:
    """Two layers; initialized, for so many inputs, if that is given."""
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    if inputs:
        net.initialize()
        net(nd.ones((1, inputs)))
    return net


def saved(folder: Path) -> Path:
    """The parameters of a network for three inputs, in a file."""
    file = folder / "net.params"
    network(3).save_parameters(file)
    return file


def backward(net: nn.Block) -> nd.NDArray:
    with autograd.record():
        loss = net(nd.ones((4, 3)))
    loss.backward()
    return loss


class Scale(gluon.HybridBlock):
    """A block of a user, with a parameter and with whatever signature a test gives to hybrid_forward."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.factor = self.params.get("factor", shape=(3,))
        self.initialize()


# ---------------------------------------------------------------- shapes, types and places


@mistake("an input of another width than the layer's")
def _(folder: Path) -> None:
    dense()(nd.ones((4, 5)))


@mistake("an input of another width, deep in a network")
def _(folder: Path) -> None:
    network(3)(nd.ones((4, 5)))


@mistake("one image instead of a batch")
def _(folder: Path) -> None:
    layer = nn.Conv2D(8, 3)
    layer.initialize()
    layer(nd.ones((28, 28)))


@mistake("images of another number of channels")
def _(folder: Path) -> None:
    layer = nn.Conv2D(8, 3, in_channels=3)
    layer.initialize()
    layer(nd.ones((16, 1, 28, 28)))


@mistake("images that have become smaller than the window")
def _(folder: Path) -> None:
    nn.MaxPool2D(5)(nd.ones((16, 8, 3, 3)))


@mistake("a sequence without its batch axis")
def _(folder: Path) -> None:
    layer = rnn.LSTM(4)
    layer.initialize()
    layer(nd.ones((7, 5)))


@mistake("one state for an LSTM")
def _(folder: Path) -> None:
    layer = rnn.LSTM(4, input_size=5)
    layer.initialize()
    layer(nd.ones((7, 2, 5)), nd.zeros((1, 2, 4)))


@mistake("a NumPy array given to a network")
def _(folder: Path) -> None:
    dense()(np.ones((4, 3)))


@mistake("NumPy labels given to a loss")
def _(folder: Path) -> None:
    gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((2, 3)), np.array([0, 1]))


@mistake("float64 data for float32 parameters")
def _(folder: Path) -> None:
    dense()(nd.array(np.ones((4, 3)), dtype="float64"))


@mistake("integer labels given to L2Loss")
def _(folder: Path) -> None:
    gluon.loss.L2Loss()(nd.ones((4,)), nd.ones((4,), dtype="int32"))


@mistake("labels of another batch")
def _(folder: Path) -> None:
    gluon.loss.L2Loss()(nd.ones((4, 1)), nd.ones((5,)))


@mistake("one-hot labels where class numbers are expected")
def _(folder: Path) -> None:
    gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((4, 3)), nd.ones((4, 3)))


@mistake("an axis that is not there")
def _(folder: Path) -> None:
    nd.ones((2, 3)).sum(axis=2)


@mistake("a BatchNorm over the channels of vectors")
def _(folder: Path) -> None:
    layer = nn.BatchNorm(axis=1)
    layer.initialize()
    layer(nd.ones(3))


@mistake("shapes that cannot be broadcast")
def _(folder: Path) -> None:
    nd.ones((2, 3)) + nd.ones((4, 3))


@mistake("element types mixed")
def _(folder: Path) -> None:
    nd.ones((2,)) * nd.ones((2,), dtype="float64")


@mistake("an argument that the operator does not have")
def _(folder: Path) -> None:
    nd.concat(nd.ones((2, 3)), nd.ones((2, 3)), axis=1)


@mistake("a value of another shape written")
def _(folder: Path) -> None:
    x = nd.ones((2, 3))
    x[:] = nd.ones((3, 2))


@mistake("asscalar of a whole batch")
def _(folder: Path) -> None:
    nd.ones((64,)).asscalar()


@mistake("a GPU that is not there")
def _(folder: Path) -> None:
    with mock.patch("runtime.core.backend.devices", return_value=(2, "")):
        network().initialize(ctx=mx.gpu(2))


@mistake("data in another context than the parameters")
def _(folder: Path) -> None:
    dense()(nd.ones((4, 3), ctx=mx.cpu(1)))


@mistake("metric.update with predictions first")
def _(folder: Path) -> None:
    mx.metric.Accuracy().update(nd.ones((4, 2)), nd.ones((4,)))


# ---------------------------------------------------------------- parameters


@mistake("initialize forgotten")
def _(folder: Path) -> None:
    network()(nd.ones((4, 3)))


@mistake("a weight looked at before the first batch")
def _(folder: Path) -> None:
    net = network()
    net.initialize()
    net[0].weight.data()


@mistake("a number of units that is none")
def _(folder: Path) -> None:
    nn.Dense("10")


@mistake("two blocks with one prefix")
def _(folder: Path) -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, prefix="same_"), nn.Dense(3, prefix="same_"))
    net.collect_params()


@mistake("a file with a misspelt parameter")
def _(folder: Path) -> None:
    arrays = nd.load(str(saved(folder)))
    arrays["0.wieght"] = arrays.pop("0.weight")
    nd.save(folder / "misspelt.params", arrays)
    network().load_parameters(folder / "misspelt.params")


@mistake("a file of a network for other inputs")
def _(folder: Path) -> None:
    network(7).load_parameters(saved(folder))


@mistake("a file that has changed on its way")
def _(folder: Path) -> None:
    file = saved(folder)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    network().load_parameters(file)


@mistake("MXNet's trainer states")
def _(folder: Path) -> None:
    (folder / "net.states").write_bytes(pickle.dumps({0: None}))
    gluon.Trainer(dense().collect_params(), "sgd").load_states(folder / "net.states")


@mistake("a folder that is not there")
def _(folder: Path) -> None:
    dense().save_parameters(folder / "nowhere" / "net.params")


# ---------------------------------------------------------------- gradients and training


@mistake("autograd.record forgotten")
def _(folder: Path) -> None:
    dense()(nd.ones((4, 3))).backward()


@mistake("backward twice")
def _(folder: Path) -> None:
    backward(dense()).backward()


@mistake("writing into a result while recording")
def _(folder: Path) -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
        y += 1


@mistake("step without backward")
def _(folder: Path) -> None:
    layer = dense()
    trainer = gluon.Trainer(layer.collect_params(), "sgd")
    backward(layer)
    trainer.step(4)
    trainer.step(4)


@mistake("a batch without samples")
def _(folder: Path) -> None:
    gluon.Trainer(dense().collect_params(), "sgd").step(0)


@mistake("the network instead of its parameters")
def _(folder: Path) -> None:
    gluon.Trainer(dense(), "sgd")


@mistake("a class in place of an optimizer")
def _(folder: Path) -> None:
    gluon.Trainer(dense().collect_params(), mx.optimizer.Adam)


@mistake("a misspelt optimizer")
def _(folder: Path) -> None:
    gluon.Trainer(dense().collect_params(), "adm")


@mistake("a misspelt argument of an optimizer")
def _(folder: Path) -> None:
    gluon.Trainer(dense().collect_params(), "sgd", {"learning_rate": 0.1, "momentun": 0.9})


@mistake("set_learning_rate beside a scheduler")
def _(folder: Path) -> None:
    schedule = mx.lr_scheduler.FactorScheduler(10)
    gluon.Trainer(dense().collect_params(), "sgd", {"lr_scheduler": schedule}).set_learning_rate(0.1)


@mistake("the gradient of a frozen parameter")
def _(folder: Path) -> None:
    layer = dense()
    layer.collect_params().setattr("grad_req", "null")
    layer.weight.grad()


@mistake("a kvstore over several processes, without MPI")
def _(folder: Path) -> None:
    with mock.patch.dict(sys.modules, {"mpi4py": None}):
        mx.kv.create("dist_sync")


# ---------------------------------------------------------------- blocks of one's own


@mistake("super().__init__() forgotten")
def _(folder: Path) -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            self.body = nn.Dense(2)

    Net()


@mistake("hybrid_forward without F")
def _(folder: Path) -> None:
    class Twice(gluon.HybridBlock):
        def hybrid_forward(self, x: nd.NDArray) -> nd.NDArray:
            return x * 2

    Twice()(nd.ones((3,)))


@mistake("hybrid_forward without the block's parameter")
def _(folder: Path) -> None:
    class Forgetful(Scale):
        def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
            return x * self.factor

    Forgetful()(nd.ones((3,)))


@mistake("hybrid_forward with a parameter that the block does not have")
def _(folder: Path) -> None:
    class Misspelt(Scale):
        def hybrid_forward(self, F: object, x: nd.NDArray, facter: nd.NDArray) -> nd.NDArray:
            return x * facter

    Misspelt()(nd.ones((3,)))


@mistake("a Block inside a HybridBlock")
def _(folder: Path) -> None:
    nn.HybridSequential().add(nn.Sequential())


@mistake("a list of blocks added")
def _(folder: Path) -> None:
    nn.Sequential().add([nn.Dense(2)])


@mistake("export")
def _(folder: Path) -> None:
    network(3).export(folder / "net")


@mistake("symbols")
def _(folder: Path) -> None:
    mx.sym.FullyConnected(mx.sym.var("data"), num_hiden=3)


# ---------------------------------------------------------------- data


@mistake("samples of different lengths")
def _(folder: Path) -> None:
    list(DataLoader(SimpleDataset([np.ones(2), np.ones(3)]), batch_size=2))


@mistake("more samples than labels")
def _(folder: Path) -> None:
    ArrayDataset(np.ones((4, 3)), np.ones(3))


@mistake("a batch that does not divide among contexts")
def _(folder: Path) -> None:
    gluon.utils.split_and_load(nd.ones((5, 3)), [mx.cpu(0), mx.cpu(1)])


@mistake("images normalized before ToTensor")
def _(folder: Path) -> None:
    gluon.data.vision.transforms.Normalize(0.5, 0.5)(nd.ones((28, 28, 3)))
