"""Policies on autoscalers of nodes and of pods that edges of the inventory judge."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_policy

EDGES = (
    edge_policy(
        "karpenter-objects-valid",
        "Objects of Karpenter must be of a version and shape that it serves, and do what they say.",
        applies_to=kinds.KARPENTER,
        severity=Severity.HIGH,
        stack_file=(
            "Set `provisioner: karpenter` of a pool in the stack file, from which the objects are "
            "made."
        ),
        fix="Correct the object as the message says.",
    ),
    edge_policy(
        "karpenter-pools-effective",
        "Requirements, limits, taints and labels of NodePools must be about what nodes have.",
        applies_to=kinds.KARPENTER,
        severity=Severity.LOW,
        stack_file=(
            "Set `provisioner: karpenter` of a pool in the stack file, from which the objects are "
            "made."
        ),
        fix="Correct the requirement or limit as the message says.",
    ),
    edge_policy(
        "autoscalers-know-shares",
        "NodeOverlays and tags for autoscalers must agree with what nodes will advertise.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.KARPENTER[1:]),
        severity=Severity.HIGH,
        stack_file=(
            "Declare the pool in the stack file, whose overlays and tags come from its sharing."
        ),
        fix=(
            "Set the capacity of the NodeOverlay, or the tags of the node group, to what a node "
            "advertises."
        ),
    ),
    edge_policy(
        "autoscalers-have-targets",
        "What makes more pods must name a workload that is there, and in queries about its pods no "
        "namespace but theirs.",
        applies_to=(
            "kubernetes:keda.sh/v1alpha1:ScaledObject",
            "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
            *kinds.WORKLOADS,
        ),
        unseen="targets of kinds that somebody else defined, such as a Rollout.",
        severity=Severity.HIGH,
        stack_file=(
            "The ScaledObject of a stack file's workload names it: remove what changes that, such "
            "as a transform."
        ),
        fix=(
            "Name the workload by kind and name in its namespace, and the triggers as the formula "
            "does."
        ),
    ),
)
