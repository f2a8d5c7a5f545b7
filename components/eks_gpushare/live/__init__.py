"""A running cluster: what it says of itself, and whether that is what a stack declares."""
