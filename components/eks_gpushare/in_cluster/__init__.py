"""Kubernetes objects of this project's own that components register."""
