"""The readers, a module for each format; `in_clusters` has them in order."""
