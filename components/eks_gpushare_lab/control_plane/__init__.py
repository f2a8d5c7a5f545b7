"""A Kubernetes control plane as plain processes, and who owns them."""
