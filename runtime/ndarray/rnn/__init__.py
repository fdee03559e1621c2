"""Recurrent networks: `stacked` has several layers, `recurrent` one, `gpu_recurrent` its loops on a GPU."""
