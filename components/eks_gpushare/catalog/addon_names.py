"""Names of EKS add-ons, and which of their versions go with a Kubernetes version.

A table for checks without an account; `aws eks describe-addon-versions` is the authority. Those of
the marketplace are not in it: their names begin with the seller's and an underscore.
"""

from __future__ import annotations

from eks_gpushare.catalog.versions import addon_versions

ADDON_NAMES = frozenset(
    {
        # https://docs.aws.amazon.com/eks/latest/userguide/workloads-add-ons-available-eks.html
        "adot",
        "amazon-cloudwatch-observability",
        "amazon-sagemaker-hyperpod-observability",
        "amazon-sagemaker-hyperpod-taskgovernance",
        "amazon-sagemaker-hyperpod-training-operator",
        "aws-ebs-csi-driver",
        "aws-efs-csi-driver",
        "aws-fsx-csi-driver",
        "aws-guardduty-agent",
        "aws-mountpoint-s3-csi-driver",
        "aws-network-flow-monitoring-agent",
        "aws-privateca-connector-for-kubernetes",
        "aws-secrets-store-csi-driver-provider",
        "coredns",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "kube-proxy",
        "snapshot-controller",
        "vpc-cni",
        # https://docs.aws.amazon.com/eks/latest/userguide/community-addons.html
        "cert-manager",
        "external-dns",
        "fluent-bit",
        "kube-state-metrics",
        "metrics-server",
        "prometheus-node-exporter",
    }
)
"""The add-ons of AWS and of the community; read 2026-11-22."""

OLDEST_KUBE_PROXY = 3
"""Minor versions that kube-proxy may be behind the API server; it may not be ahead:
https://kubernetes.io/releases/version-skew-policy/#kube-proxy, to which EKS holds its add-on."""


def of_marketplace(name: str) -> bool:
    """Whether a name is one of the marketplace, such as "kubecost_kubecost"."""
    return "_" in name


def default_minor(name: str, kubernetes_version: str) -> tuple[int, int] | None:
    """The first two parts of the version that an add-on has by default; None if not known."""
    known = addon_versions(kubernetes_version).get(name)
    if known is None:
        return None
    major, minor, *_ = known.version.removeprefix("v").split(".")
    return int(major), int(minor)
