"""Stochastic variance reduced gradients, for `Module`."""

from __future__ import annotations

from runtime.contrib.svrg_optimization import svrg_module, svrg_optimizer
from runtime.contrib.svrg_optimization.svrg_module import SVRGModule

__all__ = ["SVRGModule", "svrg_module", "svrg_optimizer"]
