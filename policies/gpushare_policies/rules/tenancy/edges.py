"""Policies on tenants of a cluster that edges of the inventory judge."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_policy

EDGES = (
    edge_policy(
        "tenants-share-no-gpu",
        "Tenants that a namespace's label eks-gpushare.io/isolation marks isolated must not take "
        "turns on GPUs with others.",
        applies_to=(*kinds.WORKLOADS, "kubernetes:core/v1:Namespace", *kinds.NODES),
        severity=Severity.HIGH,
        stack_file="Give the tenant a pool of MIG or of whole GPUs in the stack file.",
        fix="Move the tenant to nodes of MIG or of whole GPUs.",
    ),
    edge_policy(
        "visible-devices-leak-closed",
        "Containers must get GPUs by asking for them, and where tenants share nodes "
        "NVIDIA_VISIBLE_DEVICES must give none.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.WORKLOADS),
        severity=Severity.HIGH,
        stack_file=(
            "Nodes made from a stack file have it closed: remove what opens it, such as user data "
            "of your own."
        ),
        fix=(
            "Set `accept-nvidia-visible-devices-envvar-when-unprivileged = false` in the user data "
            "of the nodes, and `deviceListStrategy: volume-mounts` of the device plugin."
        ),
    ),
    edge_policy(
        "limit-ranges-give-no-gpu",
        "A LimitRange must not give GPUs to containers that ask for none.",
        applies_to=("kubernetes:core/v1:LimitRange",),
        severity=Severity.MEDIUM,
        fix=(
            "Leave the resource out of `default` and `defaultRequest`; a container that needs a GPU"
            " asks for it."
        ),
    ),
)
