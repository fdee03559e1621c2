"""Recurrent networks: `stacked` has several layers, `recurrent` one, `recurrent_reference` its loops on a GPU."""
