"""Rules on pods that use GPUs."""
