"""The environment variables that scripts have of the launcher: what programs need to run, and what the user names.

They travel as plain arguments, to all machines of a cluster, where logs may show them. So no others do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NEEDED = re.compile(r"PATH|PYTHON\w*|LD_LIBRARY_PATH|HOME|TMPDIR|LANG|(CUDA|OMP|OPTGEN|RUNTIME|RAY)_\w*")
_SECRET = re.compile(r"RAY_\w*(TOKEN|PASSWORD|SECRET)\w*")


def sent(variables: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """The variables to send: those that programs need, and `named`."""
    wanted = set(named)
    needed = {name for name in variables if _NEEDED.fullmatch(name) and not _SECRET.fullmatch(name)}
    return {name: value for name, value in variables.items() if name in needed | wanted}


def secrets_here(variables: Mapping[str, str]) -> dict[str, str]:
    """The tokens and passwords of Ray in these variables. Each machine has its own, and they are not sent."""
    return {name: value for name, value in variables.items() if _SECRET.fullmatch(name)}
