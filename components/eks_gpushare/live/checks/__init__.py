"""Checks of a running cluster, a module for each link of the chain from node to pod."""
