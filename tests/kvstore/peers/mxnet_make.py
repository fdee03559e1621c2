"""Write data/mxnet.json: the scenarios' results, as MXNet 1.9.1 computes them.

Run from the root of the repository, in an environment of its own (Python 3.11, mxnet==1.9.1, numpy==1.23.5):

    python -m tests.kvstore.peers.mxnet_make
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx

from tests.kvstore.peers import scenarios

if __name__ == "__main__":
    results = {"trainers": scenarios.trainers(mx), "compressed": scenarios.compressed(mx)}
    text = json.dumps(results).replace('], "', '],\n"').replace('"refused", "', '"refused",\n"')
    (Path(__file__).parent / "data" / "mxnet.json").write_text(text + "\n")
