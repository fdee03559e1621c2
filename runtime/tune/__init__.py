"""Measurements of this package's constants of `optgen.backends.machine`, for `optgen tune`: see `optgen.tune`."""
