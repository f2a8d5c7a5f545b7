"""When each pin and table of this package was read, and where.

`eks-gpushare findings --ages` prints them, and `tools/catalog/newer.py` asks for newer ones. Pins
have their dates beside them, in `versions`; tables have them here, by the file or module that holds
the table, and a test holds that none is left out.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Literal, NamedTuple

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["chart", "image", "add-on", "machine image", "table"]


class Dated(NamedTuple):
    """A pin or a table.

    Attributes:
        kind: what it is.
        name: of a pin, what it pins; of a table, what is in it.
        value: the version; of a table, its file in this package.
        read: the day on which it was read.
        source: where.

    """

    kind: Kind
    name: str
    value: str
    read: date
    source: str


_EKS = "https://docs.aws.amazon.com/eks/latest/userguide"
_NVIDIA_MIG = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
_KARPENTER = "github.com/aws/karpenter-provider-aws"
_TABLES = (
    Dated(
        "table",
        "what model servers need of GPUs",
        "gpus.py",
        date(2026, 11, 29),
        "github.com/vllm-project/vllm, github.com/sgl-project/sglang",
    ),
    Dated(
        "table",
        "prices of instances on demand",
        "data/other-prices.json",
        versions.PRICES_READ,
        versions.PRICES_SOURCE,
    ),
    Dated(
        "table",
        "prices of services",
        "service_prices.py",
        date(2026, 3, 1),
        "https://aws.amazon.com/eks/pricing and others, see SOURCES there",
    ),
    Dated(
        "table", "GPU instance types", "data/instances.json", date(2026, 11, 21), "moto 5.2.5, PyPI"
    ),
    Dated(
        "table",
        "other instance types",
        "data/other-types.json",
        date(2026, 11, 21),
        "moto 5.2.5, PyPI",
    ),
    Dated(
        "table",
        "zones that offer a type",
        "data/zones.json",
        date(2026, 11, 21),
        "moto 5.2.5, PyPI",
    ),
    Dated("table", "MIG profiles and layouts", "data/mig.json", date(2026, 11, 21), _NVIDIA_MIG),
    Dated(
        "table",
        "values that charts read",
        "data/chart-keys.json",
        date(2026, 11, 22),
        "the charts at the versions that are pinned",
    ),
    Dated(
        "table",
        "releases in which charts read a value",
        "data/chart-ages.json",
        date(2026, 11, 25),
        "the tags of NVIDIA/k8s-device-plugin and NVIDIA/gpu-operator",
    ),
    Dated(
        "table",
        "fields of kubelet",
        "data/kubelet.json",
        date(2026, 11, 22),
        "k8s.io/kubelet v0.31.0 to v0.36.0",
    ),
    Dated(
        "table",
        "keys of Karpenter's objects",
        "data/karpenter-keys.json",
        date(2026, 11, 22),
        f"{_KARPENTER} and sigs.k8s.io/karpenter at the versions that are pinned",
    ),
    Dated(
        "table",
        "keys of eksctl",
        "data/eksctl-keys.json",
        date(2026, 11, 22),
        "eksctl-io/eksctl at 99984adb6",
    ),
    Dated(
        "table", "add-on names", "addon_names.py", date(2026, 11, 22), f"{_EKS}/eks-add-ons.html"
    ),
    Dated(
        "table",
        "names of machine images",
        "ami_names.py",
        date(2026, 11, 22),
        f"{_EKS}/retrieve-ami-id.html and bottlerocket.dev",
    ),
    Dated(
        "table",
        "what machine images hold",
        "amis.py",
        date(2026, 11, 21),
        f"{_EKS}/ml-eks-optimized-ami.html and awslabs/amazon-eks-ami v20260714",
    ),
    Dated(
        "table",
        "Bottlerocket's settings",
        "bottlerocket.py",
        date(2026, 11, 22),
        "bottlerocket-os/bottlerocket and bottlerocket-settings-sdk",
    ),
    Dated(
        "table",
        "releases of charts",
        "chart_releases.py",
        date(2026, 11, 22),
        "index.yaml of each chart's repository",
    ),
    Dated(
        "table",
        "flags of Cluster Autoscaler",
        "cluster_autoscaler_flags.py",
        date(2026, 11, 22),
        "kubernetes/autoscaler, cluster-autoscaler/config/flags",
    ),
    Dated(
        "table",
        "releases of Karpenter",
        "karpenter_releases.py",
        date(2026, 11, 27),
        "aws/karpenter-provider-aws, tags",
    ),
    Dated(
        "table",
        "feature gates of the DRA driver",
        "claim_driver_gates.py",
        date(2026, 11, 30),
        "kubernetes-sigs/dra-driver-nvidia-gpu, pkg/featuregates",
    ),
    Dated(
        "table",
        "Kubernetes versions of EKS",
        "kubernetes.py",
        date(2026, 11, 21),
        f"{_EKS}/kubernetes-versions.html",
    ),
    Dated(
        "table",
        "IAM actions",
        "../program/permissions/iam_actions.py",
        date(2026, 11, 24),
        "https://docs.aws.amazon.com/service-authorization/latest/reference/",
    ),
    Dated(
        "table",
        "regions of managed Prometheus",
        "managed_prometheus.py",
        date(2026, 11, 28),
        "botocore 1.44.5, endpoints.json; cfn-lint 1.58.0",
    ),
    Dated(
        "table",
        "partitions",
        "partitions.py",
        date(2026, 11, 22),
        "botocore 1.44.5, partitions.json",
    ),
    Dated(
        "table",
        "quotas of vCPUs",
        "quotas.py",
        date(2026, 11, 21),
        "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
    ),
    Dated(
        "table",
        "regions",
        "regions.py",
        date(2026, 11, 22),
        "https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html",
    ),
    Dated(
        "table",
        "zones that EKS leaves out",
        "zones.py",
        date(2026, 11, 22),
        f"{_EKS}/network-reqs.html",
    ),
)


def ages() -> tuple[Dated, ...]:
    """Every pin and table, the one that was read first at the top."""
    return tuple(sorted((*_pins(), *_TABLES), key=lambda pin: (pin.read, pin.kind, pin.name)))


def _pins() -> Iterator[Dated]:
    for chart in versions.CHARTS:
        yield Dated("chart", chart.name, chart.version, chart.read, chart.source)
    for image in versions.IMAGES:
        yield Dated("image", image.repository, image.tag, image.read, image.source)
    yield Dated(
        "image",
        "mig-parted",
        versions.MIG_PARTED,
        versions.MIG_PARTED_READ,
        "NVIDIA/gpu-operator, values.yaml of the chart that is pinned",
    )
    for kubernetes in versions.KUBERNETES_VERSIONS:
        autoscaler = versions.cluster_autoscaler_tag(kubernetes)
        yield Dated(
            "image",
            f"cluster-autoscaler for {kubernetes}",
            str(autoscaler),
            versions.CLUSTER_AUTOSCALERS_READ,
            versions.CLUSTER_AUTOSCALERS_SOURCE,
        )
        yield Dated(
            "machine image",
            f"AL2023 for {kubernetes}",
            str(versions.ami_release("al2023", kubernetes)),
            versions.AMIS_READ,
            versions.AMIS_SOURCE,
        )
        for addon in versions.addon_versions(kubernetes).values():
            name = f"{addon.name} for {kubernetes}"
            yield Dated("add-on", name, addon.version, addon.read, addon.source)
    yield Dated(
        "machine image",
        "Bottlerocket",
        versions.BOTTLEROCKET_RELEASE,
        versions.BOTTLEROCKET_READ,
        versions.BOTTLEROCKET_SOURCE,
    )
