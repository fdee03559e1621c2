"""Parts of gluon that are not for everyone."""

from __future__ import annotations

from runtime.gluon.contrib import estimator, nn, rnn

__all__ = ["estimator", "nn", "rnn"]
