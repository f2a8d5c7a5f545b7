"""The rule on how many nodes of a group an update takes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from gpushare_policies.props import peek, read, whole
from gpushare_policies.reading.launches import are_of_cluster
from gpushare_policies.reading.node_groups import own_tags
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import NODE_GROUP, SCALING_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW = "Set `updateConfig: {maxUnavailable: 1}`, or a `maxUnavailablePercentage` below 100."
_FIX = Fix("A stack file updates one node at a time: remove what changes that.", _RAW, _RAW)
_SET_HEALTHY = "Set `instanceRefresh.preferences.minHealthyPercentage` to 90."
_OF_GROUPS = Fix(_SET_HEALTHY, _SET_HEALTHY, _SET_HEALTHY)
_WHOLE = 100


def _steps(args: ResourceValidationArgs) -> Iterator[str]:
    # The largest size and no more: how many nodes run now is the autoscaler's business.
    most = whole(peek(args.props, "scalingConfig", "maxSize"))
    if most == 1:
        return
    share = whole(read(args.props, "updateConfig", "maxUnavailablePercentage"))
    count = whole(read(args.props, "updateConfig", "maxUnavailable"))
    if share is not None and share >= _WHOLE:
        found = "all"
    elif count is not None and most is not None and count >= most:
        found = f"{count} nodes of at most {most}"
    else:
        return
    yield (
        f"An update of the node group {args.name} takes {found} at once. It must go in "
        f"steps, or every pod of the group stops together. {_FIX.of(args.urn)}"
    )


def _refresh(args: ResourceValidationArgs) -> Iterator[str]:
    """Of an Auto Scaling group whose machines join a cluster."""
    least = whole(read(args.props, "instanceRefresh", "preferences", "minHealthyPercentage"))
    if least == 0 and are_of_cluster(own_tags(args.props)):
        yield (
            f"A refresh of the Auto Scaling group {args.name} may take all nodes at once. It must "
            f"go in steps, or every pod of the group stops together. {_OF_GROUPS.of(args.urn)}"
        )


NODE_UPDATES_IN_STEPS = ResourcePolicy(
    "node-updates-in-steps",
    "An update of a node group must not take all nodes at once.",
    checks={NODE_GROUP: _steps, SCALING_GROUP: _refresh},
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    also=("aws-eks-best-practices/reliability",),
    fix=_FIX,
)
