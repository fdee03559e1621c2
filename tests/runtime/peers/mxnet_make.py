"""Write what MXNet 1.9.1 computes: data/metrics.json, the values of metrics; data/mxnet.rec, a file of records; and
data/pictures.npz, what becomes of pictures, those of data/pictures.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.runtime.peers.mxnet_make
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import numpy as np

from tests.runtime.peers import pictures, records
from tests.runtime.peers.cases import METRICS, measure

DATA = Path(__file__).parent / "data"

if __name__ == "__main__":
    values = {label: measure(mx, label) for label in METRICS}
    (DATA / "metrics.json").write_text(json.dumps(values, indent=1) + "\n")
    records.write(mx.recordio, DATA, "mxnet")
    np.savez_compressed(DATA / "pictures.npz", **pictures.measure(mx, DATA / "pictures"))
