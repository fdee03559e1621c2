"""What `optgen tune` measures: constants of `optgen.backends.machine` on this machine.

- `case`: what is timed.
- `compare`: processes with different values, timed in turns.
- `process`: what such a process runs.
- `threads`, `sweeps`, `groups`, `products`: a function for each constant of this subject, named as it is, which makes
  cases whose times depend on it. Those of arrays and convolutions are in `runtime.tune`.

To add a constant: a row in CONSTANTS, its value where it is used, and its function here. Copy `min_shared_elements` of
`threads`, or `task_edge` of `products`.
"""

from __future__ import annotations

SUBJECTS = {
    "threads": "optgen.tune.threads",
    "sweeps": "optgen.tune.sweeps",
    "groups": "optgen.tune.groups",
    "products": "optgen.tune.products",
    "arrays": "runtime.tune.arrays",
    "convolutions": "runtime.tune.convolutions",
}
"""The file of each subject, as a module that its processes import."""
