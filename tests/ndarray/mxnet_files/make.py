"""Makes the files here, with MXNet 1.9.1: `python make.py`.

MXNet writes versions 2 and 3 of its format. Versions 0 and 1 are put together here, and MXNet reads them back.
"""

import os
import struct

import mxnet as mx
import numpy as np
from mxnet import nd

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name + ".params")


DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
nd.save(path("dense"), {"arg:" + d if d[0] == "f" else "aux:" + d: nd.array([[0, 1], [2, 3]], dtype=d) for d in DTYPES})
dense = nd.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]])
sparse = [
    dense.tostype("csr"),
    dense.tostype("row_sparse"),
    *(nd.zeros((3, 2), stype=s) for s in ("csr", "row_sparse")),
]
nd.waitall()  # MXNet writes the shape that the values have before they are computed
nd.save(path("sparse"), sparse)
nd.save(path("none"), [])
with mx.util.np_shape(True):
    nd.save(path("version3"), {"scalar": nd.array(7).reshape(()), "empty": nd.zeros((2, 0)), "x": nd.ones((1, 2))})


def header(count):
    return struct.pack("<QQQ", 0x112, 0, count)


def names(*texts):
    return struct.pack("<Q", len(texts)) + b"".join(struct.pack("<Q", len(t)) + t.encode() for t in texts)


def legacy(shape):
    """A float32 array of 0, 1, ... behind its shape, on gpu(3)."""
    return shape + struct.pack("<iii", 2, 3, 0) + np.arange(6, dtype="<f4").tobytes()


version0 = header(1) + legacy(struct.pack("<III", 2, 2, 3)) + names("w")
version1 = header(1) + legacy(struct.pack("<Iiqq", 0xF993FAC8, 2, 2, 3)) + names("w")
for name, content in (("version0", version0), ("version1", version1)):
    with open(path(name), "wb") as file:
        file.write(content)
    (w,) = nd.load(path(name)).values()
    assert w.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
