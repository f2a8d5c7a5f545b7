"""CloudWatch's add-on, where a stack has its metrics collected by it.

Sources, read 2026-11-28: for values and the least version
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/container-insights-eks-otel-quickstart.html,
for the service account and its policy
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import Addon, Addons, PodIdentity
from eks_gpushare.documents.helm import merge_values

if TYPE_CHECKING:
    from eks_gpushare.config.observability import Observability

ADDON: Final = "amazon-cloudwatch-observability"
ACCOUNT: Final = "cloudwatch-agent"
"""Service account of its agent, which writes metrics."""
CHART_SOURCE: Final = (
    "https://github.com/aws-observability/helm-charts/tree/main/charts/"
    "amazon-cloudwatch-observability"
)
"""Chart 6.4.0 of the add-on, rendered on 2026-11-28 with the values below: its agent and exporters
tolerate every taint, and the exporter of GPUs is on nodes of 125 instance types."""
_NOT_LISTED: Final = ("g6f.", "gr6f.", "g7.", "g7e.", "p5.4xlarge")
"""How instance types with NVIDIA's GPUs begin that are not among those."""
_POLICY: Final = "CloudWatchAgentServerPolicy"
_VALUES: Final[dict[str, Any]] = {
    "otelContainerInsights": {"enabled": True},
    # Nothing of these is about GPUs, and each is billed: switched on by whoever wants it.
    "containerInsights": {"enabled": False},
    "containerLogs": {"enabled": False},
    "applicationSignals": {"enabled": False},
}


def is_measured(instance_type: str) -> bool:
    """Whether the add-on's exporter runs on nodes of an instance type.

    Args:
        instance_type: Its name; of a type that the add-on's chart is newer than, nothing is known.
    """
    return not instance_type.startswith(_NOT_LISTED)


def makes_addon(block: Observability | None) -> bool:
    """Whether a new cluster of a stack gets the add-on by itself."""
    return block is not None and block.metrics == "cloudwatch"


def with_cloudwatch(addons: Addons, block: Observability | None, partition: str) -> Addons:
    """The add-ons of a new cluster with CloudWatch's, where metrics are collected by it.

    What is said of the add-on under `byName` goes over what it gets here.

    Args:
        addons: What the stack says of them.
        block: Its block about metrics.
        partition: The partition of its region, such as `aws`.
    """
    if not makes_addon(block):
        return addons
    given = addons.by_name.get(ADDON, Addon.model_construct())
    role = PodIdentity(policyArns=[f"arn:{partition}:iam::aws:policy/{_POLICY}"])
    addon = converted(
        Addon,
        given,
        values=merge_values(_VALUES, given.values),
        pod_identity={ACCOUNT: role, **given.pod_identity},
    )
    return converted(Addons, addons, by_name={**addons.by_name, ADDON: addon})
