"""The real Pulumi engine on the lab: a stack's Kubernetes half by `pulumi up`, charts included."""
