"""Write data/mxnet.npz: the training of every network in networks.py, as MXNet 1.9.1 computes it.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.gluon.peers.mxnet_make
"""

from pathlib import Path

import mxnet as mx
import numpy as np

from tests.gluon.peers.networks import CASES, train

if __name__ == "__main__":
    arrays = {f"{name}/{what}": array for name, case in CASES.items() for what, array in train(mx, case).items()}
    np.savez_compressed(Path(__file__).parent / "data" / "mxnet.npz", **arrays)
