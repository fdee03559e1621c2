"""Updates of weights: `optimizer_ops`, made by `rule`; `multi_tensor` operators; `sums` of gradients for stores."""
