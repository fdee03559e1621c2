"""`python -m optgen` is the command `optgen`."""

import sys

from optgen.cli import main

sys.exit(main())
