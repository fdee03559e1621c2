"""Parts of gluon that are not for everyone."""

from __future__ import annotations

from runtime.gluon.contrib import data, estimator, nn, rnn

__all__ = ["data", "estimator", "nn", "rnn"]
