"""Write the files in data/: a checkpoint of the network of networks.py and its training, and the graphs of cells.py and
what they compute, by MXNet 1.9.1.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.module.mxnet_make
"""

import gzip
import json

import mxnet as mx
import numpy as np

from tests.module.cells import cells, computed
from tests.module.networks import DATA, RUNS, iterator, symbol, train

if __name__ == "__main__":
    mx.random.seed(1)
    module = mx.mod.Module(symbol(mx))
    module.bind(iterator(mx).provide_data, iterator(mx).provide_label)
    module.init_params(mx.init.Xavier())
    module.save_checkpoint(str(DATA / "start"), 0)
    arrays = {}
    for run, (_, _, count) in RUNS.items():
        module = mx.mod.Module.load(str(DATA / "start"), 0, context=[mx.cpu(i) for i in range(count)])
        arrays |= {f"{run}/{key}": x for key, x in train(mx, module, run).items()}
    np.savez_compressed(DATA / "results.npz", **arrays)
    text = json.dumps({name: computed(mx, name) for name in cells(mx)})
    (DATA / "cells.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
