"""Well-known networks."""

from __future__ import annotations

from runtime.gluon.model_zoo import model_store, vision
from runtime.gluon.model_zoo.vision import get_model

__all__ = ["get_model", "model_store", "vision"]
