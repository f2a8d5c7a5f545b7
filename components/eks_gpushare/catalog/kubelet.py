"""What a kubelet can be told, who else says it already, and which of it Bottlerocket can say.

The fields of KubeletConfiguration (v1beta1) are in data/kubelet.json, made by
tools/catalog/kubelet_fields.py from Kubernetes' own types. A kubelet does not start with a field
that it does not know.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from eks_gpushare.catalog._data import load

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST_KUBELET = 3
"""Minor versions that a kubelet may be behind the API server; it may not be ahead:
https://kubernetes.io/releases/version-skew-policy/#kubelet."""

Kind = Literal[
    "text", "integer", "number", "boolean", "duration", "list", "texts", "booleans", "block"
]
"""text, integer, number, boolean: one value. duration: a text such as "30s". texts, booleans: a
mapping to such values. list, block: what is in it is not known here."""


class KubeletField(NamedTuple):
    """A field of KubeletConfiguration.

    Attributes:
        name: such as "maxPods".
        kind: what kind of value it takes.
        since: first Kubernetes minor version that has it, such as "1.33"; None if all have it that
            EKS offers.

    """

    name: str
    kind: Kind
    since: str | None


@cache
def kubelet_fields() -> Mapping[str, KubeletField]:
    """The fields of KubeletConfiguration by name."""
    rows = load("kubelet.json")["fields"]
    return MappingProxyType({name: KubeletField(name, *row) for name, row in rows.items()})


_JOINING = "EKS and the AMI set it, and the node would not join with another value"
_RUNTIME = "it has to be what the AMI's containerd has"

SET_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "registerWithTaints": "taints of the pool come from its taints key",
        "registerNode": "a node that does not register is of no use to a node group",
        **dict.fromkeys(
            (
                *("address", "port", "authentication", "authorization", "clusterDNS"),
                *("clusterDomain", "enableServer", "providerID", "rotateCertificates"),
                *("serverTLSBootstrap", "staticPodPath", "staticPodURL", "staticPodURLHeader"),
                *("tlsCertFile", "tlsPrivateKeyFile"),
            ),
            _JOINING,
        ),
        **dict.fromkeys(
            (
                *("cgroupDriver", "cgroupRoot", "cgroupsPerQOS", "containerRuntimeEndpoint"),
                *("imageServiceEndpoint", "kubeReservedCgroup", "kubeletCgroups"),
                *("systemCgroups", "systemReservedCgroup"),
            ),
            _RUNTIME,
        ),
        "readOnlyPort": "it stays 0: that port answers without asking who asks",
    }
)
"""Fields that are not the user's to set, and why: awslabs/amazon-eks-ami,
nodeadm/internal/kubelet/config.go (81fec2e8), writes most of them."""

KARPENTER_FIELDS = frozenset(
    {
        *("cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft"),
        *("evictionSoftGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent"),
        *("kubeReserved", "maxPods", "podsPerCore", "systemReserved"),
    }
)
"""Fields that an EC2NodeClass has below `spec.kubelet`: github.com/aws/karpenter-provider-aws
v1.14.1, pkg/apis/v1/ec2nodeclass.go; `clusterDNS`, which it has too, is in SET_ELSEWHERE."""

BOTTLEROCKET_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "allowedUnsafeSysctls": "allowed-unsafe-sysctls",
        "containerLogMaxFiles": "container-log-max-files",
        "containerLogMaxSize": "container-log-max-size",
        "cpuCFSQuota": "cpu-cfs-quota-enforced",
        "cpuManagerPolicy": "cpu-manager-policy",
        "cpuManagerPolicyOptions": "cpu-manager-policy-options",
        "cpuManagerReconcilePeriod": "cpu-manager-reconcile-period",
        "eventBurst": "event-burst",
        "eventRecordQPS": "event-qps",
        "evictionHard": "eviction-hard",
        "evictionMaxPodGracePeriod": "eviction-max-pod-grace-period",
        "evictionSoft": "eviction-soft",
        "evictionSoftGracePeriod": "eviction-soft-grace-period",
        "imageGCHighThresholdPercent": "image-gc-high-threshold-percent",
        "imageGCLowThresholdPercent": "image-gc-low-threshold-percent",
        "kubeAPIBurst": "kube-api-burst",
        "kubeAPIQPS": "kube-api-qps",
        "kubeReserved": "kube-reserved",
        "maxPods": "max-pods",
        "podPidsLimit": "pod-pids-limit",
        "registryBurst": "registry-burst",
        "registryPullQPS": "registry-qps",
        "reservedSystemCPUs": "reserved-cpus",
        "seccompDefault": "seccomp-default",
        "shutdownGracePeriod": "shutdown-grace-period",
        "shutdownGracePeriodCriticalPods": "shutdown-grace-period-for-critical-pods",
        "systemReserved": "system-reserved",
        "topologyManagerPolicy": "topology-manager-policy",
        "topologyManagerScope": "topology-manager-scope",
    }
)
"""What the fields are called below `settings.kubernetes`: bottlerocket-os/bottlerocket-core-kit,
packages/kubernetes-1.31/kubelet-config (October 2024) and kubernetes-1.35/kubelet-config (commit
218c5bf1), the templates that Bottlerocket writes the kubelet's configuration from. What is in the
newer one alone is left out: an older release refuses all user data for a setting that it does not
know."""

KARPENTER_BOTTLEROCKET_SETTINGS = frozenset(
    {
        *("api-server", "cloud-provider", "cluster-certificate", "cluster-name"),
        *("cluster-dns-ip", "credential-providers", "node-labels", "node-taints", "max-pods"),
        *("static-pods", "eviction-hard", "eviction-soft", "eviction-soft-grace-period"),
        *("eviction-max-pod-grace-period", "kube-reserved", "system-reserved"),
        *("allowed-unsafe-sysctls", "server-tls-bootstrap", "registry-qps", "registry-burst"),
        *("event-qps", "event-burst", "kube-api-qps", "kube-api-burst", "container-log-max-size"),
        *("container-log-max-files", "cpu-manager-policy", "cpu-manager-policy-options"),
        *("cpu-manager-reconcile-period", "memory-manager-policy", "topology-manager-scope"),
        *("topology-manager-policy", "topology-manager-policy-options"),
        *("image-gc-high-threshold-percent", "image-gc-low-threshold-percent", "ids-per-pod"),
        *("cpu-cfs-quota-enforced", "shutdown-grace-period"),
        *("shutdown-grace-period-for-critical-pods", "cluster-domain", "seccomp-default"),
        *("pod-pids-limit", "device-ownership-from-security-context", "single-process-oom-kill"),
        *("container-log-max-workers", "container-log-monitor-interval"),
        *("hostname-override-source", "log-level"),
    }
)
"""What Karpenter keeps of `settings.kubernetes` in the user data of a Bottlerocket node: it writes
the table anew from those that it knows (BottlerocketKubernetes in github.com/aws/
karpenter-provider-aws v1.14.1, pkg/providers/amifamily/bootstrap/bottlerocketsettings.go)."""
