"""The tasks that optimizers are raced on: one file each, of which DEFAULT are those of a race that names none."""

DEFAULT = ("digits_mlp", "digits_cnn", "char_gpt", "quadratic", "rosenbrock")
