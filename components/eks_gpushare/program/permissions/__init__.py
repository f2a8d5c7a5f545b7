"""The least IAM policy that deploys what a program registers."""
