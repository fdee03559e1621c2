"""Parts of gluon that are not for everyone."""

from __future__ import annotations

from runtime.gluon.contrib import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
