"""The real Pulumi engine on the lab: what a stack has in Kubernetes, by `pulumi up`, charts included."""
