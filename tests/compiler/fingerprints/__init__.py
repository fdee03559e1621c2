"""What the compiler makes of specs with the defaults of `optgen.backends.machine`, whatever was found here."""

import os

os.environ["OPTGEN_MACHINE"] = ""
