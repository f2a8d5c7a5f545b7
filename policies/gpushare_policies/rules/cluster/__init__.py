"""Rules on the cluster: who reaches it, what it logs, how it authenticates and ages."""
