"""The environment variables that scripts have of the launcher: what programs need to run, and what the user names.

They travel as plain arguments, to all machines of a cluster, where logs may show them. So no others do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NEEDED = re.compile(r"PATH|PYTHON\w*|LD_LIBRARY_PATH|HOME|TMPDIR|LANG|(CUDA|OMP|OPTGEN|RUNTIME|RAY)_\w*")
_SECRET = re.compile(r"RAY_\w*(TOKEN|PASSWORD|SECRET)\w*")


def sent(variables: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """Those of the variables that are sent; `named` are, whatever they are."""
    wanted = set(named)
    needed = {name for name in variables if _NEEDED.fullmatch(name) and not _SECRET.fullmatch(name)}
    return {name: value for name, value in variables.items() if name in needed | wanted}


def secrets_here(variables: Mapping[str, str]) -> dict[str, str]:
    """Those by which a process proves to Ray who it is: each machine has its own."""
    return {name: value for name, value in variables.items() if _SECRET.fullmatch(name)}
