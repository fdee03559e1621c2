"""What layers compute, one file per kind of layer; `windows` and the `gpu_` files serve convolution and pooling."""
