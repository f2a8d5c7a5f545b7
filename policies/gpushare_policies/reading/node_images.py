"""Images of programs that work on nodes, by their whole reference.

The last part of a name says nothing: anybody may call an image `k8s-device-plugin`. What counts is
the registry that its maker pushes to.

Source: the DaemonSets of gpu-operator v26.7.0, nvidia-device-plugin 0.20.0, dcgm-exporter, the DRA
driver, NFD, and of the add-ons of EKS and charts of aws/eks-charts, November 2026. The accounts are
those of https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.objects import pod_templates
from gpushare_policies.reading.plain import items, mappings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpushare_policies.reading.containers import Container
    from gpushare_policies.reading.objects import KubernetesObject

_NVIDIAS = (
    *("k8s-device-plugin", "k8s-mig-manager", "k8s-driver-manager", "k8s-mps-control-daemon"),
    *("gpu-feature-discovery", "gpu-operator", "gpu-operator-validator", "container-toolkit"),
    *("driver", "dcgm", "dcgm-exporter", "vgpu-device-manager", "vgpu-manager"),
    *("k8s-dra-driver-gpu", "dra-driver-nvidia-gpu", "k8s-kata-manager", "k8s-cc-manager"),
)
_OF_EKS = (
    *("eks-node-monitoring-agent", "observability/eks-node-monitoring-agent"),
    *("eks-pod-identity-agent", "aws-efa-k8s-device-plugin", "aws-ebs-csi-driver"),
    *("aws-efs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver"),
    *("csi-node-driver-registrar", "livenessprobe", "kube-proxy", "kube-proxy-minimal"),
)
_OF_AMAZON = ("amazon-k8s-cni", "amazon-k8s-cni-init", "aws-network-policy-agent")
_AGENTS = (
    r"(?:quay\.io/prometheus|(?:docker\.io/)?prom)/node-exporter",
    r"(?:cr\.fluentbit\.io/|docker\.io/)?fluent/(?:fluent-bit|fluentd|fluentd-kubernetes-daemonset)",
    r"public\.ecr\.aws/aws-observability/(?:aws-for-fluent-bit|aws-otel-collector)",
    r"public\.ecr\.aws/cloudwatch-agent/cloudwatch-agent",
    r"(?:docker\.io/)?grafana/(?:promtail|alloy)",
    r"(?:docker\.io/)?timberio/vector",
    r"(?:gcr\.io/datadoghq|public\.ecr\.aws/datadog|(?:docker\.io/)?datadog)/agent",
)
"""What watches nodes and ships their logs, in a namespace of its own as a rule."""
_ACCOUNTS = (
    *("602401143452", "800184023465", "877085696533", "900889452093", "491585149902"),
    *("296578399912", "761377655185", "558608220178", "759879836304", "590381155156"),
    *("455263428931", "900612956339", "066635153087", "918309763551", "961992271922"),
    *("013241004608", "151742754352"),
)


def _any_of(names: Sequence[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, names))})"


_REGISTRY = rf"{_any_of(_ACCOUNTS)}\.dkr\.ecr(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?"
_GALLERY = r"public\.ecr\.aws/(?:eks|eks-distro|amazon|csi-components)"
_KNOWN = re.compile(
    "|".join(
        (
            rf"nvcr\.io/nvidia/(?:k8s/|cloud-native/)?{_any_of(_NVIDIAS)}",
            rf"ghcr\.io/nvidia/{_any_of(_NVIDIAS)}",
            rf"(?:docker\.io/)?nvidia/{_any_of(_NVIDIAS)}",
            rf"registry\.k8s\.io/(?:dra-driver-nvidia/)?{_any_of(_NVIDIAS)}",
            r"registry\.k8s\.io/nfd/node-feature-discovery",
            r"registry\.k8s\.io/sig-storage/(?:csi-node-driver-registrar|livenessprobe)",
            rf"{_REGISTRY}/(?:eks/{_any_of(_OF_EKS)}|(?:amazon/)?{_any_of(_OF_AMAZON)})",
            rf"(?:{'|'.join(_AGENTS)})",
            rf"public\.ecr\.aws/[a-z0-9-]+-csi-driver/{_any_of(_OF_EKS)}",
            rf"{_GALLERY}/(?:[a-z0-9-]+/)?{_any_of((*_OF_EKS, *_OF_AMAZON))}",
        )
    )
)
_SHELLS = ("sh", "bash", "ash", "dash", "zsh", "python", "python3", "perl", "nsenter", "chroot")


def repository_of(image: str) -> str:
    """Registry and name of an image, without its tag and digest."""
    name = image.partition("@")[0]
    above, slash, last = name.rpartition("/")
    return f"{above}{slash}{last.partition(':')[0]}"


def running(program: str, obj: KubernetesObject) -> list[Mapping[str, Any]]:
    """The containers of an object's pods whose image has a program's name."""
    return [
        container
        for template in pod_templates(obj)
        for _, container in mappings(at(template.spec, "containers"))
        if repository_of(str(container.get("image") or "")).endswith(f"/{program}")
    ]


def works_on_nodes(container: Container, others: Sequence[str] = ()) -> bool:
    """Whether a container runs one of the programs that work on nodes, and no shell in its image.

    Args:
        container: The container.
        others: Patterns of further repositories, such as those of a mirror.
    """
    image, command = container.get("image"), container.get("command")
    if not isinstance(image, str) or command is UNKNOWN:
        return False
    if any(_is_shell(each) for each in items(command)[:1]):
        return False
    repository = repository_of(image)
    return bool(_KNOWN.fullmatch(repository)) or any(fnmatchcase(repository, p) for p in others)


def _is_shell(word: Any) -> bool:
    return word is UNKNOWN or str(word).rpartition("/")[2] in _SHELLS
