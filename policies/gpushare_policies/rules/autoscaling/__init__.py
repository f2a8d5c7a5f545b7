"""Rules on what scales nodes and workloads, and what it is told of shares."""
