"""Write data/updates.npz: what MXNet 1.9.1's optimizer operators compute.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.ndarray.peers.mxnet_make
"""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import numpy as np

from tests.ndarray.peers.cases import cases, run

if __name__ == "__main__":
    results = [run(mx, case) for case in cases()]
    np.savez_compressed(
        Path(__file__).parent / "data" / "updates.npz",
        values=np.concatenate(results).astype(np.float32),
        lengths=np.array([len(x) for x in results], np.int32),
    )
