"""Steps bound to tensors."""
