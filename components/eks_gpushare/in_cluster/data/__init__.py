"""Programs that run in the cluster, from a ConfigMap: on the standard library alone."""
