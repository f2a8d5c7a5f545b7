"""Simulated nodes: what NVIDIA's programs and the kubelet would do on the lab's nodes.

It is independent of the planner: it reads the API server and the catalog's hardware facts, and
never what a stack was planned to be. A test holds it to that.
"""
