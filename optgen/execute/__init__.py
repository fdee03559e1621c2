"""Rules, their states, and steps bound to tensors.

`tensors/` looks at what a step is given, `steps/` are what runs, `stages/` updates of several kernels, and `cpu/` and
`cuda/` the devices that steps run on. `protocols` says what steps ask of a device.
"""
