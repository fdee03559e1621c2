"""Writes the files in data/: the results of the cases in MXNet 1.9.1.

Run where MXNet is installed, in the root of the repository: python -m tests.symbol.mxnet_make [FILE ...]
"""

import gzip
import json
import sys
from pathlib import Path

import mxnet

from tests.symbol.results import FAMILIES, result

if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        found = {name: result(mxnet, case) for name, case in FAMILIES[family].items()}
        text = json.dumps(found, separators=(",", ":"))
        path = Path(__file__).parent / "data" / f"{family}.json.gz"
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
