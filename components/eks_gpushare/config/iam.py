"""What the IAM roles that a stack makes have in common."""

from eks_gpushare.config.base import Model


class Iam(Model):
    """What an account asks of every role; given to all of them, also those of EKS and add-ons."""

    permissions_boundary: str | None = None
    """ARN of the policy that bounds what each role may ever do. Default: none."""
    path: str | None = None
    """Path of the roles, such as `/team/`. Default: `/`."""
