"""Where `aws.eks.Cluster` keeps its settings, and the clusters that rules judge.

`eks.Cluster` of pulumi_eks and `EksCluster` of this project are no part of it: the cluster below
them carries all that they were given, and one mistake is said once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpushare_policies.props import given, read
from gpushare_policies.tokens import AWS_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi_policy import ResourceValidationArgs

    from gpushare_policies.checks import Check, Unjudged


def on_clusters(check: Check) -> Mapping[str, Check]:
    """The check for clusters; one that shows no property, as a preview may have it, is left."""

    def if_visible(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
        if any(given(args.props, key) for key in args.props):
            yield from check(args)

    return {AWS_CLUSTER: if_visible}


def switch(args: ResourceValidationArgs, *path: str, default: bool) -> Any:
    """The value of a switch, or what is in force where it is absent."""
    value = read(args.props, *path)
    return default if value is None else value
