"""Rules on the network that nodes and pods are in."""
