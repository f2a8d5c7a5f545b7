"""Versions of Kubernetes' APIs that no cluster of today serves.

Source: https://kubernetes.io/docs/reference/using-api/deprecation-guide/, November 2026.
"""

from __future__ import annotations

from typing import Final

_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_OLD_CLAIMS: Final = ("resource.k8s.io/v1alpha1", "resource.k8s.io/v1alpha2")

SERVED_NOW: Final = {
    **{
        (f"{group}/{version}", kind): ("apps/v1", "1.16")
        for group, versions in (("extensions", ("v1beta1",)), ("apps", ("v1beta1", "v1beta2")))
        for version in versions
        for kind in _WORKLOADS
    },
    ("batch/v1beta1", "CronJob"): ("batch/v1", "1.25"),
    ("batch/v2alpha1", "CronJob"): ("batch/v1", "1.21"),
    ("policy/v1beta1", "PodDisruptionBudget"): ("policy/v1", "1.25"),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler"): ("autoscaling/v2", "1.25"),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler"): ("autoscaling/v2", "1.26"),
    ("node.k8s.io/v1beta1", "RuntimeClass"): ("node.k8s.io/v1", "1.25"),
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): ("scheduling.k8s.io/v1", "1.22"),
    **{
        (version, kind): ("resource.k8s.io/v1", "1.32")
        for version in _OLD_CLAIMS
        for kind in (
            "ResourceClaim",
            "ResourceClaimTemplate",
            "ResourceClass",
            "PodSchedulingContext",
        )
    },
}
"""What is served instead, and since which version of Kubernetes the old one is gone."""

ONLY_SPELLING: Final = frozenset(
    (*_WORKLOADS, "CronJob", "PodDisruptionBudget", "RuntimeClass", "PriorityClass")
)
"""Kinds whose fields are the same where they are served, but for the selector of workloads."""
