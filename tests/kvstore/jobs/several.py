"""Several jobs on the same ranks, one after the other: `several.py JOB ARGUMENT ... -- JOB ARGUMENT ...`."""

from __future__ import annotations

import itertools
import runpy
import sys
from pathlib import Path

for between, words in itertools.groupby(sys.argv[1:], "--".__eq__):
    if not between:
        sys.argv = list(words)
        print(f"{sys.argv[0]}:", flush=True)  # whose errors follow
        runpy.run_path(str(Path(__file__).with_name(sys.argv[0])), run_name="__main__")
