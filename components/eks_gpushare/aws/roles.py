"""IAM roles, which all have the boundary and path of the stack, and policies of its partition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pulumi
from pulumi_aws.iam import Role

from eks_gpushare.catalog.partitions import (
    COMMERCIAL,
    Partition,
    partition_named,
    partition_of,
)
from eks_gpushare.config.iam import Iam

_LONGEST_NAME = 64 - len("-1234567")
"""Logical name that leaves room for what Pulumi adds, in the 64 characters of a role's name:
https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html."""
_LONGEST_PREFIX = 64 - 26 - 1
"""The provider adds 26 characters to a prefix, and here comes a hyphen between."""


@dataclass(frozen=True, slots=True)
class Roles:
    """What every role that a component makes has in common."""

    partition: Partition = COMMERCIAL
    """Partition of the account."""
    permissions_boundary: str | None = None
    """ARN of the policy that bounds every role."""
    path: str | None = None
    """Path of every role."""

    def role(
        self, name: str, trust: str, tags: Mapping[str, str] | None, opts: pulumi.ResourceOptions
    ) -> Role:
        """Register a role.

        Args:
            name: Its logical name.
            trust: Who may assume it, as a policy document.
            tags: Its tags.
            opts: Its options.
        """
        return Role(
            name,
            # Of a short name Pulumi makes one with a random end; longer ones IAM refuses.
            name_prefix=None if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_PREFIX]}-",
            assume_role_policy=trust,
            permissions_boundary=self.permissions_boundary,
            path=self.path,
            tags=tags,
            opts=opts,
        )

    def for_remote_children(self) -> list[pulumi.ResourceTransform]:
        """What gives boundary and path to roles that a component in another process makes.

        The role of a control plane keeps the path it was made with: with another path it is
        another role, and with another role EKS wants another cluster.
        """
        if self.permissions_boundary is None and self.path is None:
            return []

        def bounded(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
            if args.type_ != "aws:iam/role:Role":
                return None
            own = {"permissionsBoundary": self.permissions_boundary, "path": self.path}
            given = {key: value for key, value in own.items() if value is not None}
            kept = pulumi.ResourceOptions(ignore_changes=["path"] if self.path else None)
            return pulumi.ResourceTransformResult(
                {**args.props, **given}, pulumi.ResourceOptions.merge(args.opts, kept)
            )

        return [bounded]


class _MakesRoles(Protocol):
    """A component's arguments."""

    @property
    def iam(self) -> Iam | None:
        """Boundary and path."""

    @property
    def partition(self) -> str | None:
        """ID of the partition."""


def roles_of(spec: _MakesRoles) -> Roles:
    """What the roles of a component have in common."""
    given = partition_named(spec.partition) if spec.partition else None
    partition = given or partition_of(pulumi.Config("aws").get("region"))
    iam = spec.iam
    if iam is None:
        return Roles(partition)
    return Roles(partition, iam.permissions_boundary, iam.path)
