"""Texts that AWS and Kubernetes read, rendered with a stable order. No Pulumi here."""
