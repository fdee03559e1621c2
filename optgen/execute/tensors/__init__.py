"""The tensors that a step is given: checked, and looked at again at each step."""
