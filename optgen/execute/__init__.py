"""Rules, their states, and steps bound to tensors. `cpu/` and `cuda/` are the devices that steps run on."""
