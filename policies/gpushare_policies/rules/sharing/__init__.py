"""Rules on how GPUs are shared: the device plugin, its configuration and its chart."""
