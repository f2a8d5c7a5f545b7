"""Labels of the nodes of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.bottlerocket import served_by_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.pools import Pool

OWN_PREFIX = "eks-gpushare/"
"""What the keys of our own labels and taints begin with."""
CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""Names the key of the device plugin's ConfigMap that configures a node."""
PRESENT_LABEL = "nvidia.com/gpu.present"
"""Makes the device plugin's chart consider a node; without it or NFD's labels, no pod starts
(https://github.com/NVIDIA/k8s-device-plugin/issues/1085)."""
PRODUCT_LABEL = "nvidia.com/gpu.product"
"""The model of a node's GPUs, as feature discovery calls it."""
POOL_LABEL = "eks-gpushare/pool"
"""Names the pool. Stable under every way of sharing, so it is the one for pods to select on."""
OPERANDS_LABEL = "nvidia.com/gpu.deploy.operands"
"""With the value false it keeps everything that the GPU Operator installs away from a node
(https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html)."""
PLUGIN_OPERAND_LABEL = "nvidia.com/gpu.deploy.device-plugin"
"""The same of its device plugin alone, whose DaemonSet selects nodes by it
(`internal/state` of NVIDIA/gpu-operator)."""
MIG_LABEL = "eks-gpushare/mig"
"""Label that a node gives itself at boot: the hash of its MIG layout, or `failed`."""
MIG_REASON_LABEL = "eks-gpushare/mig-reason"
"""Label by which a node says why it could not make its MIG layout."""

KUBELET_LABELS = (
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)
"""Those of Kubernetes that a kubelet sets, whatever it is told."""
_OF_KUBERNETES = ("kubernetes.io", "k8s.io")
_FREE_TO_KUBELETS = ("kubelet.kubernetes.io", "node.kubernetes.io")

DERIVED_LABELS = (
    CONFIG_LABEL,
    PRESENT_LABEL,
    POOL_LABEL,
    OPERANDS_LABEL,
    MIG_LABEL,
    MIG_REASON_LABEL,
)
"""Labels that come from the plan or from a node's boot and are refused in a pool's own `labels`."""

OWNED_PREFIXES = (
    "nvidia.com/gpu.",
    "nvidia.com/mig",
    "nvidia.com/mps.",
    "nvidia.com/cuda.",
    "nvidia.com/gfd.",
    "nvidia.com/vgpu.",
    "nvidia.com/sharing.",
    "feature.node.kubernetes.io/",
)
"""Label keys that GPU feature discovery, NFD or the GPU Operator write; they take over a label set
by hand (`internal/lm` of NVIDIA/k8s-device-plugin)."""


def kubelet_may_set(key: str) -> bool:
    """Whether a kubelet starts that is to give its node a label.

    `pkg/apis/core/v1/helper` and `pkg/kubelet/apis/well_known_labels.go` of kubernetes/kubernetes.
    """
    prefix = key.rpartition("/")[0]
    return (
        not _within(prefix, _OF_KUBERNETES)
        or key in KUBELET_LABELS
        or _within(prefix, _FREE_TO_KUBELETS)
    )


def _within(prefix: str, domains: tuple[str, ...]) -> bool:
    return any(prefix == domain or prefix.endswith(f".{domain}") for domain in domains)


def node_labels(name: str, pool: Pool) -> Mapping[str, str]:
    """All labels of the nodes of a pool, derived ones first.

    The key of the configuration is the pool's name. A key shared by equal pools, or one named
    after its content, would relabel nodes whenever two pools stop matching. Nodes with a device
    plugin of their own get no label that would bring another one there.
    """
    if not served_by_chart(pool):
        return {POOL_LABEL: name, OPERANDS_LABEL: "false", **pool.labels}
    return {POOL_LABEL: name, CONFIG_LABEL: name, PRESENT_LABEL: "true", **pool.labels}
