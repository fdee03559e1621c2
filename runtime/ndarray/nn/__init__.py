"""Operators of neural networks: convolution, pooling, normalization, activation, softmax, losses at the output."""
