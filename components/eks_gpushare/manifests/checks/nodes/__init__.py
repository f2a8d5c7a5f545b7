"""What nodes are, against the pods that are to run there."""
