"""The real Pulumi engine on the lab: `pulumi up` of a stack, charts included."""
