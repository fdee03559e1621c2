"""Write data/*.npz: what MXNet 1.9.1's operators compute, those of optimizers and those for detection.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.ndarray.peers.mxnet_make
"""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import numpy as np

from tests.ndarray.peers import cases, detection_cases

if __name__ == "__main__":
    for name, module in (("updates", cases), ("detection", detection_cases)):
        results = [module.run(mx, case) for case in module.cases()]
        np.savez_compressed(
            Path(__file__).parent / "data" / f"{name}.npz",
            values=np.concatenate(results).astype(np.float32),
            lengths=np.array([len(x) for x in results], np.int32),
        )
