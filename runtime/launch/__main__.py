"""`python -m runtime.launch`."""

from __future__ import annotations

import sys

from runtime.launch.run import main

if __name__ == "__main__":
    sys.exit(main())
