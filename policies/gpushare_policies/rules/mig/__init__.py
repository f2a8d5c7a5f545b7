"""Rules on GPUs that are cut by MIG."""
