"""The arguments about an AWS account and what it asks; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from typing import NotRequired, TypedDict

from pulumi import Input


class Iam(TypedDict):
    """What an account asks of every IAM role."""

    permissions_boundary: NotRequired[str]
    """ARN of the policy that bounds what each role may ever do. Default: none."""
    path: NotRequired[str]
    """Path of the roles, such as `/team/`. Default: `/`."""


class InAccount(TypedDict):
    """What an AWS account asks of what is made in it."""

    iam: NotRequired[Iam]
    """Permissions boundary and path of every role. Default: neither."""
    partition: NotRequired[str]
    """AWS partition, such as aws-us-gov. Default: that of `aws:region`."""


class Tagged(TypedDict):
    """What is tagged in an AWS account."""

    tags: NotRequired[dict[str, Input[str]]]
    """Tags of everything in AWS. Default: none."""


class TaggedInAccount(Tagged, InAccount):
    """The same, where roles are made too."""
