"""NVIDIA's own programs in place of the simulated node: `lab run --nvidia`."""
