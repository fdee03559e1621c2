"""Writes data/operators.json.gz: the results of the cases in MXNet 1.9.1.

Run where MXNet is installed, in the root of the repository: python -m tests.symbol.mxnet_make
"""

import gzip
import json
from pathlib import Path

import mxnet

from tests.symbol.results import results

if __name__ == "__main__":
    text = json.dumps(results(mxnet), separators=(",", ":"))
    path = Path(__file__).parent / "data" / "operators.json.gz"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
