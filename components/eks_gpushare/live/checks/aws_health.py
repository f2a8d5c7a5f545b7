"""What AWS finds wrong with node groups and add-ons, as causes of what the cluster lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.live import rules
from eks_gpushare.live.checks.vcpu_quotas import quota_faults
from eks_gpushare.live.faults import ClusterFault, Link, pool_mark
from eks_gpushare.live.nodes import GROUP_LABEL, counted_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.live.aws_side import AwsSide, ManagedNodeGroup, UpgradeInsight
    from eks_gpushare.live.checks.vcpu_quotas import Demands
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.sharing.plan import PoolPlan

_SOUND: Final = frozenset(("ACTIVE", "UPDATING", "CREATING", "DELETING"))
_PASSING: Final = frozenset(
    ("AutoScalingGroupInstanceRefreshActive", "IamThrottling", "AutoScalingGroupRateLimitExceeded")
)
"""Issues that go by themselves."""
_FEWEST: Final = 10
"""Free addresses below which the next node of a group gets none for its pods: the CNI takes those
of a whole network interface at once (https://docs.aws.amazon.com/eks/latest/best-practices/vpc-cni.html)."""
_FIXES: Final[Mapping[str, str]] = {
    "AsgInstanceLaunchFailures": "See EC2's own words: for a lack of capacity allow more types or "
    "zones, for a limit ask Service Quotas for more vCPUs.",
    "InstanceLimitExceeded": "Ask Service Quotas for more vCPUs of these families.",
    "InsufficientFreeAddresses": "Give the group a larger subnet, or free addresses in this one.",
    "Ec2SubnetInvalidConfiguration": "Let the subnet give the addresses that the group expects.",
    "Ec2LaunchTemplateVersionMismatch": "Somebody changed the Auto Scaling group by hand: run "
    "pulumi up, which sets the version back.",
    "NodeCreationFailure": "An instance runs and does not join: see its system log, and whether it "
    "reaches the API server and may by its role.",
    "PodEvictionFailure": "A disruption budget holds a node: kubectl get poddisruptionbudgets -A.",
    "AmiIdNotFound": "The AMI is gone or not shared with this account: name another release.",
    "Ec2InstanceTypeDoesNotExist": "The type is not offered in these zones: choose others.",
    "IamNodeRoleNotFound": "Make the nodes' role again under its name.",
    "AccessDenied": "Let the cluster's and the nodes' roles do what EKS documents.",
}
"""Repairs by code, of those that say what to do."""
_OTHER_FIX: Final = "See https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html."


def aws_faults(
    side: AwsSide, nodes: Sequence[LiveNode], pools: Mapping[str, PoolPlan], of_stack: Demands
) -> Iterator[ClusterFault]:
    """Faults that AWS tells of.

    Args:
        side: What AWS says.
        nodes: The cluster's nodes with GPUs.
        pools: Those of the stack, by name.
        of_stack: What these take of EC2's quotas.
    """
    yield from quota_faults(side.quotas, of_stack, nodes)
    yield from map(_insight, side.insights)
    for group in side.groups:
        about = _about(group, nodes, pools)
        yield from _group(group, about)
        yield from _release(group, pools)
        low = {
            subnet: side.free_addresses[subnet]
            for subnet in group.subnets
            if side.free_addresses.get(subnet, _FEWEST) < _FEWEST
        }
        if low and len(low) == len(group.subnets):
            told = ", ".join(f"{subnet} has {count}" for subnet, count in sorted(low.items()))
            finding = rules.FEW_ADDRESSES.finding(
                ("nodeGroups", group.name),
                f"The node group {group.name} has no subnet with free addresses: {told}.",
                "Give it a larger subnet, or set addons.prefixDelegation off where prefixes fill "
                "it.",
            )
            yield ClusterFault(finding, Link.NODE, about)
    for addon in side.addons:
        for issue in addon.issues:
            finding = rules.ADDON_UNSOUND.finding(
                ("addons", addon.name),
                f"The add-on {addon.name} is {addon.status}: {issue.code}, "
                f"{issue.message.rstrip('.')}.",
                "See aws eks describe-addon; ConfigurationConflict goes with --resolve-conflicts "
                "OVERWRITE.",
            )
            yield ClusterFault(finding, Link.PROGRAMS, is_cause_only=True)


def _pool(group: ManagedNodeGroup, pools: Mapping[str, PoolPlan]) -> str | None:
    """The pool of a group, which is called by stack and pool."""
    named = [pool for pool in pools if f"-{pool}-" in f"-{group.name}-"]
    return max(named, key=len, default=None)


def _about(
    group: ManagedNodeGroup, nodes: Sequence[LiveNode], pools: Mapping[str, PoolPlan]
) -> frozenset[str]:
    """The nodes of a group, and the mark of its pool for those that are not there."""
    there = {node.name for node in nodes if node.labels.get(GROUP_LABEL) == group.name}
    pool = _pool(group, pools)
    return frozenset({*there, *([pool_mark(pool)] if pool else ())})


def _release(group: ManagedNodeGroup, pools: Mapping[str, PoolPlan]) -> Iterator[ClusterFault]:
    """A group of another release than its pool's."""
    pool = _pool(group, pools)
    declared = pools[pool].pool.ami_version if pool else None
    if declared and group.release and group.release != declared:
        finding = rules.VERSION_DIFFERS.finding(
            ("pools", str(pool), "amiVersion"),
            f"The node group {group.name} is of the release {group.release}, and its pool declares "
            f"{declared}.",
            "Run pulumi up, which updates the group, or declare the release that there is.",
            "warning",
        )
        yield ClusterFault(finding, Link.PODS, is_cause_only=True)


def _insight(found: UpgradeInsight) -> ClusterFault:
    to = f" to {found.version}" if found.version else ""
    finding = rules.UPGRADE_HELD_UP.finding(
        ("cluster", "version"),
        f"EKS says of the upgrade{to}: {found.name}, {found.status}"
        + (f", {found.reason.rstrip('.')}." if found.reason else "."),
        found.recommendation or "See aws eks describe-insight.",
    )
    named = counted_names(found.resources)
    evidence = (f"about {named}",) if named else ()
    return ClusterFault(finding, Link.PODS, evidence=evidence, is_cause_only=True)


def _group(group: ManagedNodeGroup, about: frozenset[str]) -> Iterator[ClusterFault]:
    for issue in group.issues:
        of = f" ({', '.join(issue.resources[:3])})" if issue.resources else ""
        finding = rules.NODE_GROUP_UNSOUND.finding(
            ("nodeGroups", group.name),
            f"EKS says of the node group {group.name}: {issue.code}{of}, "
            f"{issue.message.rstrip('.')}.",
            _FIXES.get(issue.code, _OTHER_FIX),
            "warning" if issue.code in _PASSING else None,
        )
        yield ClusterFault(finding, Link.NODE, about, evidence=(f"status {group.status}",))
    if not group.issues and group.status not in _SOUND:
        finding = rules.NODE_GROUP_UNSOUND.finding(
            ("nodeGroups", group.name),
            f"The node group {group.name} is {group.status}, and EKS says no more.",
            "See its Auto Scaling group's activities.",
        )
        yield ClusterFault(finding, Link.NODE, about)
