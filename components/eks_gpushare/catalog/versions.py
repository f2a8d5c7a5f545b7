"""Every version that this package installs by default, and where it was seen.

This is the one module to edit for an update. AWS publishes no machine-readable list of add-on
and image versions: each entry says how well it is known. `aws eks describe-addon-versions` and
`aws ssm get-parameter` are the authorities, and a stack file can name other versions.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Confidence = Literal["documented", "reported"]


class HelmChart(NamedTuple):
    """A Helm chart.

    Attributes:
        name: the chart's name in its repository; for an OCI chart, the last part of its address.
        version: the chart's own version, as Helm wants it.
        repository: address of the repository, or of the OCI chart itself.
        source: where the version was read.
        read: the day of that.

    """

    name: str
    version: str
    repository: str
    source: str
    read: date


class Image(NamedTuple):
    """A container image.

    Attributes:
        repository: where it is pulled from.
        tag: for people; the digest decides.
        digest: of the index for all architectures.
        source: where the two were seen together.
        read: the day of that.

    """

    repository: str
    tag: str
    digest: str
    source: str
    read: date

    @property
    def reference(self) -> str:
        """The image as a pod names it."""
        return f"{self.repository}:{self.tag}@{self.digest}"


class AddonVersion(NamedTuple):
    """The version of an EKS add-on for one Kubernetes minor version.

    Attributes:
        name: the add-on's name in the EKS API.
        version: such as "v1.35.3-eksbuild.29".
        confidence: "documented" if AWS's own documentation names it, "reported" if it was seen
            running, or pinned, in public repositories.
        source: where it was seen.
        read: the day of that.

    """

    name: str
    version: str
    confidence: Confidence
    source: str
    read: date


DEVICE_PLUGIN = HelmChart(
    name="nvidia-device-plugin",
    version="0.20.0",
    repository="https://nvidia.github.io/k8s-device-plugin",
    source="NVIDIA/k8s-device-plugin, Chart.yaml in deployments/helm",
    read=date(2026, 11, 21),
)

NODE_FEATURE_DISCOVERY = HelmChart(
    name="node-feature-discovery",
    version="0.19.0",
    repository="oci://registry.k8s.io/nfd/charts/node-feature-discovery",
    source="Chart.yaml of nvidia-device-plugin, which brings it along",
    read=date(2026, 11, 21),
)

GPU_OPERATOR = HelmChart(
    name="gpu-operator",
    version="v26.7.0",
    repository="https://helm.ngc.nvidia.com/nvidia",
    source="NVIDIA/gpu-operator, deployments/gpu-operator",
    read=date(2026, 11, 21),
)

EFA_DEVICE_PLUGIN = HelmChart(
    name="aws-efa-k8s-device-plugin",
    version="v0.5.30",
    repository="https://aws.github.io/eks-charts",
    source="aws/eks-charts, Chart.yaml in stable/aws-efa-k8s-device-plugin at 52396092 of "
    "2026-08-03",
    read=date(2026, 11, 22),
)

DCGM_EXPORTER = HelmChart(
    name="dcgm-exporter",
    version="4.8.2",
    repository="https://nvidia.github.io/dcgm-exporter/helm-charts",
    source="NVIDIA/dcgm-exporter, deployment/Chart.yaml of 2026-05-12",
    read=date(2026, 11, 24),
)

KARPENTER = HelmChart(
    name="karpenter",
    version="1.14.1",
    repository="oci://public.ecr.aws/karpenter/karpenter",
    source="aws/karpenter-provider-aws, charts/karpenter/Chart.yaml at 1d927085d of 2026-08-21",
    read=date(2026, 11, 22),
)

KARPENTER_CRDS = HelmChart(
    name="karpenter-crd",
    version="1.14.1",
    repository="oci://public.ecr.aws/karpenter/karpenter-crd",
    source="aws/karpenter-provider-aws, charts/karpenter-crd/Chart.yaml at 1d927085d of 2026-08-21",
    read=date(2026, 11, 22),
)
"""Karpenter's custom resource definitions. Helm updates none that lie in a chart's crds folder, so
they have a chart of their own: https://karpenter.sh/docs/upgrading/upgrade-guide/#crd-upgrades."""

CLUSTER_AUTOSCALER = HelmChart(
    name="cluster-autoscaler",
    version="9.59.0",
    repository="https://kubernetes.github.io/autoscaler",
    source="kubernetes/autoscaler, tag cluster-autoscaler-chart-9.59.0 of 2026-07-21",
    read=date(2026, 11, 22),
)

CLUSTER_AUTOSCALER_IMAGE = "registry.k8s.io/autoscaling/cluster-autoscaler"
"""Where its image is pulled from, whatever the version."""

KEDA = HelmChart(
    name="keda",
    version="2.20.2",
    repository="https://kedacore.github.io/charts",
    source="kedacore/charts, keda/Chart.yaml at cbb9bb8 of 2026-07-31",
    read=date(2026, 11, 22),
)

KUEUE = HelmChart(
    name="kueue",
    version="0.16.6",
    repository="oci://registry.k8s.io/kueue/charts/kueue",
    source="kubernetes-sigs/kueue, charts/kueue/Chart.yaml at v0.16.6",
    read=date(2026, 11, 28),
)

PROMETHEUS = HelmChart(
    name="kube-prometheus-stack",
    version="88.5.3",
    repository="https://prometheus-community.github.io/helm-charts",
    source="prometheus-community/helm-charts, charts/kube-prometheus-stack/Chart.yaml at cf408a290 "
    "of 2026-08-22",
    read=date(2026, 11, 27),
)

PRICES_SOURCE = "github.com/aws/karpenter-provider-aws v1.15.1, zz_generated.pricing_aws.go"
PRICES_READ = date(2026, 7, 20)
"""Where the prices of instances in the tables of the catalog are from, and of when."""

MIG_PARTED = "v0.15.0"
MIG_PARTED_READ = date(2026, 11, 21)
"""Release of mig-parted, of which the GPU Operator's MIG manager is made: the version of migManager
in the values.yaml of GPU_OPERATOR."""

PYTHON = Image(
    repository="public.ecr.aws/docker/library/python",
    tag="3.13.16-slim",
    digest="sha256:bf44cdfcb76cd3b41e879bc058fc37ec5872002ccfde7fcb765e218cde0cd79c",
    source="Dockerfiles of several public repositories, this address and Docker Hub's; published "
    "2026-10-06",
    read=date(2026, 11, 21),
)


PAUSE = Image(
    repository="registry.k8s.io/pause",
    tag="3.10.1",
    digest="sha256:278fb9dbcca9518083ad1e11276933a2e96f23de604a3a08cc3c80002767d24c",
    source="sources of several public repositories that pin it by this digest",
    read=date(2026, 11, 22),
)

CHARTS = (
    DEVICE_PLUGIN,
    NODE_FEATURE_DISCOVERY,
    GPU_OPERATOR,
    DCGM_EXPORTER,
    EFA_DEVICE_PLUGIN,
    KARPENTER,
    KARPENTER_CRDS,
    CLUSTER_AUTOSCALER,
    KEDA,
    KUEUE,
    PROMETHEUS,
)
"""Every chart that is pinned here."""
IMAGES = (PYTHON, PAUSE)
"""Every image."""


def device_plugin_source(path: str = "") -> str:
    """The address of a file or folder of the device plugin's sources, at its version here.

    Args:
        path: such as "api/config/v1/replicas.go" or "README.md"; a "#part" may follow.
    """
    return _source("NVIDIA/k8s-device-plugin", f"v{DEVICE_PLUGIN.version}", path)


def gpu_operator_source(path: str = "") -> str:
    """The address of a file or folder of the GPU Operator's sources, at its version here."""
    return _source("NVIDIA/gpu-operator", GPU_OPERATOR.version, path)


def mig_parted_source(path: str = "") -> str:
    """The address of a file or folder of mig-parted's sources, at its version here."""
    return _source("NVIDIA/mig-parted", MIG_PARTED, path)


def _source(repository: str, tag: str, path: str) -> str:
    place, mark, part = path.partition("#")
    # GitHub has folders under another word than files, which have a dot in their name.
    kind = "blob" if "." in place.rpartition("/")[2] else "tree"
    return f"https://github.com/{repository}/{kind}/{tag}/{place}".rstrip("/") + mark + part


@cache
def addon_versions(kubernetes_version: str) -> Mapping[str, AddonVersion]:
    """The add-ons for a Kubernetes minor version such as "1.35", by add-on name.

    Empty for a version that this table does not have: then EKS chooses.
    """
    own = _ADDONS.get(kubernetes_version)
    if own is None:
        return MappingProxyType({})
    return MappingProxyType({addon.name: addon for addon in (*own, *_ADDONS_OF_ALL)})


def ami_release(ami_family: str, kubernetes_version: str) -> str | None:
    """The newest image release known to exist, None if none is known.

    AL2023's is a Kubernetes patch version and a date, such as "1.35.8-20260930"; Bottlerocket's
    an OS version and a commit, such as "1.65.0-0be31b34", the same for every Kubernetes version.
    """
    if ami_family == "bottlerocket":
        return BOTTLEROCKET_RELEASE if kubernetes_version in _AL2023_RELEASES else None
    return _AL2023_RELEASES.get(kubernetes_version)


def cluster_autoscaler_tag(kubernetes_version: str) -> str | None:
    """The image of Cluster Autoscaler for a Kubernetes minor version, None if none is known.

    It simulates the scheduler of one minor version of Kubernetes, and is recommended for that one
    only: https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler#releases.
    """
    release = _CLUSTER_AUTOSCALERS.get(kubernetes_version)
    return None if release is None else f"v{release}"


CLUSTER_AUTOSCALERS_SOURCE = (
    "kubernetes/autoscaler, tags cluster-autoscaler-<release> of 2026-07-22"
)
CLUSTER_AUTOSCALERS_READ = date(2026, 11, 22)
_CLUSTER_AUTOSCALERS = {
    "1.33": "1.33.6",
    "1.34": "1.34.5",
    "1.35": "1.35.2",
    "1.36": "1.36.1",
}


# Release versions of EKS managed node groups with AL2023. The form is documented in
# awslabs/amazon-eks-ami, CHANGELOG.md (v20260714: "1.35.6-20260714").
AMIS_SOURCE = "seen on nodes and in node groups pinned to them in public repositories"
AMIS_READ = date(2026, 10, 8)
_AL2023_RELEASES = {
    "1.33": "1.33.13-20260930",
    "1.34": "1.34.11-20260930",
    "1.35": "1.35.8-20260930",
    "1.36": "1.36.4-20260930",
}

BOTTLEROCKET_RELEASE = "1.65.0-0be31b34"
BOTTLEROCKET_SOURCE = "entigolabs/entigo-infralib, pull request 1488: groups with BOTTLEROCKET_*"
BOTTLEROCKET_READ = date(2026, 9, 30)

_UPGRADE_LOG = (
    "log of an upgrade from 1.31 to 1.36 in a public repository: the default that EKS chose; "
    "pinned as that default, or seen running, in at least two other ones by 2026-11-22"
)


def _core(kube_proxy: str, coredns: str) -> tuple[AddonVersion, ...]:
    return (
        AddonVersion("kube-proxy", kube_proxy, "reported", _UPGRADE_LOG, date(2026, 9, 24)),
        AddonVersion("coredns", coredns, "reported", _UPGRADE_LOG, date(2026, 9, 24)),
    )


_ADDONS = {
    "1.33": _core("v1.33.10-eksbuild.29", "v1.12.4-eksbuild.38"),
    "1.34": _core("v1.34.6-eksbuild.29", "v1.12.4-eksbuild.38"),
    "1.35": _core("v1.35.3-eksbuild.29", "v1.13.2-eksbuild.31"),
    "1.36": _core("v1.36.0-eksbuild.25", "v1.14.3-eksbuild.23"),
}

KUBERNETES_VERSIONS = tuple(_ADDONS)
"""Minor versions of Kubernetes that add-ons and images are pinned for."""

# A pin is what makes two runs of one file the same; looking the newest version up would change
# add-ons under a cluster whenever AWS publishes one. So what is pinned has to exist: each of these
# was found by its full version, build number and all. They do not follow the Kubernetes version:
# each was seen on 1.33 to 1.36, the node monitoring agent on 1.36 only.
_ADDONS_OF_ALL = (
    AddonVersion("vpc-cni", "v1.22.4-eksbuild.3", "reported", _UPGRADE_LOG, date(2026, 9, 24)),
    AddonVersion(
        "eks-pod-identity-agent",
        "v1.3.10-eksbuild.3",
        "reported",
        "default of EKS 1.36 in a record of GPU deployments in a public repository; pinned for "
        "1.35 and 1.36 in at least two other ones by 2026-11-22",
        date(2026, 9, 16),
    ),
    AddonVersion(
        "eks-node-monitoring-agent",
        "v1.7.0-eksbuild.1",
        "reported",
        "aws/eks-node-monitoring-agent, issue 241; it has the host engine of DCGM 4.6, and G7",
        date(2026, 8, 24),
    ),
    AddonVersion(
        "amazon-cloudwatch-observability",
        "v6.2.0-eksbuild.1",
        "documented",
        "the least for Container Insights by OpenTelemetry: https://docs.aws.amazon.com/"
        "AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html",
        date(2026, 11, 28),
    ),
    AddonVersion(
        "aws-ebs-csi-driver", "v1.66.0-eksbuild.1", "reported", _UPGRADE_LOG, date(2026, 9, 24)
    ),
)
