"""The components of pulumi-eks, made as its own plugin would make them."""
