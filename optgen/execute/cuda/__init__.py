"""GPUs of NVIDIA: the driver, arrays and tables in their memory, and the launches of a step."""
