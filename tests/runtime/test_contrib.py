"""Texts and embeddings, mixed precision, iterators over loaders and files. Expected values are MXNet 1.9.1's."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, nd
from runtime.contrib import amp, text
from runtime.contrib.amp import casting
from runtime.gluon.contrib.data import text as texts
from runtime.gluon.loss import classification
from runtime.gluon.model_zoo import model_store
from tests.process import run

# ---------------------------------------------------------------- texts


def test_tokens_and_vocabularies() -> None:
    counter = text.utils.count_tokens_from_str(" a b c b \n a a d Z\n", to_lower=True)
    assert counter == {"a": 3, "b": 2, "c": 1, "d": 1, "z": 1}
    text.utils.count_tokens_from_str("a*b**\\*", r"\*", counter_to_update=counter)
    assert counter["a"] == 4 and counter["\\"] == 1
    vocabulary = text.vocab.Vocabulary(Counter("aaabbcd"), 3, 1, "<unk>", ["<pad>"])
    assert vocabulary.idx_to_token == ["<unk>", "<pad>", "a", "b", "c"] and len(vocabulary) == 5
    assert vocabulary.to_indices(["a", "q"]) == [2, 0] and vocabulary.to_tokens(1) == "<pad>"
    assert text.vocab.Vocabulary(Counter("aab"), min_freq=2).idx_to_token == ["<unk>", "a"]
    with pytest.raises(ValueError, match="no token has the number 5; there are 5"):
        vocabulary.to_tokens([5])
    with pytest.raises(AssertionError, match="must differ from each other"):
        text.vocab.Vocabulary(reserved_tokens=["x", "x"])


def test_embeddings(tmp_path: Path) -> None:
    (tmp_path / "e").write_text("3 2\na 0.5 0.25 0.125\nb 1 2 3\n<unk> 9 9 9\na 7 7 7\n")
    (tmp_path / "f").write_text("a;4;5\nc;6;7\n")
    vocabulary = text.vocab.Vocabulary(Counter("aaabbc"), reserved_tokens=["<pad>"])
    with pytest.warns(UserWarning, match="line [15]"):
        e = text.embedding.CustomEmbedding(tmp_path / "e")
    vectors = e.get_vecs_by_tokens(["A", "b", "zz"], lower_case_backup=True)
    assert vectors.asnumpy().tolist() == [[0.5, 0.25, 0.125], [1, 2, 3], [9, 9, 9]]
    assert e.get_vecs_by_tokens("b").asnumpy().tolist() == [1, 2, 3] and (e.vec_len, len(e)) == (3, 3)
    f = text.embedding.CustomEmbedding(tmp_path / "f", ";", init_unknown_vec=nd.ones, vocabulary=vocabulary)
    assert f.idx_to_vec.asnumpy().tolist() == [[1, 1], [1, 1], [4, 5], [1, 1], [6, 7]]
    both = text.embedding.CompositeEmbedding(vocabulary, [e, f])
    assert both.idx_to_vec[2].asnumpy().tolist() == [0.5, 0.25, 0.125, 4, 5]
    both.update_token_vectors(["a", "b"], nd.ones((2, 5)))
    assert both.idx_to_vec[2:4].asnumpy().tolist() == [[1] * 5] * 2
    with pytest.raises(ValueError, match="no vector belongs to 'zz'"):
        both.update_token_vectors("zz", nd.ones(5))
    (tmp_path / "e").write_text("a 1 2\nb 1 x\n")
    with pytest.raises(ValueError, match=r"e', line 2: could not convert"):
        text.embedding.CustomEmbedding(tmp_path / "e")


def test_well_known_embeddings_are_read_where_they_are(tmp_path: Path) -> None:
    assert "glove.6B.50d.txt" in text.embedding.get_pretrained_file_names("glove")
    with pytest.raises(mx.MXNetError, match=r"glove.6B.50d.txt' is not there, and nothing is downloaded"):
        text.embedding.create("GloVe", pretrained_file_name="glove.6B.50d.txt", embedding_root=tmp_path)
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.6B.50d.txt").write_text("the 1 2\n")
    glove = text.embedding.create("glove", pretrained_file_name="glove.6B.50d.txt", embedding_root=tmp_path)
    assert glove.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2]]


def test_embeddings_find_files_of_their_own(tmp_path: Path) -> None:
    assert len(text.embedding.get_pretrained_file_names("fasttext")) == 327

    class Own(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1 = MappingProxyType({"own.vec": "0123"})

        def __init__(self, name: str) -> None:
            Own._check_pretrained_file_names(name)
            super().__init__()
            self._load_embedding(Own._get_pretrained_file(tmp_path, name), " ", nd.zeros)

    with pytest.raises(KeyError, match=r"Own has no file 'a', but own\.vec"):
        Own("a")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.vec").write_text("the 1 2\n")
    assert Own("own.vec").to_indices("the") == 1


def test_wikitext_and_files_of_weights(tmp_path: Path) -> None:
    (tmp_path / "wiki.valid.tokens").write_text(" a b c \n\n the cat <unk> sat \n a a b\n")
    data = texts.WikiText2(tmp_path, "validation", seq_len=3)
    assert data.vocabulary.idx_to_token == ["<unk>", "<eos>", "a", "b", "c", "cat", "sat", "the"]
    assert [[x.asnumpy().tolist() for x in data[i]] for i in range(len(data))] == [
        [[2, 3, 4], [3, 4, 1]], [[1, 7, 5], [7, 5, 0]], [[0, 6, 1], [6, 1, 2]], [[2, 2, 3], [2, 3, 1]],
    ]  # fmt: skip
    with pytest.raises(mx.MXNetError, match=r"wiki.train.tokens' is not there, and nothing is downloaded"):
        texts.WikiText103(tmp_path)
    with pytest.raises(mx.MXNetError, match="nothing is downloaded"):
        model_store.get_model_file("vgg11", tmp_path)
    (tmp_path / "vgg11-dd221b16.params").touch()
    assert model_store.get_model_file("vgg11", tmp_path) == str(tmp_path / "vgg11-dd221b16.params")
    model_store._model_sha1.update({"own": "0123456789abcdef"})
    assert model_store.short_hash("own") == "01234567"
    with pytest.raises(ValueError, match="no weights of 'other'"):
        model_store.short_hash("other")
    model_store.purge(tmp_path)
    assert not list(tmp_path.glob("*.params"))


# ---------------------------------------------------------------- iterators


def test_loaders_as_iterators() -> None:
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.arange(5).reshape(5, 1), np.arange(5)), 2)
    batches = mx.contrib.io.DataLoaderIter(loader, dtype="float16")
    for _ in range(2):
        seen = [(b.data[0].asnumpy().ravel().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in batches]
        assert seen == [([0, 1], [0, 1], 0), ([2, 3], [2, 3], 0), ([4, 0], [4, 0], 1)]
        batches.reset()
    assert batches.provide_data[0][:2] == ("data", (2, 1)) and batches.provide_data[0].dtype == "float16"


LIBSVM = "1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n"


@pytest.mark.cpu_only("csr arrays are of the CPU")
def test_libsvm_and_csv(tmp_path: Path) -> None:
    (tmp_path / "data").write_text(LIBSVM)
    (tmp_path / "label").write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
    batches = mx.io.LibSVMIter(data_libsvm=tmp_path / "data", data_shape=(3,), batch_size=3)
    assert [(b.label[0].asnumpy().tolist(), b.pad) for b in batches] == [([1, -2, -3], 0), ([4, 1, -2], 2)]
    batches.reset()
    assert next(batches).label[0].asnumpy().tolist() == [-3, 4, 1]  # after those that have filled up the last batch
    batches = mx.io.LibSVMIter(tmp_path / "data", (3,), 3, label_libsvm=tmp_path / "label", label_shape=(3,))
    batch = next(batches)
    assert batch.data[0].stype == batch.label[0].stype == "csr"
    assert batch.label[0].asnumpy()[1].tolist() == [0.125, 0, 0]
    assert (batches.getdata().asnumpy() == batch.data[0].asnumpy()).all()  # one array
    assert np.allclose(batch.data[0].asnumpy(), [[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2]])
    for lines, words in [
        ("1 3:1", "column 3, but there are 3"),
        ("1 1:1 0:1", "must ascend"),
        ("1 x", "no column:value"),
    ]:
        (tmp_path / "bad").write_text(f"{LIBSVM}{lines}\n")
        with pytest.raises(mx.MXNetError, match=rf"bad', line 5: .*{words}"):
            mx.io.LibSVMIter(tmp_path / "bad", (3,), 3)
    (tmp_path / "csv").write_text("1,2\n3,4\n5,6.5\n")
    batches = mx.io.CSVIter(data_csv=tmp_path / "csv", data_shape=(2, 1), batch_size=2)
    assert [(b.data[0].asnumpy().ravel().tolist(), b.pad) for b in batches] == [([1, 2, 3, 4], 0), ([5, 6.5, 1, 2], 1)]
    batches = mx.io.CSVIter(tmp_path / "csv", (2,), 7)  # more than there are
    for first in (1, 3, 5):
        assert [(b.data[0].asnumpy()[0, 0], len(b.data[0])) for b in batches] == [(first, 7)]
        batches.reset()
    with pytest.raises(ValueError, match="CSVIter has no argument 'shuffle'"):
        mx.io.CSVIter(tmp_path / "csv", (2,), 2, shuffle=True)


# ---------------------------------------------------------------- mixed precision


@pytest.fixture
def _unwrapped() -> Iterator[None]:
    """Puts back the functions that casts wrap for the rest of the process: other tests count calls."""
    places = [nd, nd.linalg, nd.NDArray, classification]
    before = [dict(vars(place)) for place in places]
    yield
    for place, own in zip(places, before, strict=True):
        for key, value in own.items():
            if vars(place).get(key) is not value:
                setattr(place, key, value)
    casting._wrapped.clear()


@pytest.mark.usefixtures("_unwrapped")
def test_a_converted_network_computes_in_16_bits() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    x = nd.random.normal(shape=(8, 2, 6, 6))
    expected = net(x)
    for dtype, bound in (("float16", 3e-3), ("bfloat16", 3e-2)):
        for cast in (False, True):
            result = amp.convert_hybrid_block(net, dtype, cast_optional_params=cast)(x)
            assert np.dtype(result.dtype).name == dtype
            assert abs(result.astype("float32") - expected).max().asscalar() < bound
    assert net(x).dtype is np.float32 and net[0].weight.data().dtype is np.float32
    with pytest.raises(ValueError, match="nd has no operator 'Convolutoin'; did you mean 'Convolution'"):
        amp.convert_hybrid_block(net, target_dtype_ops=["Convolutoin"])
    with pytest.raises(RuntimeError, match=r"call amp.init\(\) first"):
        amp.init_trainer(gluon.Trainer(net.collect_params(), "sgd"))
    assert "softmax" in amp.list_fp32_ops("float16") and amp.list_lp16_ops("bfloat16") == [
        "Convolution",
        "FullyConnected",
    ]


def _network() -> mx.sym.Symbol:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="c1")
    x = mx.sym.BatchNorm(mx.sym.Activation(x, act_type="relu"), name="bn")
    x = x + mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="c2")
    x = mx.sym.Pooling(mx.sym.concat(x, mx.sym.var("more"), name="cat"), global_pool=True, kernel=(1, 1))
    return mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name="sm")


@pytest.mark.parametrize(("dtype", "bound"), [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_graphs_get_casts(dtype: str, bound: float) -> None:
    graph, shapes = _network(), {"data": (2, 3, 6, 6), "more": (2, 1, 4, 4)}
    found = graph.infer_shape(**shapes)
    args, states = (
        {key: nd.random.uniform(-1, 1, shape) for key, shape in zip(names, part, strict=True)}
        for names, part in ((graph.list_arguments(), found[0]), (graph.list_auxiliary_states(), found[2]))
    )
    states["bn_moving_var"] = abs(states["bn_moving_var"]) + 0.5
    expected = graph.bind(mx.cpu(), args, aux_states=states).forward()[0]
    params = {key: x for key, x in args.items() if key not in shapes}
    for excluded, optional in (([], False), (["c2"], False), ([], True)):
        options = {"excluded_sym_names": excluded, "cast_optional_params": optional}
        converted, own, kept = amp.convert_model(graph, params, states, dtype, **options)
        again = mx.sym.load_json(converted.tojson(remove_amp_cast=False))
        y = again.bind(mx.cpu(), own | {key: args[key] for key in shapes}, aux_states=kept).forward()[0]
        assert y.dtype is np.float32 and 0 < abs(y - expected).max().asscalar() < bound
        casts = [name for name in converted.get_internals().list_outputs() if "_amp_" in name]
        assert f"data_amp_cast_{dtype}_output" in casts and "sm_output" not in casts
        assert ("c2_weight_amp_cast_" in str(casts)) == (not excluded and not optional)
        assert np.dtype(own["c1_weight"].dtype).name == (dtype if optional else "float32")
        assert np.dtype(own["c2_weight"].dtype).name == (dtype if optional else "float32")
        assert ("_amp_multicast" in str(casts)) and kept["bn_moving_var"].dtype is np.float32
    assert converted.tojson() != again.tojson(remove_amp_cast=False)
    with pytest.raises(ValueError, match="the graph has no 'c3' to exclude; known: "):
        amp.convert_symbol(graph, dtype, excluded_sym_names=["c3"])
    with pytest.raises(AssertionError, match="FullyConnected are listed twice"):
        amp.convert_symbol(graph, dtype, target_dtype_ops=["FullyConnected"], fp32_ops=["FullyConnected"])


def test_a_converted_network_keeps_some_nodes_in_float32() -> None:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    x = nd.random.normal(shape=(8, 2))
    with pytest.raises(RuntimeError, match=r"call hybridize\(\)"):
        amp.convert_hybrid_block(net, excluded_sym_names=["net_dense1_fwd"])
    net.hybridize()
    expected = net(x)
    converted = amp.convert_hybrid_block(net, excluded_sym_names=["net_dense1_fwd"])
    assert converted(x).dtype is np.float32
    assert 0 < abs(converted(x) - expected).max().asscalar() < 1e-2


TRAINING = """
import sys
import numpy as np
import runtime as mx
from runtime import autograd, gluon, nd
from runtime.contrib import amp

amp.init(sys.argv[1])
mx.random.seed(1)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(3))
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, update_on_kvstore=False)
amp.init_trainer(trainer)
x = nd.random.normal(shape=(16, 2, 6, 6))
y = x.sum(axis=(1, 2, 3)) > 0
loss_function, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
for i in range(30):
    with autograd.record():
        out = net(x)
        loss = loss_function(out, y)
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    if i == 20:
        amp.unscale(trainer)
        assert abs(net[2].bias.grad().asnumpy()).max() < 16
    trainer.step(16)
    losses.append(loss.mean().asscalar())
assert np.dtype(out.dtype).name == sys.argv[1] and loss.dtype is np.float32
assert net[0].weight.data().dtype is np.float32
assert losses[-1] < 0.2 * losses[0], losses
before, scale = net[2].weight.data().asnumpy(), trainer._amp_loss_scaler.loss_scale
with autograd.record():
    loss = loss_function(net(x), y)
loss.backward()
net[2].bias.grad()[:] = np.inf
trainer.step(16)
assert (net[2].weight.data().asnumpy() == before).all() and trainer._amp_loss_scaler.loss_scale == scale / 2
half, full = nd.ones(2).astype(sys.argv[1]), nd.ones(2)
assert [r.dtype for r in (half + full, full - half, nd.concat(half, full, dim=0), half.exp())] == [np.float32] * 4
assert (half * half).dtype is half.dtype
half += full
assert np.dtype(half.dtype).name == sys.argv[1]
print("trained")
"""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_training_in_mixed_precision(dtype: str) -> None:
    done = run([sys.executable, "-c", TRAINING, dtype], timeout=120)
    assert (done.stdout, done.stderr) == ("trained\n", "")


# ---------------------------------------------------------------- operators


def test_operators_of_contrib() -> None:
    x = nd.array([1e10, 1e-7, float("nan")])
    y = nd.array([1.00001e10, 1e-8, float("nan")])
    found = mx.contrib.nd.allclose(x, x)
    assert (found.shape, found.dtype, found.asscalar()) == ((), np.uint8, 1)
    assert nd.contrib.allclose(x, y).asscalar() == 0 and nd.contrib.allclose(x, x, equal_nan=False).asscalar() == 0
    assert nd.contrib.allclose(x[:1], y[:1], rtol=2e-5).asscalar() == 1
    with pytest.raises(mx.MXNetError, match=r"allclose: arrays of shapes \(3,\) and \(2,\)"):
        nd.contrib.allclose(x, y[:2])
    weight = nd.array([[1, 2], [3, 4], [5, 6]])
    weight.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        rows = nd.contrib.SparseEmbedding(nd.array([2, 2]), weight, 3, 2, deterministic=True)
    rows.backward()
    assert rows.asnumpy().tolist() == [[5, 6], [5, 6]]
    assert weight.grad.stype == "row_sparse" and weight.grad.indices.asnumpy().tolist() == [2]
    data, ones, zeros = nd.random.normal(shape=(4, 2, 3)), nd.ones(2), nd.zeros(2)
    for training in (False, True):
        with mx.autograd.record(training):
            found, expected = (
                function(data, ones, zeros.copy(), zeros.copy(), ones.copy(), fix_gamma=False, **arguments)
                for function, arguments in ((nd.contrib.SyncBatchNorm, {"key": "a"}), (nd.BatchNorm, {}))
            )
        assert (found == expected).min().asscalar() == 1
    with pytest.raises(ValueError, match="ndev=2, but there is one device"):
        nd.contrib.SyncBatchNorm(data, ones, zeros, zeros, ones, ndev=2, key="a")


def test_gradients_of_old_scripts() -> None:
    old = mx.contrib.autograd
    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    gradients, value = old.grad_and_loss(lambda a, b: a * a * b)(x, y)
    assert [g.asnumpy().tolist() for g in gradients] == [[6.0, 16.0], [1.0, 4.0]] and value[1] == 16
    assert old.grad(lambda a, b: a * b, 1)(x, y)[0].asnumpy().tolist() == [1.0, 2.0]
    assert not old.set_is_training(True) and mx.autograd.is_recording()
    with old.test_section():
        assert not mx.autograd.is_recording() and not mx.autograd.is_training()
    assert old.set_is_training(False) and not mx.autograd.is_recording()
    with pytest.raises(ValueError, match="gradients are in arrays, not in float"):
        old.grad(lambda a: a)(1.0)
