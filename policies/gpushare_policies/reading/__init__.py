"""Reading what resources say, as AWS and Kubernetes read it: one reader for each kind of value."""
