"""KEDA: its chart's values, where it asks for the use of GPUs, and what it may do in AWS for that.

Source of the values: https://github.com/kedacore/charts, keda/values.yaml at the version in
`catalog.versions`; read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.arns import workspace_of
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.workloads import Keda, Prometheus

OPERATOR_ACCOUNT = "keda-operator"
"""Service account of KEDA's operator, the chart's default."""
AUTHENTICATION = "eks-gpushare-prometheus"
"""ClusterTriggerAuthentication by which KEDA asks Amazon's Prometheus as its operator."""
QUEUE_AUTHENTICATION = "eks-gpushare-queues"
"""ClusterTriggerAuthentication by which KEDA asks how long queues are, as its operator."""
QUEUE_ACTIONS = ("sqs:GetQueueAttributes",)
"""All that KEDA calls of SQS: pkg/scalers/aws_sqs_queue_scaler.go at v2.20.2, read 2026-11-25. The
key of messages that are encrypted it does not need, since their number is not
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-server-side-encryption.html)."""
QUERY_ACTIONS = ("aps:QueryMetrics",)
"""What asking a workspace takes:
https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-APIReference.html#AMP-APIReference-QueryMetrics."""


class PrometheusServer(NamedTuple):
    """Where KEDA asks."""

    address: Any
    """Address without the path of the API; an output of a workspace that the stack makes."""
    region: Any = None
    """AWS region, where requests are signed."""
    authentication: str | None = None
    """ClusterTriggerAuthentication of the requests."""


def prometheus_server(given: Prometheus) -> PrometheusServer:
    """Where KEDA asks for the use of GPUs.

    Args:
        given: A block that the rules have accepted.
    """
    if given.workspace_arn is None:
        return PrometheusServer(given.url, authentication=given.authentication)
    workspace = workspace_of(given.workspace_arn)
    if workspace is None:  # which the rules refuse
        raise KeyError(given.workspace_arn)
    return PrometheusServer(workspace.address, workspace.region, AUTHENTICATION)


def keda_values(keda: Keda, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the chart.

    Args:
        keda: The block of the stack.
        given: The user's values, which go over the derived ones.
    """
    elsewhere = {"matchExpressions": [{"key": POOL_LABEL, "operator": "DoesNotExist"}]}
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [elsewhere]}
    }
    derived: dict[str, Any] = {
        "operator": {"replicaCount": keda.replicas},
        # A GPU node goes when its pods do, and it costs too much to wait for KEDA's.
        "affinity": {"nodeAffinity": required},
    }
    return merge_values(derived, given, keep_null=True)


def trigger_authentication(name: str) -> dict[str, Any]:
    """Requests to AWS are signed as KEDA's operator, which has its role by Pod Identity."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ClusterTriggerAuthentication",
        "metadata": {"name": name},
        "spec": {"podIdentity": {"provider": "aws"}},
    }
