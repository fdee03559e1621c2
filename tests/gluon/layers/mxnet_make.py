"""Write data/mxnet.npz, what the cases give with MXNet 1.9.1, and data/model_zoo.json, the parameters of its networks.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.gluon.layers.mxnet_make
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import numpy as np

from tests.gluon.layers.cases import CASES
from tests.gluon.layers.zoo import NAMES, fingerprint

DATA = Path(__file__).parent / "data"

if __name__ == "__main__":
    arrays = {name: np.concatenate([a.asnumpy().ravel() for a in case(mx)]) for name, case in CASES.items()}
    np.savez_compressed(DATA / "mxnet.npz", **{name: a.astype(np.float32) for name, a in arrays.items()})
    hashes = {name: fingerprint(mx.gluon.model_zoo.vision.get_model(name)) for name in NAMES}
    (DATA / "model_zoo.json").write_text(json.dumps(hashes, indent=1) + "\n")
